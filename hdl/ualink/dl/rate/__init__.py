"""Pacing and change of rate (UALink_200 §6.5)."""
