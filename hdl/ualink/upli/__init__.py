"""UPLI, the on-chip protocol interface (UALink_200 chapters 2 and 4)."""
