"""RTLIL and Verilog of a design: the names of ``ualink.emit.verilog`` that users of the package import."""

from ualink.emit.verilog import to_rtlil, to_verilog

__all__ = ["to_rtlil", "to_verilog"]
