"""Grants of one egress port to the ingress ports that have something for it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.matching.turns import first_of, turns

__all__ = ["Grant"]


class Grant(wiring.Component):
    """Grants one item in every cycle to one of the ingress ports that wait for this egress port (UALink_200 §10.5).

    Items with data take the data channel for as many cycles as they have beats; those without need only the cycle.
    There is a round robin for each kind, whose place moves only when a grant is accepted; when both kinds can be
    granted they take turns. A grant is registered; the ingress port accepts it in the next cycle or not at all.

    One ingress port is watched at a time: when it has waited for ``patience`` cycles its grant is pressing, which means
    that nobody else is granted until it is served. Then the next one is watched that has something.

    Parameters
    ----------
    ingresses : int, ingress ports.
    patience : int, cycles until the one who is watched presses.

    Attributes
    ----------
    with_data, without : ``ingresses`` bit each: the oldest item from there has data or none, now or in the next cycle.
    last : ``ingresses`` bit: what was granted to that ingress port in the cycle before is all that it has; so it is
        granted nothing now but what presses.
    reader_free : ``ingresses`` bit: that ingress port can begin to send data in the cycle after next.
    data_free : 1 bit: so can this egress port take some, and an item.
    free : 1 bit: this egress port can take an item without data.
    started : ``ingresses`` bit, from registers: whose grant of two cycles before was accepted.
    move : 1 bit, as of ``turns``.
    grant : ``ingresses`` bit, one-hot or 0, reset value 0.
    grants_data, pressing : 1 bit each, of what kind the grant is; they mean nothing without one.
    """

    def __init__(self, ingresses: int, patience: int):
        self.ingresses, self.patience = ingresses, patience
        super().__init__(
            {
                **{name: In(ingresses) for name in ("with_data", "without", "last", "reader_free", "started")},
                **{name: In(1) for name in ("data_free", "free", "move")},
                "grant": Out(ingresses),
                "grants_data": Out(1),
                "pressing": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        started_data = Signal()
        m.d.sync += started_data.eq(self.grants_data)
        places = {}
        for kind, mine in (("with_data", started_data), ("without", ~started_data)):
            chosen = self.started & mine.replicate(self.ingresses)
            places[kind] = turns(m, kind, move=self.move, lag=2, chosen=chosen)

        data_waits, other_waits, takes_data = Signal(), Signal(), Signal()
        data_was_last = Signal()
        watched, presses = self._watch(m)
        candidates, others = self.with_data & self.reader_free & ~self.last, self.without & ~self.last
        m.d.comb += [
            data_waits.eq(self.data_free & candidates.any()),
            other_waits.eq(self.free & others.any()),
            takes_data.eq(data_waits & ~(data_was_last & other_waits)),
        ]
        with_data = first_of(candidates, places["with_data"])
        without = first_of(others, places["without"])
        usual = Mux(takes_data, with_data, without & self.free.replicate(self.ingresses))
        watched_data = (watched & self.with_data).any()
        can_press = Mux(watched_data, self.data_free, self.free & (watched & self.without).any())
        m.d.sync += [
            self.grant.eq(Mux(presses, watched & can_press.replicate(self.ingresses), usual)),
            self.grants_data.eq(Mux(presses, watched_data, takes_data)),
            self.pressing.eq(presses),
        ]
        with m.If(data_waits | other_waits):
            m.d.sync += data_was_last.eq(takes_data)
        return m

    def _watch(self, m):
        """Who is watched, one-hot, and whether that one presses."""
        watched = Signal(self.ingresses, init=1)
        presses = Signal()
        waited = Signal(range(self.patience + 1))
        waiting = self.with_data | self.without
        here = (waiting & watched).any()
        with m.If((self.started & watched).any() | ~here):
            m.d.sync += [waited.eq(0), presses.eq(0)]
            with m.If(waiting.any()):
                m.d.sync += watched.eq(watched.rotate_left(1))
        with m.Elif(waited == self.patience):
            m.d.sync += presses.eq(1)
        with m.Else():
            m.d.sync += waited.eq(waited + 1)
        return watched, presses
