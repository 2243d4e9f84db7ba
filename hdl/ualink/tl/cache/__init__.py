"""Address Caches of both directions (UALink_200 §5.4)."""
