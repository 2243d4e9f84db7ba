"""The transaction layer as plain Python (UALink_200 chapter 5)."""
