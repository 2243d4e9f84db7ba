"""The registers of the transaction layer."""
