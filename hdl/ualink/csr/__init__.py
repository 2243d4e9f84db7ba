"""Control and status registers: tables, hardware, texts, buses."""
