"""The code of beats to send, wherever it comes from."""

from types import SimpleNamespace

from amaranth.hdl import Const

from ualink.upli.code import beat_code, control_wrong

__all__ = ["code_of_beat"]


def code_of_beat(channel: str, beat, *, coded: bool):
    """The code of ``beat`` of ``channel``, by name, and whether its control is wrong; of a beat that is not ``coded``
    the code begins here."""
    if coded:
        return beat.code, control_wrong(channel, beat, beat.code)
    return SimpleNamespace(**beat_code(channel, beat)), Const(0)
