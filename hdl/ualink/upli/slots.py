"""Per-port streams under the slot of a shared channel."""

from amaranth.hdl import Signal

__all__ = ["PortStreams"]


class PortStreams:
    """The stream of the port that owns this cycle, of ``streams``, one per port; a slot without a port offers nothing.

    ``valid`` and ``p`` are what the port offers, ``accept`` lets it transfer. One port costs no multiplexer.
    """

    def __init__(self, m, slot, streams, name: str):
        self.valid = Signal(name=f"{name}_valid")
        self.p = Signal(streams[0].p.shape(), name=f"{name}_payload")
        self.accept = Signal(name=f"{name}_accept")
        if len(streams) == 1:
            self._select(m, streams[0])
            return
        with m.Switch(slot):
            for port, stream in enumerate(streams):
                with m.Case(port):
                    self._select(m, stream)

    def _select(self, m, stream):
        m.d.comb += [
            self.valid.eq(stream.valid),
            self.p.eq(stream.p),
            stream.ready.eq(self.accept),
        ]
