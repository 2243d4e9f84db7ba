"""Verilog of a design, and what goes with it."""
