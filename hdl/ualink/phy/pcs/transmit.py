"""The transmit PCS of boards (UALink_200 §7.3.1, §7.3.2)."""

from amaranth.hdl import Cat, DomainRenamer, Module, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.interface import blocks_layout
from ualink.phy.pcs.config import PCSConfig
from ualink.phy.pcs.lane_transmit import LaneTransmit
from ualink.phy.pcs.marker_overwrite import MarkerOverwrite
from ualink.phy.pcs.scrambler import Scrambler
from ualink.phy.pcs.start_detector import StartDetector

__all__ = ["TransmitPCS"]


class _LanesState(enum.Enum, shape=2):
    """All lanes begin with the same beat."""

    DRAIN = 0
    """Empty all FIFOs."""
    RELEASE = 1
    """Wait until no lane throws away beats any more."""
    FILL = 2
    """Until all FIFOs are full, and all serialisers ready."""
    RUN = 3


class TransmitPCS(wiring.Component):
    """Start detection, scrambler, marker overwrite, distribution to lanes, and per lane FIFO and gearbox.

    Block k goes to lane k modulo ``lanes``. All lanes begin to send with the same beat, once all serialisers are ready;
    where one of them is not, or a lane has found nothing to send, all begin anew. ``input.ready`` is low while a
    lane has no room, which sets the pace; it stays low while a serialiser is not ready.

    FEC stands between marker overwrite and distribution, the codewords of ``codeword`` of a beat as its frame.

    Parameters
    ----------
    config : lanes and framing; ``marker_blocks`` at the head of a Start flit are overwritten.
    encoder : a component with members ``input`` and ``output``, streams of ``pcs_beat_layout``, to stand in place of
        FEC; None: the marker overwrite feeds the lanes.

    Members
    -------
    input : [sync] stream of ``blocks_layout``; ``port`` is not looked at.
    tx_data, tx_ready : [tx<l>] array over the lanes, as in ``LaneWordsSignature``.
    clear : [sync] clears ``underflow`` but for a lane that underflows now.
    running : [sync] the lanes send what the reconciliation sublayer gave.
    underflow : [sync] a bit per lane, sticky: the lane found nothing to send, since "sync" is too slow.
    lane_ready : [sync] a bit per lane: ``tx_ready``.
    """

    def __init__(self, config: PCSConfig, *, encoder: wiring.Component | None = None):
        lanes, width = config.lanes, config.width
        self._lanes, self._width, self._marker_blocks = lanes, width, config.marker_blocks
        self._blocks = config.blocks_per_word
        self._encoder = encoder
        super().__init__(
            {
                "input": In(stream.Signature(blocks_layout(config.blocks_per_word))),
                "tx_data": Out(width).array(lanes),
                "tx_ready": In(1).array(lanes),
                "clear": In(1),
                "running": Out(1),
                "underflow": Out(lanes),
                "lane_ready": Out(lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        framing = {"marker_blocks": self._marker_blocks, "blocks_per_word": self._blocks}
        m.submodules.detector = detector = StartDetector(self._blocks)
        m.submodules.scrambler = scrambler = Scrambler(**framing)
        m.submodules.markers = markers = MarkerOverwrite(lanes=self._lanes, **framing)
        wiring.connect(m, wiring.flipped(self.input), detector.input)
        wiring.connect(m, detector.output, scrambler.input)
        wiring.connect(m, scrambler.output, markers.input)
        beats = markers.output
        if self._encoder is not None:
            m.submodules.encoder = self._encoder
            wiring.connect(m, markers.output, self._encoder.input)
            beats = self._encoder.output
        lanes = []
        for number in range(self._lanes):
            lane = LaneTransmit(lanes=self._lanes, width=self._width, blocks_per_word=self._blocks)
            m.submodules[f"lane{number}"] = DomainRenamer({"tx": f"tx{number}"})(lane)
            lanes.append(lane)
            m.d.comb += [self.tx_data[number].eq(lane.tx_data), lane.tx_ready.eq(self.tx_ready[number])]
        self._distribute(m, beats, lanes)
        return m

    def _distribute(self, m: Module, beats, lanes: list[LaneTransmit]) -> None:
        """Give each lane its blocks of a beat, and let all begin and stop together."""
        state = Signal(_LanesState)
        writes, room, starved = Signal(), Signal(), Signal()
        m.d.comb += [
            room.eq(Cat(lane.input.ready for lane in lanes).all()),
            writes.eq((state == _LanesState.FILL) | (state == _LanesState.RUN)),
            beats.ready.eq(room & writes),
            self.running.eq(state == _LanesState.RUN),
            starved.eq(Cat(lane.underflow for lane in lanes).any()),
            self.lane_ready.eq(Cat(lane.ready for lane in lanes)),
        ]
        for number, lane in enumerate(lanes):
            m.d.comb += [
                lane.input.p.eq(Cat(beats.p.blocks[n] for n in range(number, self._blocks, self._lanes))),
                lane.input.valid.eq(beats.valid & room & writes),
                lane.go.eq(self.running),
                lane.drain.eq(state == _LanesState.DRAIN),
            ]
        m.d.sync += self.underflow.eq(
            Cat(lane.underflow & self.running for lane in lanes) | (self.underflow & ~self.clear.replicate(self._lanes))
        )
        drained = Cat(lane.drained for lane in lanes)
        with m.Switch(state):
            with m.Case(_LanesState.DRAIN), m.If(drained.all() & ~starved):
                m.d.sync += state.eq(_LanesState.RELEASE)
            with m.Case(_LanesState.RELEASE), m.If(~drained.any()):
                m.d.sync += state.eq(_LanesState.FILL)
            with m.Case(_LanesState.FILL), m.If(~room & self.lane_ready.all()):
                m.d.sync += state.eq(_LanesState.RUN)
            with m.Case(_LanesState.RUN), m.If(starved | ~self.lane_ready.all()):
                m.d.sync += state.eq(_LanesState.DRAIN)
