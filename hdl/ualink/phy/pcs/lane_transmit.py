"""A lane's way out: from the beats of the core to words in the lane's clock."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing
from ualink.phy.pcs.lane_fifo import lane_fifo
from ualink.phy.pcs.transmit_gearbox import TransmitGearbox
from ualink.phy.stage import has_register

__all__ = ["FILLER_BLOCK", "TX_DEPTH", "LaneTransmit"]

TX_DEPTH = 8
"""Beats of eight blocks that wait between core and lane; of shorter ones twice as many, which cost no more."""

FILLER_BLOCK = int.from_bytes(bytes([0x1E, 0x1E, 0x8F, 0xC7, 0xE3, 0xF1, 0x78, 0x3C]), "little") << 2
"""What a lane sends while it has nothing: sync header 00, so that the partner loses its block lock; transitions."""

_GO_STAGES = 5
"""Later than the FIFO's own level, so that what was written before ``go`` can be read after it."""


class LaneTransmit(wiring.Component):
    """FIFO from "sync" to the lane's domain "tx", and the gearbox behind it.

    While ``go`` is low the lane sends ``FILLER_BLOCK``. Then it sends what was written, block after block. If it finds
    nothing, it tells ``underflow`` and sends filler until ``drain``.

    Parameters
    ----------
    lanes : 1, 2 or 4: a beat has ``blocks_per_word`` / ``lanes`` blocks of this lane.
    width : bits of a word.
    blocks_per_word : 1, 2, 4 or 8, a multiple of ``lanes``.

    Members
    -------
    input : [sync] stream of so many blocks, the first one lowest.
    go : [sync] send what is there.
    drain : [sync] throw away what is there, block after block until ``drained``; not together with ``go``.
    drained : [sync] nothing is left, and ``drain`` is still seen.
    underflow : [sync] since the last ``drain`` the lane found nothing to send.
    tx_data, tx_ready : [tx] as in ``LaneWordsSignature``.
    ready : [sync] ``tx_ready``.
    """

    def __init__(self, *, lanes: int, width: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        check_framing(lanes=lanes, width=width, blocks_per_word=blocks_per_word)
        self._blocks = blocks_per_word // lanes
        self._wide = has_register(blocks_per_word)
        self._depth = TX_DEPTH if self._wide else 2 * TX_DEPTH
        self._width = width
        super().__init__(
            {
                "input": In(stream.Signature(BLOCK_BITS * self._blocks)),
                "go": In(1),
                "drain": In(1),
                "drained": Out(1),
                "underflow": Out(1),
                "tx_data": Out(width),
                "tx_ready": In(1),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.gearbox = gearbox = TransmitGearbox(self._width)
        m.submodules.fifo = fifo = lane_fifo(
            self._wide, width=BLOCK_BITS * self._blocks, depth=self._depth, w_domain="sync", r_domain="tx"
        )
        go, drain = Signal(), Signal()
        drained, starved = Signal(), Signal()
        m.submodules.go = FFSynchronizer(self.go, go, o_domain="tx", stages=_GO_STAGES)
        m.submodules.drain = FFSynchronizer(self.drain, drain, o_domain="tx")
        m.submodules.drained = FFSynchronizer(drained, self.drained, init=0)
        m.submodules.underflow = FFSynchronizer(starved, self.underflow)
        m.submodules.ready = FFSynchronizer(self.tx_ready, self.ready)

        block = Signal(BLOCK_BITS, init=FILLER_BLOCK)
        # Blocks of the word that was taken last, which is in the FIFO no more; `index` is the place of the next one.
        rest = Signal(BLOCK_BITS * (self._blocks - 1))
        index = Signal(range(self._blocks))
        begins, taken, pop = Signal(), Signal(), Signal()
        m.d.comb += [
            fifo.w_data.eq(self.input.p),
            fifo.w_en.eq(self.input.valid),
            self.input.ready.eq(fifo.w_rdy),
            gearbox.block.eq(block),
            self.tx_data.eq(gearbox.data),
            begins.eq(go & (index == 0) & ~starved),
            taken.eq(gearbox.take & begins & fifo.r_rdy),
            fifo.r_en.eq(drain | pop),
        ]
        # The way from the FIFO's pointers round to them ends here, unless its next word may be due in the next cycle.
        due = self._blocks == 1 and 2 * self._width > BLOCK_BITS
        domain = m.d.comb if due else m.d.tx
        domain += pop.eq(taken)
        m.d.tx += drained.eq(drain & ~fifo.r_rdy)
        with m.If(gearbox.take):
            m.d.tx += block.eq(FILLER_BLOCK)
            with m.If(go & (index != 0)):
                m.d.tx += [Cat(block, rest).eq(rest), index.eq(index + 1)]
            with m.If(taken):
                m.d.tx += [Cat(block, rest).eq(fifo.r_data), index.eq(int(self._blocks > 1))]
            with m.If(begins & ~fifo.r_rdy):
                m.d.tx += starved.eq(1)
        with m.If(drain):
            m.d.tx += [starved.eq(0), index.eq(0)]
        return m
