"""The data link layer (UALink_200 chapter 6)."""
