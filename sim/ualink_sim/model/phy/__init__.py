"""The physical layer as plain Python (UALink_200 chapter 7)."""
