"""A stage in a UPLI interface in which injection spoils parity."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.upli.channels import CHANNEL_LAYOUTS, UPLISignature

__all__ = ["UPLIStrike"]

_STRUCK = {"req": "parity", "orig_data": "data_parity", "rd_rsp": "data_parity", "wr_rsp": "parity"}


class UPLIStrike(wiring.Component):
    """Latency 0; one gate stands in the way of one bit of each channel, a wire in that of all others.

    Members
    -------
    originator, completer : the interface, to who is the one and to who is the other.
    spoil : 4 bits, by channel in the order of ``CHANNEL_LAYOUTS``: the lowest bit of the control parity of the beat
        shown, or of the data parity if it is data, is inverted.
    shown : 4 bits, there is a beat.
    """

    def __init__(self):
        channels = len(CHANNEL_LAYOUTS)
        super().__init__(
            {
                "originator": In(UPLISignature()),
                "completer": Out(UPLISignature()),
                "spoil": In(channels),
                "shown": Out(channels),
            }
        )

    def elaborate(self, platform):
        m = Module()
        connect(m, flipped(self.originator), flipped(self.completer))
        shown = []
        for number, channel in enumerate(CHANNEL_LAYOUTS):
            sides = (self.originator, self.completer)
            came, leaves = sides if channel in ("req", "orig_data") else sides[::-1]
            came, leaves = getattr(came, channel), getattr(leaves, channel)
            name = _STRUCK[channel]
            spoilt = getattr(leaves, name)
            m.d.comb += spoilt.eq(getattr(came, name) ^ self.spoil[number])
            shown.append(came.vld)
        m.d.comb += self.shown.eq(Cat(shown))
        return m
