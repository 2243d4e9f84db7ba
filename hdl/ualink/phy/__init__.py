"""The boundary to the physical layer (UALink_200 chapter 7)."""
