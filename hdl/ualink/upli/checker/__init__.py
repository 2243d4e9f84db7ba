"""A passive checker of the rules of UPLI (UALink_200 §2, §4.3)."""
