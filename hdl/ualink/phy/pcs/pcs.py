"""The PCS of boards, both directions (UALink_200 §7.3)."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.checks import ConfigError
from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.interface import BlocksSignature
from ualink.phy.pcs.blocks_crossing import BlocksCrossing
from ualink.phy.pcs.config import PCSConfig
from ualink.phy.pcs.receive import ReceiveLaneStatus, ReceivePCS
from ualink.phy.pcs.transmit import TransmitPCS
from ualink.phy.serdes.interface import LaneWordsSignature

__all__ = ["PCS"]


class PCS(wiring.Component):
    """A 64B/66B PCS between reconciliation sublayer ("sync", ``blocks_per_word`` blocks a cycle) and words of 1, 2 or 4
    lanes.

    Lane l has the domains "tx<l>" and "rx<l>". "sync" must carry more blocks a second than the lanes: B · f(sync) >
    ``lanes`` · ``width`` / 66 · f(lane), with B for ``blocks_per_word``. ``TransmitPCS`` and ``ReceivePCS`` may be used
    alone.

    Parameters
    ----------
    config : lanes and framing.
    encoder, decoder : in the place of FEC, as of ``TransmitPCS`` and ``ReceivePCS``.
    rate_matching : the reconciliation sublayer has a clock of its own, domain "rs", which need not be faster than the
        partner: ``blocks`` belongs to it, and ``blocks.rx`` has a beat in every cycle (``BlocksCrossing``).
        For eight blocks a word alone.

    Members
    -------
    blocks : the reconciliation sublayer's side.
    lanes : array of ``LaneWordsSignature`` of the width.
    ber_monitor : let a high bit error rate be a Local Fault; UALink_200 does not ask for it.
    clear : clears counters and sticky bits.
    aligned : all lanes are locked, in step and in order; ``blocks.rx`` gives what the partner sends.
    hi_ber : high bit error rate.
    running : the lanes send what ``blocks.tx`` gives.
    underflow : a bit per lane, sticky: "sync" was too slow for the lane.
    tx_ready : a bit per lane: the serialiser sends.
    lane : array of ``ReceiveLaneStatus``.
    rate_errors : 2 bit, sticky until reset: bit 0, received blocks were lost; bit 1, /E/ was put among them. 0 without
        ``rate_matching``.
    """

    def __init__(
        self,
        config: PCSConfig,
        *,
        encoder: wiring.Component | None = None,
        decoder: wiring.Component | None = None,
        rate_matching: bool = False,
    ):
        if rate_matching and config.blocks_per_word != BLOCKS_PER_BEAT:
            raise ConfigError(f"blocks_per_word is {config.blocks_per_word}; rates are matched in words of 8 alone")
        self._lanes = config.lanes
        self._crossing = BlocksCrossing() if rate_matching else None
        self._transmit = TransmitPCS(config, encoder=encoder)
        self._receive = ReceivePCS(config, decoder=decoder)
        super().__init__(
            {
                "blocks": In(BlocksSignature(config.blocks_per_word)),
                "lanes": Out(LaneWordsSignature(config.width)).array(config.lanes),
                "ber_monitor": In(1),
                "clear": In(1),
                "aligned": Out(1),
                "hi_ber": Out(1),
                "running": Out(1),
                "underflow": Out(config.lanes),
                "tx_ready": Out(config.lanes),
                "lane": Out(ReceiveLaneStatus()).array(config.lanes),
                "rate_errors": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit = transmit = self._transmit
        m.submodules.receive = receive = self._receive
        blocks = flipped(self.blocks)
        if self._crossing is not None:
            m.submodules.crossing = crossing = DomainRenamer({"pcs": "sync"})(self._crossing)
            connect(m, blocks, crossing.rs)
            m.d.comb += self.rate_errors.eq(crossing.errors)
            blocks = crossing.pcs
        connect(m, blocks.tx, transmit.input)
        connect(m, receive.output, blocks.rx)
        for number in range(self._lanes):
            lane = self.lanes[number]
            m.d.comb += [
                lane.tx_data.eq(transmit.tx_data[number]),
                transmit.tx_ready[number].eq(lane.tx_ready),
                receive.rx_data[number].eq(lane.rx_data),
                receive.rx_ready[number].eq(lane.rx_ready),
            ]
            connect(m, receive.lane[number], flipped(self.lane[number]))
        m.d.comb += [
            transmit.clear.eq(self.clear),
            receive.clear.eq(self.clear),
            receive.ber_monitor.eq(self.ber_monitor),
            self.aligned.eq(receive.aligned),
            self.hi_ber.eq(receive.hi_ber),
            self.running.eq(transmit.running),
            self.underflow.eq(transmit.underflow),
            self.tx_ready.eq(transmit.lane_ready),
        ]
        return m
