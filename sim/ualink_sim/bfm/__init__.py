"""cocotb bus models of UPLI."""
