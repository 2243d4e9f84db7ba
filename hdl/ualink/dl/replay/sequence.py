"""Arithmetic of flit sequence numbers: 1..511, 0 is reserved, 511 is followed by 1 (UALink_200 §6.6.6.1).

All functions take and return values of 9 bits; the numbers given to them must not be 0.
"""

from amaranth.hdl import Mux, Value, ValueLike

__all__ = ["RESET_SEQ", "SEQ_BITS", "ack_in_range", "follows", "is_held", "next_seq", "reconstruct_seq", "seq_distance"]

SEQ_BITS = 9
RESET_SEQ = 511
"""Reset value of the sequence registers, so that the first payload flit has number 1."""


def next_seq(seq: ValueLike) -> Value:
    """The number after ``seq``."""
    seq = Value.cast(seq)
    return Mux(seq == RESET_SEQ, 1, seq + 1)[:SEQ_BITS]


def seq_distance(start: ValueLike, end: ValueLike) -> Value:
    """Steps from ``start`` forward to ``end``, 0..510: (end - start) modulo 511."""
    start, end = Value.cast(start), Value.cast(end)
    # Both differences side by side, not one behind the other.
    return Mux(end < start, end + ~start, end - start)[:SEQ_BITS]


def ack_in_range(distance: ValueLike, held: ValueLike) -> Value:
    """May an Ack name the number ``distance`` steps after the one acked last, when TxReplay holds ``held`` flits?

    These are the two range tests of UALink_200 §6.6.6.3, which the standard bounds by 256 each, made exact: with 254 or
    more steps to spare the printed tests also let numbers pass that were never sent.
    """
    return Value.cast(distance) <= held


def is_held(distance: ValueLike, held: ValueLike) -> Value:
    """Is the number ``distance`` steps after the one acked last one of the ``held`` that TxReplay holds?

    A Replay Request must name such a number (the range tests of UALink_200 §6.6.6.3, exact as in ``ack_in_range``).
    """
    distance = Value.cast(distance)
    return (distance != 0) & (distance <= held)


def follows(number: ValueLike, start: ValueLike, end: ValueLike) -> Value:
    """Is ``number`` one of those after ``start`` up to ``end``? By comparisons alone, side by side."""
    number, start, end = Value.cast(number), Value.cast(start), Value.cast(end)
    after, before = start < number, number <= end
    return Mux(end < start, after | before, after & before)


def reconstruct_seq(last: ValueLike, flit_seq_lo: ValueLike, payload: ValueLike) -> Value:
    """Rx_seq_calc of a command flit after the accepted number ``last`` (UALink_200 §6.6.4.1).

    The modulus is 512 and not 511: stepping over the unused number 0 is absorbed, as the low bits jump from 7 to 1.
    """
    last, flit_seq_lo, payload = Value.cast(last), Value.cast(flit_seq_lo), Value.cast(payload)
    delta_lo = (flit_seq_lo - last[:3])[:3]
    step = Mux((delta_lo == 0) & payload, 8, delta_lo)
    return (last + step)[:SEQ_BITS]
