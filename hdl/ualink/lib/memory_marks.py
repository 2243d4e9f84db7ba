"""Attributes of memories, by which whoever makes a netlist of a design knows what they need."""

__all__ = ["BLOCK_RAM", "NEVER_MEET", "OUT_OF_REGISTER", "SHARED_OUT"]

BLOCK_RAM = {"ram_style": "block"}
"""A memory that is to be made of block RAMs where there are some."""

NEVER_MEET = {"reads_and_writes_never_meet": 1}
"""A memory of which no read whose data counts asks for a row that is written in the same cycle."""

OUT_OF_REGISTER = {"out_of_register": 1}
"""A memory of several contexts that has a register behind what is read where they leave time for that: see
``Interleaver``."""

SHARED_OUT = {"shared_out": 1}
"""A memory of several contexts, of whom each has a part, and knows which rows those are: see ``Interleaver``."""
