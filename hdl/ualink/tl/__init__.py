"""The transaction layer (UALink_200 chapter 5)."""
