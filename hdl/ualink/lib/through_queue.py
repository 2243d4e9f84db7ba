"""A queue of a few small payloads that are wanted in the cycle in which they come."""

from amaranth.hdl import Module, Mux, Signal

from ualink.lib.queue import Queue

__all__ = ["ThroughQueue"]


class ThroughQueue(Queue):
    """A ``Queue`` out of registers alone through which a payload goes at once, if it is empty.

    Parameters and members are those of ``Queue``. A payload is offered in the cycle in which it comes, or as soon as
    those before it have left; it is stored unless it leaves at once. So ``output`` depends on ``input`` of the same
    cycle, ``input.ready`` on registers alone.
    """

    def elaborate(self, platform):
        m = Module()
        places = [Signal(self.shape, name=f"place_{n}", reset_less=True) for n in range(self.depth)]
        valid = [Signal(name=f"valid_{n}") for n in range(self.depth)]
        pushed, popped = Signal(), Signal()
        m.d.comb += [
            self.input.ready.eq(~valid[-1]),
            pushed.eq(self.input.valid & ~valid[-1]),
            self.output.valid.eq(valid[0] | self.input.valid),
            self.output.p.eq(Mux(valid[0], places[0], self.input.p)),
            popped.eq(self.output.valid & self.output.ready),
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
        self.inside.count(m, pushed & (valid[0] | ~popped), popped & valid[0])
        return m
