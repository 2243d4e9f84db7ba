"""Link level replay (UALink_200 §6.6)."""
