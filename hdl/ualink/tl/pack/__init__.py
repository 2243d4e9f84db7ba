"""From fields and data to half-flits: who goes, where, in which order (UALink_200 §5.1)."""
