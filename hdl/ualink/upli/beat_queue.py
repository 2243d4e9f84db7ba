"""The queue of received beats in front of those who decide by them."""

from collections.abc import Callable
from functools import partial, reduce

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.banked_data import BankedData
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.queue import Queue

__all__ = ["BeatQueue", "beat_queue"]

WIDE = ("data", "byte_en")
"""Fields of a beat that nobody decides by, and the code of each."""

FEW = 16
"""Beats whose data are in LUT RAMs of an FPGA, of which two would be twice as many."""

DECISIVE = ("cmd", "num_beats", "status", "offset", "last", "vc", "pool", "void", "credit")
"""Members, and fields of a beat, by which it is decided whether a beat may go."""


class BeatQueue(wiring.Component):
    """A prompt ``Queue``, cycle by cycle, of which all but the ``WIDE`` fields of ``beat`` come out of registers, and
    those that decide straight out of one.

    Parameters
    ----------
    shape : layout with the member ``beat``, itself a layout, maybe with a code, and others.
    depth : as of ``Queue``.

    Attributes
    ----------
    input, output, level : as of ``Queue``.
    """

    def __init__(self, shape: data.StructLayout, depth: int):
        self.depth = depth
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
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

    def elaborate(self, platform):
        m = Module()
        m.submodules.narrow = narrow = HeadedQueue(self._narrow, self.depth, decisive=DECISIVE)
        m.d.comb += [
            narrow.input.valid.eq(self.input.valid),
            narrow.output.ready.eq(self.output.ready),
            self.input.ready.eq(narrow.input.ready),
            self.output.valid.eq(narrow.output.valid),
            self.level.eq(narrow.level),
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
        return m

    def _of_beat(self, payload, name):
        return reduce(lambda part, step: part[step], self._paths[name], payload.beat)

    def _wide_part(self, m, narrow):
        """What comes and the oldest of the ``WIDE`` fields, beside ``narrow``."""
        if self.depth <= FEW:
            # It does the same in each cycle.
            m.submodules.wide = queue = Queue(self._wide, self.depth)
            m.d.comb += [queue.input.valid.eq(self.input.valid), queue.output.ready.eq(self.output.ready)]
            return queue.input.p, queue.output.p
        m.submodules.wide = wide = BankedData(self._wide, self.depth)
        m.d.comb += [
            wide.room.eq(narrow.input.ready),
            wide.pushed.eq(self.input.valid & narrow.input.ready),
            wide.popped.eq(narrow.output.valid & self.output.ready),
        ]
        return wide.coming, wide.oldest


def beat_queue(*, prompt: bool, poisons: bool, lean: bool) -> Callable[[data.StructLayout, int], BeatQueue | Queue]:
    """The queue of received beats: of those that have data, which ``poisons`` tells, ``prompt`` or not; a ``lean`` one
    has no registers behind its memory."""
    if prompt and not lean:
        return BeatQueue
    return partial(Queue, prompt=prompt or not poisons, lean=lean)


def _leaves(layout, path=()):
    """What is no layout itself in ``layout``, with the path of names to it."""
    for name, field in layout:
        if isinstance(field.shape, data.StructLayout):
            yield from _leaves(field.shape, (*path, name))
        else:
            yield (*path, name), field.shape
