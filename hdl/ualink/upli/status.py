"""What an agent remembers of the errors that it saw (UALink_200 §3.1.2)."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CHANNEL_LAYOUTS

__all__ = ["ERRORS_LAYOUT", "ErrorStatus"]

_BY_CHANNEL = data.StructLayout({channel: 1 for channel in CHANNEL_LAYOUTS})

ERRORS_LAYOUT = data.StructLayout(
    {"data": _BY_CHANNEL, "control": _BY_CHANNEL, "protocol": _BY_CHANNEL, "handshake": 1}
)
"""UPLI Data, Control and Protocol Errors by channel (of its beats at its receiver; at its sender of its credit return,
and of beats whose code is wrong), and violations of the connection handshake."""


class ErrorStatus(wiring.Component):
    """Tells every error once, and keeps it until it is cleared. Latency 1 cycle; all outputs are 0 after reset.

    Attributes
    ----------
    seen : the errors of this cycle; all classes may come together.
    clear : 1 bit, forget the errors kept; those of this cycle are kept nevertheless.
    errors : kept; ``protocol`` only for what came without a Data or Control Error on its channel in that cycle.
    events : the errors of the cycle before, the same way; they do not depend on what is kept.
    """

    def __init__(self):
        super().__init__(
            {
                "seen": In(ERRORS_LAYOUT),
                "clear": In(1),
                "errors": Out(ERRORS_LAYOUT),
                "events": Out(ERRORS_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        seen, errors, events = self.seen, self.errors, self.events
        self._tell(m, events.handshake, errors.handshake, seen.handshake)
        for channel in CHANNEL_LAYOUTS:
            data_seen, control_seen = seen.data[channel], seen.control[channel]
            self._tell(m, events.data[channel], errors.data[channel], data_seen)
            self._tell(m, events.control[channel], errors.control[channel], control_seen)
            protocol_seen = seen.protocol[channel] & ~data_seen & ~control_seen
            self._tell(m, events.protocol[channel], errors.protocol[channel], protocol_seen)
        return m

    def _tell(self, m, event, kept, now):
        m.d.sync += [event.eq(now), kept.eq(Mux(self.clear, now, kept | now))]
