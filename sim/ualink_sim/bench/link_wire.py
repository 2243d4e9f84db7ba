"""One direction of a link: delay and damage."""

from random import Random

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.format import BEAT_BYTES, FLIT_HEADER_OFFSET
from ualink.phy.interface import RX_BEAT_LAYOUT, TX_BEAT_LAYOUT, SlotStatus, TxKind

__all__ = ["HEADER_BIT", "LONGEST_WIRE", "Wire"]

LONGEST_WIRE = 127
HEADER_BIT = 8 * (FLIT_HEADER_OFFSET % BEAT_BYTES)
"""Where the last beat has its flit header; CRC follows, and nothing else."""

PAYLOAD_BIT = HEADER_BIT + 20


class Wire(wiring.Component):
    """One direction of a link, which flips a bit in the last beat of some DL flits.

    Members
    -------
    tx, rx : the transmitter's beats, and what the receiver gets ``latency`` cycles later.
    remote_fault : 4 bit, reset value 0: bit n, the last beat of port n that came said so.
    latency : cycles, 1 to 127; constant.
    error_rate : chance of each DL flit, of 2**32.
    strike : pulse: damage the next payload flit.
    """

    def __init__(self, seed: int):
        self._seed = seed
        super().__init__(
            {
                "tx": In(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": Out(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "remote_fault": Out(4),
                "latency": In(range(LONGEST_WIRE + 1)),
                "error_rate": In(32),
                "strike": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entry = data.StructLayout({"valid": 1, "beat": TX_BEAT_LAYOUT})
        m.submodules.line = line = memory.Memory(shape=entry, depth=LONGEST_WIRE + 1, init=[])
        write, read = line.write_port(), line.read_port(domain="comb")
        place = Signal(range(LONGEST_WIRE + 1))

        # Marsaglia's xorshift generator of 32 bits, one number a flit.
        chance = Signal(32, init=Random(self._seed).getrandbits(32))
        a = chance ^ (chance << 13)[:32]
        b = a ^ (a >> 17)
        awaited = Signal()
        ends = Signal()
        struck = Signal()
        m.d.comb += [
            self.tx.ready.eq(1),
            ends.eq(self.tx.valid & self.tx.p.last & (self.tx.p.kind == TxKind.DATA)),
            struck.eq(ends & awaited & self.tx.p.data[PAYLOAD_BIT]),
            write.en.eq(1),
            write.addr.eq(place),
            write.data.valid.eq(self.tx.valid),
            write.data.beat.eq(self.tx.p),
            write.data.beat.data[0].eq(self.tx.p.data[0] ^ (struck | (ends & (chance < self.error_rate)))),
            read.addr.eq(place - self.latency),
            self.rx.valid.eq(read.data.valid),
            *(self.rx.p[name].eq(read.data.beat[name]) for name in ("data", "port", "first", "last")),
            self.rx.p.status.eq(Mux(read.data.beat.kind == TxKind.DATA, SlotStatus.GOOD, SlotStatus.CONTROL)),
        ]
        m.d.sync += place.eq(place + 1)
        with m.If(ends):
            m.d.sync += chance.eq((b ^ (b << 5))[:32])
        with m.If(struck):
            m.d.sync += awaited.eq(0)
        with m.If(self.strike):
            m.d.sync += awaited.eq(1)
        with m.If(self.rx.valid):
            fault = self.remote_fault.bit_select(read.data.beat.port, 1)
            m.d.sync += fault.eq(read.data.beat.kind == TxKind.REMOTE_FAULT)
        return m
