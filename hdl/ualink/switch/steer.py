"""The step between the route table and the buffers."""

from amaranth.hdl import Const, Mux, Signal

from ualink.switch.presence import Presence

__all__ = ["Steer", "leads_to"]


def leads_to(lookup):
    """Where the table says that an item goes, one-hot, of as many bits as there are egress ports or more."""
    return Const(1) << lookup.egress


class Steer:
    """Registers for a payload that was looked up: where it goes, one-hot, or that it is denied.

    ``payload`` : of the layout ``shape``; it is offered to the ways that ``steered`` leads to while it ``goes``.
    ``meant`` : where it goes, one-hot, or 0 if it is denied: what the queue keeps of it, apart from what leads there.
    ``holding`` : it is there; ``torn``: by an upset nobody knows whether it is.
    ``denied`` : it is to be dropped; ``drops``: and it is, in this cycle.
    ``goes`` : 1 bit, from the outside if given: it may leave, if there is room.
    ``leaves`` : it leaves or is dropped. ``free``: another one can come.
    ``under_way`` : where it goes, one-hot, or 0 if it is not there or denied.
    """

    def __init__(self, m, shape, lookup, steered, goes=None):
        self.payload = Signal(shape, name="steered_payload", reset_less=True)
        self.where = Signal(len(steered.valid), name="steered_where", reset_less=True)
        self.meant = Signal(len(steered.valid), name="steered_meant", reset_less=True)
        self._presence = Presence(m, "steering")
        self.holding, self.torn = self._presence.here, self._presence.torn
        self.denied = Signal(name="steered_denied", reset_less=True)
        self.drops, self.leaves, self.free = Signal(name="drops"), Signal(name="leaves"), Signal(name="free")
        self.under_way = Signal(len(steered.valid), name="steered_under_way")
        self._lookup = lookup
        may_leave = self.holding if goes is None else self.holding & goes
        m.d.comb += [
            self.under_way.eq(self.where & (self.holding & ~self.denied).replicate(len(self.where))),
            steered.payload.eq(self.payload),
            steered.meant.eq(self.meant),
            steered.toward.eq(self.where & self.holding.replicate(len(self.where))),
            steered.valid.eq(self.where & (may_leave & ~self.denied).replicate(len(self.where))),
            self.drops.eq(may_leave & self.denied),
            self.leaves.eq(self.drops | (steered.valid & steered.ready).any()),
            self.free.eq(~self.holding | self.leaves),
        ]

    def take(self, m, comes, payload, *, drop):
        """``payload`` comes, of which the table says in this cycle where it goes; with ``drop`` it is denied."""
        where, denied = leads_to(self._lookup), self._lookup.denied | drop
        with m.If(self.free):
            self._presence.becomes(m, comes)
            m.d.sync += [
                self.payload.eq(payload),
                self.denied.eq(denied),
                self.where.eq(where),
                self.meant.eq(Mux(denied, 0, where)),
            ]
