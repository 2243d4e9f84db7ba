"""The simulation product: executable model, bus models, pods."""
