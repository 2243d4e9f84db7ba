"""Payloads in a LUT RAM, beside a queue that says when one comes and one leaves."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.lib.queue import successor

__all__ = ["RamData"]


class RamData(wiring.Component):
    """Keeps a payload for each entry of a queue of ``depth``, which says when one comes and one leaves, in one memory
    whose rows are read in the cycle in which they are written.

    Parameters
    ----------
    shape : layout of one payload.
    depth : int, 1 or more: payloads that fit.

    Members
    -------
    some : 1 bit, there is a payload in the queue. After a cycle without one it begins anew, whatever upsets have left
        behind.
    pushed : 1 bit, ``coming`` enters; only where there is room.
    popped : 1 bit, the oldest leaves; not without one.
    oldest : that payload, from the read register of the memory; from the cycle after it was pushed.
    """

    def __init__(self, shape, depth: int):
        check_integer("ram_data.depth", depth, 1)
        self.shape, self.depth = shape, depth
        super().__init__(
            {"some": In(1, init=1), "coming": In(shape), "pushed": In(1), "popped": In(1), "oldest": Out(shape)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=self.depth, init=[])
        write = storage.write_port()
        read = storage.read_port(transparent_for=(write,))
        write_index, read_index, next_read_index = (
            Signal(range(self.depth), name=name) for name in ("write_index", "read_index", "next_read_index")
        )
        m.d.comb += [
            write.addr.eq(write_index),
            write.data.eq(self.coming),
            write.en.eq(self.pushed),
            next_read_index.eq(Mux(self.popped, successor(read_index, self.depth - 1), read_index)),
            read.addr.eq(next_read_index),
            self.oldest.eq(read.data),
        ]
        m.d.sync += read_index.eq(next_read_index)
        with m.If(self.pushed):
            m.d.sync += write_index.eq(successor(write_index, self.depth - 1))
        with m.If(~self.some):
            m.d.sync += read_index.eq(write_index)
        return m
