"""UPLI and what stands behind it, as plain Python (UALink_200 chapter 2)."""
