"""Designs that a bitstream can be built of: a class that takes a board and has ``frame`` and ``registers``."""
