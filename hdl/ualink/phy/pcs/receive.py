"""The receive PCS of boards (UALink_200 §7.3.1, §7.3.2)."""

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT, LOCAL_FAULT_BLOCK
from ualink.phy.interface import blocks_layout
from ualink.phy.pcs.alignment_overwrite import AlignmentOverwrite
from ualink.phy.pcs.ber_monitor import BitErrorRateMonitor
from ualink.phy.pcs.config import PCSConfig
from ualink.phy.pcs.descrambler import Descrambler
from ualink.phy.pcs.deskew import Deskew
from ualink.phy.pcs.lane_receive import LaneReceive, receive_depth, receive_patience
from ualink.phy.pcs.one_lane import OneLane
from ualink.phy.stage import has_register

__all__ = ["BAD_HEADER_COUNTER_BITS", "ReceiveLaneStatus", "ReceivePCS"]

BAD_HEADER_COUNTER_BITS = 32


class ReceiveLaneStatus(wiring.Signature):
    """What is known of a lane, in "sync".

    Attributes
    ----------
    ready : the serialiser's ``rx_ready``.
    block_lock, marker_lock : locks.
    number : 2 bit: the lane's number in its marker; has meaning with ``marker_lock``.
    skew : 16 bit: blocks of this lane that waited when the lanes came into step.
    bad_headers : 32 bit, saturating: sync headers 00 and 11 since reset or ``clear``, counted while ``marker_lock``.
    overflow : sticky: a share was lost, since "sync" is too slow.
    """

    def __init__(self):
        super().__init__(
            {
                "ready": Out(1),
                "block_lock": Out(1),
                "marker_lock": Out(1),
                "number": Out(2),
                "skew": Out(16),
                "bad_headers": Out(BAD_HEADER_COUNTER_BITS),
                "overflow": Out(1),
            }
        )


class ReceivePCS(wiring.Component):
    """Per lane gearbox, block lock and marker finder; then deskew and reorder, marker to AM blocks, descrambler.

    Aligned, ``output`` gives the partner's blocks from a marker on; the first ``marker_blocks`` of a slot that
    has or should have a marker are ``ALIGNMENT_BLOCK``, the rest is as received. Sync headers 00 and 11 and block types
    unknown here are passed on as they are: the reconciliation sublayer finds and discards them. Not aligned, or with a
    high bit error rate, it gives Local Fault ordered sets instead, a beat in every cycle or in place of every beat.

    FEC decoders stand between deskew and overwrite.

    Parameters
    ----------
    config : lanes and framing.
    decoder : a component with members ``input`` and ``output``, always ready streams of ``pcs_beat_layout``, to stand
        in the place of FEC; None: the deskew feeds the overwrite.

    Members
    -------
    rx_data, rx_ready : [rx<l>] array over the lanes, as in ``LaneWordsSignature``.
    output : [sync] stream of ``blocks_layout``, always ready; ``port`` is 0.
    ber_monitor : [sync] let a high bit error rate be a Local Fault.
    clear : [sync] clears counters and sticky bits.
    aligned, hi_ber : [sync] levels.
    lane : [sync] array of ``ReceiveLaneStatus``.
    """

    def __init__(self, config: PCSConfig, *, decoder: wiring.Component | None = None):
        lanes, width = config.lanes, config.width
        skew = {"lanes": lanes, "max_skew": config.max_skew, "marker_interval": config.marker_interval}
        skew["blocks_per_word"] = self._blocks = config.blocks_per_word
        self._lanes, self._marker_blocks = lanes, config.marker_blocks
        self._deskew = _in_step(lanes, config.blocks_per_word, receive_depth(**skew) + 1, receive_patience(**skew))
        self._framing = {**skew, "width": width}
        self._monitor = BitErrorRateMonitor(window=config.ber_window, blocks_per_word=config.blocks_per_word)
        self._decoder = decoder
        super().__init__(
            {
                "rx_data": In(width).array(lanes),
                "rx_ready": In(1).array(lanes),
                "output": Out(stream.Signature(blocks_layout(config.blocks_per_word), always_ready=True)),
                "ber_monitor": In(1),
                "clear": In(1),
                "aligned": Out(1),
                "hi_ber": Out(1),
                "lane": Out(ReceiveLaneStatus()).array(lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.deskew = deskew = self._deskew
        for number in range(self._lanes):
            lane = LaneReceive(**self._framing)
            m.submodules[f"lane{number}"] = DomainRenamer({"rx": f"rx{number}"})(lane)
            wiring.connect(m, lane.output, deskew.lane[number])
            m.d.comb += [
                lane.rx_data.eq(self.rx_data[number]),
                lane.rx_ready.eq(self.rx_ready[number]),
                deskew.level[number].eq(lane.level),
                # A lane whose clock has stopped keeps its lock.
                deskew.marker_lock[number].eq(lane.marker_lock & lane.ready),
            ]
            self._show(m, lane, deskew, number)

        framing = {"marker_blocks": self._marker_blocks, "blocks_per_word": self._blocks}
        m.submodules.overwrite = overwrite = AlignmentOverwrite(**framing)
        m.submodules.descrambler = descrambler = Descrambler(**framing)
        beats = deskew.output
        if self._decoder is not None:
            m.submodules.decoder = self._decoder
            wiring.connect(m, deskew.output, self._decoder.input)
            beats = self._decoder.output
        # The one that has a register in any case stands last, and takes over what the other gives without one.
        first, second = (overwrite, descrambler) if has_register(self._blocks) else (descrambler, overwrite)
        wiring.connect(m, beats, first.input)
        wiring.connect(m, first.output, second.input)

        m.submodules.monitor = monitor = self._monitor
        m.d.comb += [
            monitor.enable.eq(self.ber_monitor & deskew.aligned),
            monitor.valid.eq(deskew.output.valid),
            monitor.bad.eq(Cat(_is_bad(deskew.output.p.blocks[n]) for n in range(self._blocks))),
            self.aligned.eq(deskew.aligned),
            self.hi_ber.eq(monitor.hi_ber),
        ]
        clear = second.output
        domain = m.d.sync if has_register(self._blocks) else m.d.comb
        domain += self.output.valid.eq(clear.valid | ~deskew.aligned)
        for n in range(self._blocks):
            domain += self.output.p.blocks[n].eq(
                Mux(deskew.aligned & ~monitor.hi_ber, clear.p.blocks[n], LOCAL_FAULT_BLOCK)
            )
        return m

    def _show(self, m: Module, lane: LaneReceive, deskew: Deskew | OneLane, number: int) -> None:
        """Status and counters of a lane."""
        status = self.lane[number]
        share = lane.output.p.blocks
        bad = Signal(range(self._blocks + 1))
        total = Signal(BAD_HEADER_COUNTER_BITS + 1)
        m.d.comb += [
            status.ready.eq(lane.ready),
            status.block_lock.eq(lane.block_lock),
            status.marker_lock.eq(lane.marker_lock),
            status.number.eq(deskew.number[number]),
            status.skew.eq(deskew.skew[number]),
            total.eq(status.bad_headers + bad),
        ]
        m.d.sync += bad.eq(0)
        with m.If(lane.output.valid & lane.output.ready):
            m.d.sync += bad.eq(sum(_is_bad(share[n]) for n in range(self._blocks // self._lanes)))
        with m.If(self.clear):
            m.d.sync += [status.bad_headers.eq(0), status.overflow.eq(0)]
        with m.Else():
            m.d.sync += status.bad_headers.eq(Mux(total[-1], (1 << BAD_HEADER_COUNTER_BITS) - 1, total))
        with m.If(lane.overflow):
            m.d.sync += status.overflow.eq(1)


def _in_step(lanes: int, blocks_per_word: int, depth: int, patience: int) -> Deskew | OneLane:
    """What gives beats of all lanes. Beats of eight blocks leave none of the registers of ``Deskew`` out."""
    if lanes == 1 and blocks_per_word < BLOCKS_PER_BEAT:
        return OneLane(blocks_per_word=blocks_per_word, depth=depth)
    return Deskew(lanes=lanes, depth=depth, patience=patience, blocks_per_word=blocks_per_word)


def _is_bad(block):
    """The sync header is neither 01 nor 10."""
    return block[0] == block[1]
