"""The code that every beat keeps inside a device, from the agent that took it to where it goes on (UALink_200 §3.1.1).

UPLI parity ends where a beat is taken, and begins where one is sent. Between them the beat carries this code through
each register, queue and memory. Nobody has to check it on the way: a block that makes something else of a beat makes
the new code so that it is wrong if the old one was (``recoded``), and whoever makes UPLI parity or the parity of a flit
at the end does the same. So an upset anywhere shows where the next check stands.

In what is ``WithoutDataParity`` there is no such code: all bits of it are zero and nothing is ever found wrong.
"""

from amaranth.hdl import Cat, Const, Value

from ualink.lib.parity import data_parity, even_parity, protects_data

from .channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, PROTECTED_BITS

__all__ = [
    "beat_code",
    "code_of",
    "control_bits",
    "control_names",
    "control_wrong",
    "data_wrong",
    "recoded",
    "wrong",
]


def code_of(*values) -> Value:
    """1 bit: the code of ``values`` as one."""
    return even_parity(*values) if protects_data() else Const(0)


def wrong(code, *values) -> Value:
    """1 bit: ``values`` are not what ``code`` was made of."""
    return even_parity(*values, code) if protects_data() else Const(0)


def recoded(new, *, of, code) -> Value:
    """1 bit: the code of ``new``, which was made of ``of``; wrong if ``code`` is wrong of ``of``.

    ``new`` and ``of`` are values or tuples of them.
    """
    news, olds = (value if isinstance(value, tuple) else (value,) for value in (new, of))
    return even_parity(*news, *olds, code) if protects_data() else Const(0)


def control_names(channel: str) -> tuple[str, ...]:
    """The fields of a beat under the control bit of the code."""
    return tuple(name for name, _ in CHANNEL_LAYOUTS[channel] if name not in PROTECTED_BITS)


def control_bits(channel: str, beat) -> tuple[Value, ...]:
    """``control_names`` of ``beat``."""
    return tuple(Value.cast(getattr(beat, name)) for name in control_names(channel))


def beat_code(channel: str, beat) -> dict[str, Value]:
    """The code of ``beat``, anything with the fields of ``channel`` as attributes, by name."""
    own = {name: data_parity(getattr(beat, name), PROTECTED_BITS[name]) for name in _own(channel)}
    return {"control": code_of(*control_bits(channel, beat)), **own}


def control_wrong(channel: str, beat, code) -> Value:
    """1 bit: control of ``beat`` is not what ``code`` was made of."""
    return wrong(code.control, *control_bits(channel, beat))


def data_wrong(channel: str, beat, code) -> Value:
    """1 bit: data or byte enables of ``beat`` are not what ``code`` was made of."""
    found = [
        (data_parity(getattr(beat, name), PROTECTED_BITS[name]) ^ getattr(code, name)).any() for name in _own(channel)
    ]
    if not found or not protects_data():
        return Const(0)
    return Cat(found).any()


def _own(channel: str) -> list[str]:
    return [name for name, _ in CODE_LAYOUTS[channel] if name != "control"]
