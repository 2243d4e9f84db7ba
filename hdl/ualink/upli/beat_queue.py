"""The queue of received beats in front of those who decide by them."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.queue import Queue

__all__ = ["BeatQueue"]

WIDE = ("data", "byte_en")
"""Fields of a beat that nobody decides by."""


DECISIVE = ("cmd", "num_beats", "status", "offset", "last", "vc", "pool", "void", "credit")
"""Members, and fields of a beat, by which it is decided whether a beat may go."""


class BeatQueue(wiring.Component):
    """A prompt ``Queue``, cycle by cycle, of which all but the ``WIDE`` fields of ``beat`` come out of registers, and
    those that decide straight out of one.

    Parameters
    ----------
    shape : layout with the member ``beat``, itself a layout, and others.
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
        fields = {name: field.shape for name, field in shape["beat"].shape}
        self._others = [name for name, _ in shape if name != "beat"]
        self._wide = data.StructLayout({name: fields[name] for name in WIDE if name in fields})
        self._beat = data.StructLayout({name: fields[name] for name in fields if name not in WIDE})
        self._narrow = data.StructLayout({"beat": self._beat, **{name: shape[name].shape for name in self._others}})

    def elaborate(self, platform):
        m = Module()
        # Both do the same in each cycle.
        m.submodules.narrow = narrow = HeadedQueue(self._narrow, self.depth, decisive=DECISIVE)
        queues = [narrow]
        if self._wide.members:
            m.submodules.wide = wide = Queue(self._wide, self.depth)
            queues.append(wide)
        for queue in queues:
            m.d.comb += [queue.input.valid.eq(self.input.valid), queue.output.ready.eq(self.output.ready)]
        m.d.comb += [
            self.input.ready.eq(narrow.input.ready),
            self.output.valid.eq(narrow.output.valid),
            self.level.eq(narrow.level),
        ]
        for outside, inside, is_input in (
            (self.input.p, [queue.input.p for queue in queues], True),
            (self.output.p, [queue.output.p for queue in queues], False),
        ):
            pairs = [(outside[name], inside[0][name]) for name in self._others]
            pairs += [(outside.beat[name], inside[0].beat[name]) for name, _ in self._beat]
            pairs += [(outside.beat[name], inside[1][name]) for name, _ in self._wide]
            m.d.comb += [within.eq(outer) if is_input else outer.eq(within) for outer, within in pairs]
        return m
