"""What stands between a data link and the lanes of a board."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import PhyConfig
from ualink.csr.table import BusSignature
from ualink.phy.interface import RSSignature
from ualink.phy.pcs.config import PCSConfig
from ualink.phy.pcs.pcs import PCS
from ualink.phy.reconciliation import Reconciliation
from ualink.phy.register_block import PhyRegisterBlock
from ualink.phy.serdes.interface import LaneStatusSignature, SerdesLaneSignature

__all__ = ["BoardPhy"]


class BoardPhy(wiring.Component):
    """Reconciliation sublayer and PCS of one port, and their registers.

    Parameters
    ----------
    config : markers, Idle flits, and blocks per word.
    lanes, width, line_rate : 1, 2 or 4 lanes, bits of their words, bit/s of each.

    Members
    -------
    dl : the data link, a beat in each cycle, or with words of fewer than eight blocks in as many as it has words.
    bus : to the registers of ``PhyRegisterBlock``.
    lanes, status : ``SerdesLaneSignature(width)`` and ``LaneStatusSignature`` of each lane.
    reference, signal, words : 1 bit each: every lane has a locked transmit PLL, hears a signal, receives words.
    looped : 1 bit, a lane has a loopback.
    bad : 1 bit, a flit slot was lost in this cycle.
    """

    def __init__(self, config: PhyConfig, *, lanes: int, width: int, line_rate: int):
        self._lanes = lanes
        self._rs = Reconciliation(config)
        self._pcs = PCS(
            PCSConfig(
                lanes=lanes,
                width=width,
                marker_blocks=config.marker_blocks,
                marker_interval=config.marker_slots,
                blocks_per_word=config.blocks_per_word,
            )
        )
        self._block = PhyRegisterBlock(config, lanes=lanes, line_rate=line_rate)
        super().__init__(
            {
                "dl": In(RSSignature()),
                "bus": In(BusSignature(self._block.registers.address_bits)),
                "lanes": Out(SerdesLaneSignature(width)).array(lanes),
                "status": In(LaneStatusSignature()).array(lanes),
                **{name: Out(1) for name in ("reference", "signal", "words", "looped", "bad")},
            }
        )

    @property
    def registers(self):
        """The register map."""
        return self._block.registers

    def elaborate(self, platform):
        m = Module()
        m.submodules.rs = rs = self._rs
        m.submodules.pcs = pcs = self._pcs
        m.submodules.registers = block = self._block
        connect(m, flipped(self.dl), rs.dl)
        connect(m, rs.pcs, pcs.blocks)
        connect(m, rs.status[0], block.rs)
        connect(m, flipped(self.bus), block.bus)
        m.d.comb += [
            pcs.ber_monitor.eq(block.ber_monitor),
            pcs.clear.eq(block.clear),
            block.aligned.eq(pcs.aligned),
            block.hi_ber.eq(pcs.hi_ber),
            block.running.eq(pcs.running),
            block.underflow.eq(pcs.underflow),
            self.reference.eq(Cat(status.pll_locked for status in self.status).all()),
            self.signal.eq(Cat(status.signal for status in self.status).all()),
            self.words.eq(Cat(status.ready for status in self.status).all()),
            self.looped.eq(Cat(settings.loopback.as_value() != 0 for settings in block.settings).any()),
            self.bad.eq(rs.status[0].received_bad),
        ]
        for number in range(self._lanes):
            connect(m, pcs.lane[number], block.lane[number])
            connect(m, flipped(self.status[number]), block.serdes[number])
            words, lane, settings = pcs.lanes[number], self.lanes[number], block.settings[number]
            m.d.comb += [
                lane.tx_data.eq(words.tx_data),
                words.rx_data.eq(lane.rx_data),
                words.tx_ready.eq(lane.tx_ready),
                words.rx_ready.eq(lane.rx_ready),
                lane.loopback.eq(settings.loopback),
                lane.reset.eq(settings.reset),
                lane.tx_invert.eq(settings.tx_invert),
                lane.rx_invert.eq(settings.rx_invert),
            ]
        return m
