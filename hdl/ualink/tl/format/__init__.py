"""Fields, half-flits and their layouts (UALink_200 §5.1-5.3)."""
