"""One direction between two stations: a delay, for all their ports."""

from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.interface import RX_BEAT_LAYOUT, TX_BEAT_LAYOUT, SlotStatus, TxKind

__all__ = ["STATION_WIRE", "StationWire"]

STATION_WIRE = 4
"""Cycles of each direction: what is sent in the cycles of a port comes in those of the same port, of 1, 2 or 4."""


class StationWire(wiring.Component):
    """Takes a beat in every cycle and gives it ``STATION_WIRE`` cycles later.

    Members
    -------
    tx, rx : beats of the transmitter, and what the receiver gets.
    remote_fault : 4 bit, reset value 0: bit n, the last slot of port n that came said so.
    """

    def __init__(self):
        super().__init__(
            {
                "tx": In(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": Out(stream.Signature(RX_BEAT_LAYOUT)),
                "remote_fault": Out(4),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entry = data.StructLayout({"valid": 1, "beat": TX_BEAT_LAYOUT})
        stages = [Signal(entry, name=f"stage_{n}") for n in range(STATION_WIRE)]
        last, rx = stages[-1], self.rx
        m.d.comb += [
            self.tx.ready.eq(1),
            rx.valid.eq(last.valid),
            *(rx.p[name].eq(last.beat[name]) for name in ("data", "port", "first", "last")),
            rx.p.status.eq(Mux(last.beat.kind == TxKind.DATA, SlotStatus.GOOD, SlotStatus.CONTROL)),
        ]
        m.d.sync += [stages[0].valid.eq(self.tx.valid), stages[0].beat.eq(self.tx.p)]
        m.d.sync += [later.eq(stage) for stage, later in pairwise(stages)]
        with m.If(last.valid):
            m.d.sync += self.remote_fault.bit_select(last.beat.port, 1).eq(last.beat.kind == TxKind.REMOTE_FAULT)
        return m
