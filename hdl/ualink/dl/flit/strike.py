"""Stages in which error injection spoils what passes (UALink_200 §6.7)."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.crc_generator import CRC_GENERATOR_LAYOUT
from ualink.dl.interface import tl_flit_signature
from ualink.phy.interface import TX_BEAT_LAYOUT, TxKind

__all__ = ["BeatStrike", "FlitStrike"]


class FlitStrike(wiring.Component):
    """A stage of TL flits. Latency 0; one gate stands in the way of two bits, a wire in that of all others.

    Parameters
    ----------
    always_ready : of both streams.

    Members
    -------
    flit_in, flit_out : TL flits.
    data : 1 bit: bit 0 of the flit shown is inverted, its parity is not.
    control : 1 bit: the control parity of the flit shown is inverted.
    passed : 1 bit: a flit leaves in this cycle.
    """

    def __init__(self, *, always_ready: bool = False):
        self._always_ready = always_ready
        super().__init__(
            {
                "flit_in": In(tl_flit_signature(always_ready=always_ready)),
                "flit_out": Out(tl_flit_signature(always_ready=always_ready)),
                "data": In(1),
                "control": In(1),
                "passed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        came, leaves = self.flit_in, self.flit_out
        if not self._always_ready:
            m.d.comb += came.ready.eq(leaves.ready)
        m.d.comb += [
            leaves.valid.eq(came.valid),
            leaves.p.eq(came.p),
            leaves.p.data[0].eq(came.p.data[0] ^ self.data),
            leaves.p.control_parity.eq(came.p.control_parity ^ self.control),
            self.passed.eq(leaves.valid & leaves.ready),
        ]
        return m


class BeatStrike(wiring.Component):
    """A stage of beats on their way to the wire, behind the CRC. Latency 0; two gates stand in the way of one bit.

    Members
    -------
    beats_in : stream of ``CRC_GENERATOR_LAYOUT``.
    beats_out : stream of ``TX_BEAT_LAYOUT``; ``port`` is 0.
    bit : 1 bit: bit 0 of a DL flit whose first beat is shown is inverted.
    slot_end : 1 bit: the last beat of a slot leaves in this cycle.
    struck : 1 bit: the first beat of a DL flit leaves in this cycle.
    """

    def __init__(self):
        super().__init__(
            {
                "beats_in": In(stream.Signature(CRC_GENERATOR_LAYOUT)),
                "beats_out": Out(stream.Signature(TX_BEAT_LAYOUT)),
                "bit": In(1),
                "slot_end": Out(1),
                "struck": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        came, leaves = self.beats_in, self.beats_out
        first_of_flit = came.p.first & (came.p.kind == TxKind.DATA)
        leave = leaves.valid & leaves.ready
        m.d.comb += [
            came.ready.eq(leaves.ready),
            leaves.valid.eq(came.valid),
            *(leaves.p[name].eq(came.p[name]) for name, _ in CRC_GENERATOR_LAYOUT),
            leaves.p.data[0].eq(came.p.data[0] ^ (self.bit & first_of_flit)),
            self.slot_end.eq(leave & came.p.last),
            self.struck.eq(leave & first_of_flit),
        ]
        return m
