"""The code of beats to send, wherever it comes from."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Value

from ualink.tl.format.half_flits import SPOILT
from ualink.upli.code import beat_code, control_bits, control_wrong, wrong

__all__ = ["code_of_beat", "spoilt_parts"]


def code_of_beat(channel: str, beat, *, coded: bool):
    """The code of ``beat`` of ``channel``, by name, and whether its control is wrong; of a beat that is not ``coded``
    the code begins here."""
    if coded:
        return beat.code, control_wrong(channel, beat, beat.code)
    return SimpleNamespace(**beat_code(channel, beat)), Const(0)


def spoilt_parts(channel: str, beat, *, coded: bool) -> Value:
    """``SPOILT`` bits, of which an odd number is set if control of ``beat`` of ``channel`` is wrong."""
    if not coded:
        return Const(0, SPOILT)
    bits = Cat(*control_bits(channel, beat), beat.code.control)
    return Cat(wrong(bits[n::SPOILT]) for n in range(SPOILT))
