"""The queue of received beats in front of those who decide by them."""

from collections.abc import Callable
from functools import partial, reduce

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.lib.banked_data import BankedData
from ualink.lib.contract import contract
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.parity import even_parity, protects_data
from ualink.lib.queue import LaterQueue, Queue
from ualink.lib.ram_data import RamData

__all__ = ["BeatQueue", "beat_queue", "decisive_code"]

WIDE = ("data", "byte_en")
"""Fields of a beat that nobody decides by, and the code of each."""

FEW = 16
"""Beats whose data are in LUT RAMs of an FPGA, of which two would be twice as many."""

DECISIVE = ("cmd", "num_beats", "status", "offset", "last", "vc")
"""Fields of a beat by which it is decided whether it may go."""

BESIDE = ("pool", "void", "credit", "beside", "decisive_code")
"""Members of which the same is decided, and codes of what comes with them."""

_CODE = "code_control"
"""Where the code of control is, of a beat that has one."""


class BeatQueue(wiring.Component):
    """A prompt ``Queue``, cycle by cycle, of which all but the ``WIDE`` fields of ``beat`` come out of registers, and
    those that decide straight out of one.

    Parameters
    ----------
    shape : layout with the member ``beat``, itself a layout, maybe with a code, and others. One of them may be
        ``decisive_code``, 1 bit: what ``decisive_code`` makes of ``beat``, from whoever has it sooner than that.
    depth : as of ``Queue``.

    Attributes
    ----------
    input, output, level : as of ``Queue``.
    torn : 1 bit: after an upset, what is on offer may be what is left of another beat, or of two.
    """

    def __init__(self, shape: data.StructLayout, depth: int):
        self.depth = depth
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "torn": Out(1),
            }
        )
        # Members of layouts in that of a beat have a name made of their path.
        paths = dict(_leaves(shape["beat"].shape))
        self._paths = {"_".join(path): path for path in paths}
        self._others = [name for name, _ in shape if name != "beat"]
        self._wide, self._beat = (
            data.StructLayout({"_".join(path): field for path, field in paths.items() if (path[-1] in WIDE) is wide})
            for wide in (True, False)
        )
        self._narrow = data.StructLayout({"beat": self._beat, **{name: shape[name].shape for name in self._others}})
        self._coded = _CODE in self._beat.members

    def elaborate(self, platform):
        m = Module()
        narrow_shape = self._narrow
        if self._coded and protects_data():
            told = {} if "decisive_code" in self._others else {"decisive_code": 1}
            narrow_shape = data.StructLayout({**narrow_shape.members, **told, "code_share": 1})
        m.submodules.narrow = narrow = HeadedQueue(narrow_shape, self.depth, decisive=DECISIVE + BESIDE, watched=True)
        m.d.comb += [
            narrow.input.valid.eq(self.input.valid),
            narrow.output.ready.eq(self.output.ready),
            self.input.ready.eq(narrow.input.ready),
            self.output.valid.eq(narrow.output.valid),
            self.level.eq(narrow.level),
            self.torn.eq(narrow.astray),
        ]
        coming, oldest = self._wide_part(m, narrow) if self._wide.members else ({}, {})
        for outside, inside, wide, is_input in (
            (self.input.p, narrow.input.p, coming, True),
            (self.output.p, narrow.output.p, oldest, False),
        ):
            pairs = [(outside[name], inside[name]) for name in self._others]
            pairs += [(self._of_beat(outside, name), inside.beat[name]) for name, _ in self._beat]
            pairs += [(self._of_beat(outside, name), wide[name]) for name, _ in self._wide]
            m.d.comb += [within.eq(outer) if is_input else outer.eq(within) for outer, within in pairs]
        if self._coded and protects_data():
            self._share_code(m, narrow)
        return m

    def _share_code(self, m, narrow):
        """What decides has a code of its own, and with ``code_share``, which is the same but comes with the rest, that
        of control is of the rest: after an upset they may be of two beats, and yet each be right. What all come out as
        is right for what comes out."""
        coming, oldest = narrow.input.p, narrow.output.p
        decisive = made = decisive_code(self.input.p.beat)
        if "decisive_code" in self._others:
            decisive = self.input.p.decisive_code
            contract(m, ~self.input.valid | (decisive == made), "decisive_code: that of what comes")
        code = even_parity(oldest.beat[_CODE], oldest.code_share, oldest.decisive_code)
        m.d.comb += [
            coming.decisive_code.eq(decisive),
            coming.code_share.eq(decisive),
            self._of_beat(self.output.p, _CODE).eq(code),
        ]

    def _of_beat(self, payload, name):
        return reduce(lambda part, step: part[step], self._paths[name], payload.beat)

    def _wide_part(self, m, narrow):
        """What comes and the oldest of the ``WIDE`` fields, beside ``narrow``."""
        few = self.depth <= FEW
        m.submodules.wide = wide = RamData(self._wide, self.depth) if few else BankedData(self._wide, self.depth)
        m.d.comb += [
            wide.pushed.eq(self.input.valid & narrow.input.ready),
            wide.popped.eq(narrow.output.valid & self.output.ready),
        ]
        if not few:
            m.d.comb += [wide.room.eq(narrow.input.ready), self.torn.eq(narrow.astray | wide.torn)]
        if protects_data():
            m.d.comb += wide.some.eq(narrow.level.any())
        return wide.coming, wide.oldest


def decisive_code(beat) -> Value:
    """Even parity over what decides of ``beat``, a view of a channel's layout or a record with fields of one."""
    return even_parity(Cat(getattr(beat, name) for name in DECISIVE if hasattr(beat, name)))


def beat_queue(config: UPLIConfig, *, poisons: bool) -> tuple[Callable, int]:
    """What makes the queue of received beats of a layout and a depth, and how many cycles later than a prompt ``Queue``
    it offers them; ``poisons``: they have data."""
    delay = 0 if config.prompt_data or not poisons else 2
    if config.unhurried:
        return LaterQueue, 1
    if config.prompt_data and not config.lean:
        return BeatQueue, 0
    return partial(Queue, prompt=not delay, lean=config.lean), delay


def _leaves(layout, path=()):
    """What is no layout itself in ``layout``, with the path of names to it."""
    for name, field in layout:
        if isinstance(field.shape, data.StructLayout):
            yield from _leaves(field.shape, (*path, name))
        else:
            yield (*path, name), field.shape
