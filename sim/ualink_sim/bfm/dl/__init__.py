"""A DL link partner for cocotb: driver, monitor, protocol checker and functional coverage."""
