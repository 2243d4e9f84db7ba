"""A first-in first-out queue of a few small payloads, which move up as one leaves."""

from amaranth.hdl import Module, Mux, Signal

from ualink.lib.queue import Queue

__all__ = ["ShiftQueue"]


class ShiftQueue(Queue):
    """A ``Queue``, cycle by cycle, out of registers alone: for payloads so few and small that a memory is no gain.

    Parameters and members are those of ``Queue``.

    The oldest payload is always in the same place. Whether one leaves, which may be known late, is all that is asked
    last: one multiplexer at each place.
    """

    def elaborate(self, platform):
        m = Module()
        places = [Signal(self.shape, name=f"place_{n}", reset_less=True) for n in range(self.depth)]
        valid = [Signal(name=f"valid_{n}") for n in range(self.depth)]
        pushed, popped = Signal(), Signal()
        m.d.comb += [
            self.input.ready.eq(~valid[-1]),
            self.output.valid.eq(valid[0]),
            self.output.p.eq(places[0]),
            pushed.eq(self.input.valid & ~valid[-1]),
            popped.eq(valid[0] & self.output.ready),
        ]
        # What is pushed stands in all places that are free, and counts in the first of them.
        new = self.input.p
        staying = [Mux(full, place, new) for full, place in zip(valid, places)]
        filled = [full | (pushed & before) for full, before in zip(valid, [1, *valid])]
        for n, place in enumerate(places):
            last = n == self.depth - 1
            m.d.sync += [
                place.eq(Mux(popped, new if last else staying[n + 1], staying[n])),
                valid[n].eq(Mux(popped, pushed & valid[n] if last else filled[n + 1], filled[n])),
            ]
        self.inside.count(m, pushed, popped)
        return m
