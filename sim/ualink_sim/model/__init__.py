"""The executable specification, written from the standard a second time; it knows nothing of the RTL."""
