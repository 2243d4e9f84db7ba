"""The step between the route table and the buffers."""

from amaranth.hdl import Const, Signal

from ualink.lib.parity import protects_data
from ualink.lib.presence import Presence

__all__ = ["Steer", "leads_to"]


def leads_to(lookup):
    """Where the table says that an item goes, one-hot, of as many bits as there are egress ports or more."""
    return Const(1) << lookup.egress


class Steer:
    """Registers for a payload that was looked up: where it goes, one-hot, or that it is denied.

    ``payload`` : of the layout ``shape``; it is offered to the ways that ``steered`` leads to while it ``goes``.
    ``where`` : where it goes, one-hot, or 0 if it is denied or not there. It alone leads to the queues.
    ``meant`` : the same, also where what was wrong denied it, and what the queue keeps of it: out of a register apart,
        inverted so that synthesis does not make one of both, so that one shows an upset of the other.
    ``holding`` : it is there; ``torn``: by an upset nobody knows whether it is, or where it goes.
    ``denied`` : it is to be dropped; ``drops``: and it is, in this cycle.
    ``goes`` : 1 bit, from the outside if given: it may leave, if there is room.
    ``leaves`` : it leaves or is dropped. ``free``: another one can come.
    """

    def __init__(self, m, shape, lookup, steered, goes=None):
        self.payload = Signal(shape, name="steered_payload", reset_less=True)
        self.where = Signal(len(steered.valid), name="steered_where")
        self._meant_not = Signal(len(steered.valid), name="steered_meant_not", init=-1)
        self.meant = Signal(len(steered.valid), name="steered_meant")
        self._presence = Presence(m, "steering")
        self.holding, self.torn = self._presence.here, Signal(name="torn")
        self.denied = Signal(name="steered_denied", reset_less=True)
        self.drops, self.leaves, self.free = Signal(name="drops"), Signal(name="leaves"), Signal(name="free")
        self._lookup = lookup
        # Where nothing is an upset may lead; what is kept of what was there before does not go.
        goes = self.holding if goes is None else self.holding & goes
        # Without upsets it has a way unless it is denied.
        strayed = Signal(name="strayed")
        m.d.comb += [
            strayed.eq(self.holding & ~self.denied & ~self.where.any() if protects_data() else 0),
            self.torn.eq(self._presence.torn | strayed),
            self.meant.eq(~self._meant_not),
            steered.payload.eq(self.payload),
            steered.meant.eq(self.meant),
            steered.toward.eq(self.where),
            steered.valid.eq(self.where & goes.replicate(len(self.where))),
            self.drops.eq(goes & self.denied),
            # Whether it may leave is known last.
            self.leaves.eq(goes & (self.denied | (self.where & steered.ready).any())),
            self.free.eq(~self.holding | self.leaves | strayed),
        ]

    def take(self, m, comes, payload, *, drop):
        """``payload`` comes, of which the table says in this cycle where it goes; with ``drop`` it is denied."""
        where, denied = leads_to(self._lookup), self._lookup.denied | drop
        way = where & (comes & ~self._lookup.denied).replicate(len(where))
        with m.If(self.free):
            self._presence.becomes(m, comes)
            m.d.sync += [
                self.payload.eq(payload),
                self.denied.eq(denied),
                self.where.eq(way & ~drop.replicate(len(where))),
                self._meant_not.eq(~way),
            ]
