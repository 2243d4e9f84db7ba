"""What an agent remembers of the errors that it saw (UALink_200 §3.1.2)."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CHANNEL_LAYOUTS

__all__ = ["ERRORS_LAYOUT", "ErrorStatus"]

_BY_CHANNEL = data.StructLayout({channel: 1 for channel in CHANNEL_LAYOUTS})

ERRORS_LAYOUT = data.StructLayout(
    {"data": _BY_CHANNEL, "control": _BY_CHANNEL, "protocol": _BY_CHANNEL, "handshake": 1}
)
"""UPLI Data, Control and Protocol Errors by channel (of its beats at its receiver, of its credit return at its sender),
and violations of the connection handshake."""


class ErrorStatus(wiring.Component):
    """Keeps every error until reset, from the cycle after it was seen.

    Attributes
    ----------
    seen : the errors of this cycle; all classes may come together.
    errors : sticky; ``protocol`` only for what came without a Data or Control Error on its channel in that cycle.
    """

    def __init__(self):
        super().__init__(
            {
                "seen": In(ERRORS_LAYOUT),
                "errors": Out(ERRORS_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        seen, errors = self.seen, self.errors
        m.d.sync += errors.handshake.eq(errors.handshake | seen.handshake)
        for channel in CHANNEL_LAYOUTS:
            data_seen, control_seen = seen.data[channel], seen.control[channel]
            for kept, now in (
                (errors.data[channel], data_seen),
                (errors.control[channel], control_seen),
                (errors.protocol[channel], seen.protocol[channel] & ~data_seen & ~control_seen),
            ):
                m.d.sync += kept.eq(kept | now)
        return m
