"""Who of a bank sends to whom: an iSLIP in a pipeline."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.matching.accept import Accept
from ualink.switch.matching.grant import Grant
from ualink.switch.matching.turns import TURNS

__all__ = ["Matcher"]

WAITING = ("with_data", "without", "soon_with_data", "soon_without")


class Matcher(wiring.Component):
    """Matches ingress ports with the egress ports of a bank, anew in every cycle (UALink_200 §10.5).

    Every egress port grants, in the next cycle every ingress port accepts one grant, in the one after it the first beat
    is read. An ingress port reads one item without data in a cycle, and at the same time one with data, beat after
    beat. Who is not matched tries again in the next cycle, with three interleaved round robins (``turns``).

    Nobody starves: an item that waits for an egress port which takes what it gets is accepted within ``bound`` cycles,
    ``ingresses * (patience + 4 * egresses + 6)``. For the egress port watches each ingress port in turn, and the one it
    watches presses after ``patience`` cycles; from then on the data channel is free within 4 cycles and stays so, and
    each of the other egress ports can press its own way before it, with 4 beats. The 6 are for what is known late.

    Parameters
    ----------
    ingresses, egresses : int.
    patience : int, as of ``Grant``; by default 8 cycles for each ingress port.

    Attributes
    ----------
    with_data, without : ``egresses`` bit for each ingress port, from registers: its oldest item for that egress port
        has data or none.
    soon_with_data, soon_without : ``egresses`` bit for each ingress port: it likely has in the next cycle, so that a
        grant, which is accepted then, is no mistake.
    more : ``egresses`` bit for each ingress port, from registers: there is another one behind the oldest item.
    beats : 2 bit for each ingress port and egress port: beats of that item less one.
    room, data_room : ``egresses`` bit each, from registers: that egress port has room for an item, for an item with
        data, and for all that comes after it meanwhile.
    accept : ``egresses`` bit for each ingress port, one-hot or 0: the oldest item for that egress port is taken.
    start : the same one cycle later, from registers: it is read.
    hold : ``egresses`` bit for each ingress port, from registers: a beat of data is read for that egress port.
    ends : 1 bit for each ingress port, from a register: it is the last of its item.
    """

    def __init__(self, ingresses: int, egresses: int, patience: int | None = None):
        self.ingresses, self.egresses = ingresses, egresses
        self.patience = 8 * ingresses if patience is None else patience
        self.bound = ingresses * (self.patience + 4 * egresses + 6)
        super().__init__(
            {
                **{name: In(egresses).array(ingresses) for name in WAITING},
                "more": In(egresses).array(ingresses),
                "beats": In(2).array(ingresses, egresses),
                **{name: In(egresses) for name in ("room", "data_room")},
                **{name: Out(egresses).array(ingresses) for name in ("accept", "start", "hold")},
                "ends": Out(1).array(ingresses),
            }
        )

    def elaborate(self, platform):
        m = Module()
        accepts = [Accept(self.egresses) for _ in range(self.ingresses)]
        grants = [Grant(self.ingresses, self.patience) for _ in range(self.egresses)]
        move = self._move(m)
        busy, busy_long = (reduce(or_, (getattr(accept, name) for accept in accepts)) for name in ("held", "held_long"))
        soon = [data | other for data, other in zip(self.soon_with_data, self.soon_without)]
        for k, grant in enumerate(grants):
            m.submodules[f"grant_{k}"] = grant
            m.d.comb += [
                grant.with_data.eq(Cat(now[k] | comes[k] for now, comes in zip(self.with_data, self.soon_with_data))),
                grant.without.eq(Cat(now[k] | comes[k] for now, comes in zip(self.without, self.soon_without))),
                grant.last.eq(grant.grant & ~Cat(more[k] | comes[k] for more, comes in zip(self.more, soon))),
                grant.reader_free.eq(Cat(accept.soon_free for accept in accepts)),
                grant.started.eq(Cat(accept.start[k] for accept in accepts)),
                grant.data_free.eq(~busy_long[k] & self.data_room[k] & self.room[k]),
                grant.free.eq(self.room[k]),
                grant.move.eq(move),
            ]
        for n, accept in enumerate(accepts):
            m.submodules[f"accept_{n}"] = accept
            m.d.comb += [
                accept.grants.eq(Cat(grant.grant[n] for grant in grants)),
                accept.grants_data.eq(Cat(grant.grants_data for grant in grants)),
                accept.pressing.eq(Cat(grant.pressing for grant in grants)),
                accept.with_data.eq(self.with_data[n]),
                accept.without.eq(self.without[n]),
                accept.egress_busy.eq(busy),
                accept.move.eq(move),
                self.accept[n].eq(accept.accept),
                self.start[n].eq(accept.start),
                self.hold[n].eq(accept.hold),
                self.ends[n].eq(accept.ends),
            ]
            m.d.comb += [its.eq(mine) for its, mine in zip(accept.beats, self.beats[n])]
        return m

    def _move(self, m):
        """Turns go on while anything waits and until all that follows from it is known: at rest nothing changes."""
        waited = Signal(TURNS + 1)
        waits = reduce(or_, (waiting.any() for waiting in (*self.with_data, *self.without)))
        m.d.sync += waited.eq(Cat(waits, waited[:-1]))
        return waited.any()
