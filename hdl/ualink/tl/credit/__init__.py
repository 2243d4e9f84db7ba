"""Credits and the buffers that they stand for (UALink_200 §5.7)."""
