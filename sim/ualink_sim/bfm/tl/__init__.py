"""A TL link partner for cocotb: traffic legal and illegal, endpoint, protocol checker and functional coverage."""
