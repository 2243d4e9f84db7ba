"""A first-in first-out queue on two memories."""

from amaranth.hdl import Module, Signal

from ualink.lib.banked_data import BankedData
from ualink.lib.queue import Queue, UnhurriedQueue

__all__ = ["BankedQueue", "banked_queue"]


class BankedQueue(Queue):
    """A ``Queue``, cycle by cycle, in which neither ``input.valid`` nor ``output.ready``, both of which may be late,
    reaches an address of a memory: payloads are in two of them in turn (``BankedData``).

    Parameters and members are those of ``Queue``. ``output.p`` is a memory read and a multiplexer behind registers.
    """

    def elaborate(self, platform):
        m = Module()
        m.submodules.data = data = BankedData(self.shape, self.depth)
        inside = self.inside
        pushed, popped = Signal(), Signal()
        m.d.comb += [
            self.input.ready.eq(~inside.full),
            self.output.valid.eq(inside.some),
            pushed.eq(self.input.valid & ~inside.full),
            popped.eq(inside.some & self.output.ready),
            data.room.eq(~inside.full),
            data.coming.eq(self.input.p),
            data.pushed.eq(pushed),
            data.popped.eq(popped),
            self.output.p.eq(data.oldest),
        ]
        inside.count(m, pushed, popped)
        return m


def banked_queue(shape, depth: int, *, lean: bool, unhurried: bool) -> Queue:
    """A ``BankedQueue``, or for slow clocks, ``lean``, or ``unhurried``, a plain one, which does the same out of one
    memory."""
    if unhurried:
        return UnhurriedQueue(shape, depth)
    return Queue(shape, depth) if lean else BankedQueue(shape, depth)
