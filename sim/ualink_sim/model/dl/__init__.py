"""The data link layer as plain Python (UALink_200 chapter 6)."""
