"""The UART of a link (UALink_200 §6.4.4)."""
