"""Pods whose accelerators, memories and links run inside of the compiled model: the same results, in less time."""
