"""What users and partners of a block want, left to a solver within the contract of a stream."""

from amaranth.hdl import Mux, Signal

__all__ = ["Offer"]


class Offer:
    """A stream that holds to its contract: free payloads at free times, kept until they are taken."""

    def __init__(self, stream, name):
        self.stream, self.valid, self.payload = stream, stream.valid, stream.p
        self.wish = Signal(name=f"{name}_wish")
        self.taken, self.held = Signal(name=f"{name}_taken"), Signal(name=f"{name}_held")
        self.free, self._kept = (Signal(stream.p.shape(), name=f"{name}_{what}") for what in ("free", "kept"))
        self.inputs = [self.wish, self.free.as_value()]

    def say(self, m, may, lawful=None):
        """Offer the free payload, with the members of ``lawful`` in place of its own, when it is wished and ``may``."""
        m.d.comb += [
            self.taken.eq(self.valid & self.stream.ready),
            self.valid.eq(self.held | (self.wish & may)),
            self.payload.eq(Mux(self.held, self._kept, self.free)),
        ]
        m.d.sync += [self.held.eq(self.valid & ~self.stream.ready), self._kept.eq(self.payload)]
        for name, value in (lawful or {}).items():
            m.d.comb += self.payload[name].eq(Mux(self.held, self._kept[name], value))
