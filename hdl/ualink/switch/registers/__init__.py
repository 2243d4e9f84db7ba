"""The registers of a switch."""
