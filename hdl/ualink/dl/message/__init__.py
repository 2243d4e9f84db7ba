"""DL messages, their arbiter and what they ask for (UALink_200 §6.4)."""
