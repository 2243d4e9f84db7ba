"""PCSs with ports that a bench can have: no constants, lanes and status side by side."""

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.lib.forward import forward
from ualink.phy.interface import blocks_layout
from ualink.phy.pcs.config import PCSConfig
from ualink.phy.pcs.pcs import PCS
from ualink.phy.pcs.receive import ReceiveLaneStatus
from ualink.phy.serdes.interface import LaneWordsSignature

FRAMING = {"marker_blocks": 16, "marker_interval": 4, "max_skew": 32, "ber_window": 4000}
WIDTHS = {1: 20, 2: 40, 4: 16}
"""Bits of a word by number of lanes: one PCS each."""
NARROW = {1: 2, 2: 4}
"""Blocks a word, by number of lanes, of PCSs with fewer than eight."""
MATCHING = "matching"
"""The port with a PCS of one lane that matches rates."""
PORTS = (*(f"x{lanes}" for lanes in WIDTHS), *(f"narrow{lanes}" for lanes in NARROW), MATCHING)
STATUS = ("aligned", "hi_ber", "running", "underflow", "tx_ready", "rate_errors")


class BenchPort(wiring.Component):
    """``PCS`` with its members; ``sent`` and ``received`` are blocks with valid and ready; a
    bit of ``tx_clock`` and ``rx_clock`` is a lane's clock. With ``rate_matching`` blocks are in the clock
    ``rs_clock``."""

    def __init__(self, lanes: int, blocks_per_word: int = 8, rate_matching: bool = False):
        width, blocks = WIDTHS[lanes], blocks_layout(blocks_per_word)
        self._rate_matching = rate_matching
        config = PCSConfig(lanes=lanes, width=width, blocks_per_word=blocks_per_word, **FRAMING)
        self._dut = PCS(config, rate_matching=rate_matching)
        super().__init__(
            {
                "sent": In(blocks.size),
                "sent_valid": In(1),
                "sent_ready": Out(1),
                "received": Out(blocks.size),
                "received_valid": Out(1),
                "ber_monitor": In(1),
                "clear": In(1),
                "tx_clock": In(lanes),
                "rx_clock": In(lanes),
                "rs_clock": In(1),
                "lanes": Out(LaneWordsSignature(width)).array(lanes),
                "lane": Out(ReceiveLaneStatus()).array(lanes),
                **{name: self._dut.signature.members[name] for name in STATUS},
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._dut
        clocks = {"rs": self.rs_clock} if self._rate_matching else {}
        for n in range(len(self.lanes)):
            clocks |= {f"tx{n}": self.tx_clock[n], f"rx{n}": self.rx_clock[n]}
        for name, clock in clocks.items():
            domain = ClockDomain(name, reset_less=True, local=True)
            m.domains += domain
            m.d.comb += domain.clk.eq(clock)
        m.d.comb += [
            dut.blocks.tx.p.eq(self.sent),
            dut.blocks.tx.valid.eq(self.sent_valid),
            self.sent_ready.eq(dut.blocks.tx.ready),
            self.received.eq(dut.blocks.rx.p),
            self.received_valid.eq(dut.blocks.rx.valid),
            dut.ber_monitor.eq(self.ber_monitor),
            dut.clear.eq(self.clear),
            *(getattr(self, name).eq(getattr(dut, name)) for name in STATUS),
        ]
        for n, lane in enumerate(self.lanes):
            connect(m, dut.lanes[n], flipped(lane))
            connect(m, dut.lane[n], flipped(self.lane[n]))
        return m


class BenchTop(wiring.Component):
    """A ``BenchPort`` for each of ``PORTS``: x1, x2 and x4 have 1, 2 and 4 lanes, narrow1 and narrow2 as many and short
    words."""

    def __init__(self):
        self._ports = {f"x{lanes}": BenchPort(lanes) for lanes in WIDTHS}
        self._ports |= {f"narrow{lanes}": BenchPort(lanes, blocks) for lanes, blocks in NARROW.items()}
        self._ports[MATCHING] = BenchPort(1, rate_matching=True)
        super().__init__({name: Out(port.signature) for name, port in self._ports.items()})

    def elaborate(self, platform):
        m = Module()
        for name, port in self._ports.items():
            m.submodules[name] = port
            forward(m, port, getattr(self, name))
        return m
