"""An accelerator and both directions of its link, as the port of a switch core sees them."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream

from .delay import Direction
from .layouts import MOST_LATENCY
from .requester import Requester, host_members
from .responder import Responder

__all__ = ["Accelerator"]

STREAMS = tuple(CHANNEL_LAYOUTS)


class Accelerator(wiring.Component):
    """A ``Requester`` and a ``Responder`` of ``accelerators`` with a ``Direction`` to the switch and one from it.

    Members
    -------
    latency : as of ``Direction``.
    spoil_read, spoil_write : of the responder and of the requester.
    to_req, to_orig_data, to_rd_rsp, to_wr_rsp : to the switch.
    from_req, from_orig_data, from_rd_rsp, from_wr_rsp : from the switch.
    The others are those of ``Requester``.
    """

    def __init__(self, accelerators: int):
        self._accelerators = accelerators
        super().__init__(
            {
                **host_members(),
                "latency": In(range(MOST_LATENCY + 1)),
                "spoil_read": In(1),
                "spoil_write": In(1),
                **{f"to_{channel}": Out(beat_stream(channel)) for channel in STREAMS},
                **{f"from_{channel}": In(beat_stream(channel)) for channel in STREAMS},
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requester = requester = Requester()
        m.submodules.responder = responder = Responder(self._accelerators)
        m.submodules.up = up = Direction()
        m.submodules.down = down = Direction()
        for name, member in host_members().items():
            mine, its = getattr(self, name), getattr(requester, name)
            m.d.comb += its.eq(mine) if member.flow == In else mine.eq(its)
        for direction in (up, down):
            m.d.comb += [direction.now.eq(self.now), direction.latency.eq(self.latency)]
        m.d.comb += [
            responder.number.eq(self.number),
            responder.spoil.eq(self.spoil_read),
            requester.spoil.eq(self.spoil_write),
        ]
        for channel in STREAMS:
            asks = channel in ("req", "orig_data")
            sender, receiver = (requester, responder) if asks else (responder, requester)
            connect(m, getattr(sender, channel), getattr(up, f"in_{channel}"))
            connect(m, getattr(up, f"out_{channel}"), flipped(getattr(self, f"to_{channel}")))
            connect(m, flipped(getattr(self, f"from_{channel}")), getattr(down, f"in_{channel}"))
            connect(m, getattr(down, f"out_{channel}"), getattr(receiver, channel))
        return m
