"""Boards that a bitstream can be built for: none yet."""
