"""Isolation Mode of an Accelerator's Originator: history, watchdogs, dummy responses (UALink_200 §3.1.3)."""
