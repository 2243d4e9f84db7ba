"""Arithmetic of flit sequence numbers: 1..511, 0 is reserved, 511 is followed by 1 (UALink_200 §6.6.6.1)."""

__all__ = ["RESET_SEQ", "WINDOW", "next_seq", "previous_seq", "reconstruct_seq", "seq_advance", "seq_distance"]

RESET_SEQ = 511
"""Reset value of the sequence registers, so that the first payload flit has number 1."""
MODULUS = 511
WINDOW = 256
"""Largest distance that a range test of the Ack rules lets pass."""


def next_seq(seq: int) -> int:
    """The number after ``seq``."""
    return 1 if seq == 511 else seq + 1


def previous_seq(seq: int) -> int:
    """The number before ``seq``."""
    return 511 if seq == 1 else seq - 1


def seq_advance(seq: int, count: int) -> int:
    """The number ``count`` steps after ``seq`` (before it when negative)."""
    return (seq - 1 + count) % MODULUS + 1


def seq_distance(start: int, end: int) -> int:
    """Steps from ``start`` forward to ``end``, 0..510: (end - start) modulo 511."""
    return (end - start) % MODULUS


def reconstruct_seq(last: int, flit_seq_lo: int, payload: bool) -> int:
    """Rx_seq_calc of a command flit after the accepted number ``last`` (UALink_200 §6.6.4.1).

    The modulus is 512 and not 511: stepping over the unused number 0 is absorbed, as the low bits jump from 7 to 1.
    """
    step = (flit_seq_lo - (last & 7)) % 8
    if step == 0 and payload:
        step = 8
    return (last + step) % 512
