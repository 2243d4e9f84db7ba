"""Makes slots out of received blocks (UALink_200 §7.2.8)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import PhyConfig
from ualink.lib.select import select_from
from ualink.phy.alignment_span import AlignmentSpan
from ualink.phy.interface import SlotStatus, blocks_layout, rx_word_layout
from ualink.phy.link_fault import LinkFault, LinkFaultMachine
from ualink.phy.rs_classify import BlockClassifier
from ualink.phy.rs_slot_count import SlotCount
from ualink.phy.rs_slots import SlotFinder, SlotState
from ualink.phy.stage import has_register

__all__ = ["RSReceive"]

CONTROL_FLITS = 4
"""Control flits in a row that end a link (UALink_200 §6.7.1)."""


class RSReceive(wiring.Component):
    """Receive side of the reconciliation sublayer. The last block of a flit that comes in cycle t is in the last word
    of its slot in cycle t + 4, with fewer than eight blocks a word t + 1.

    A slot that is GOOD has 80 blocks, and so has every other slot that begins with ``first``; where another slot
    begins in its place, it is left without ``last``. Of control blocks outside of slots each quarter of
    ``control_flit_blocks`` (ruling P-05) is told by one word, ``first`` and ``last`` at once, with status CONTROL.
    From the ``last`` of a slot to the next one there are words of 64 blocks or more.

    A slot with a block that is no data block is BAD; where a control flit is due it is CONTROL, for nothing is lost
    (ruling P-26). A slot that began in place of an aborted one is BAD for both.

    Parameters
    ----------
    config : ``control_interval``, ``control_flit_blocks`` and ``blocks_per_word`` are used.

    Members
    -------
    blocks : from the PCS; ``port`` is not looked at.
    beat : to the DL, of as many blocks as a word; ``port`` is 0.
    link_fault : ``LinkFault`` as received.
    aligned : an AM flit has come.
    marker : pulse: an AM flit begins.
    fault_change : pulse: there is another ``link_fault``.
    """

    def __init__(self, config: PhyConfig):
        self.config = config
        self._blocks = blocks = config.blocks_per_word
        super().__init__(
            {
                "blocks": In(stream.Signature(blocks_layout(blocks), always_ready=True)),
                "beat": Out(stream.Signature(rx_word_layout(blocks), always_ready=True)),
                "link_fault": Out(LinkFault),
                "aligned": Out(1),
                "marker": Out(1),
                "fault_change": Out(1),
            }
        )
        self.classifier = BlockClassifier(blocks)
        self.alignment = AlignmentSpan(blocks)
        self.faults = LinkFaultMachine(blocks)
        self.slots = SlotFinder(blocks)
        self.count = SlotCount(config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.classifier = found = self.classifier
        m.submodules.alignment = alignment = self.alignment
        m.submodules.faults = faults = self.faults
        m.submodules.slots = slots = self.slots
        m.submodules.count = count = self.count
        m.d.comb += [
            found.blocks.valid.eq(self.blocks.valid),
            found.blocks.p.eq(self.blocks.p),
            alignment.valid.eq(found.valid),
            alignment.alignment.eq(found.alignment),
            faults.valid.eq(found.valid),
            faults.sequences.eq(found.sequences),
            faults.frozen.eq(alignment.inside),
            slots.valid.eq(found.valid),
            slots.control.eq(found.control),
            slots.invalid.eq(found.invalid),
            slots.counted.eq(found.counted),
            slots.marker.eq(alignment.begins),
            count.beat.eq(slots.beat),
            count.marker.eq(slots.marker_after),
            count.first_start.eq(slots.first_start),
            count.last_start.eq(slots.last_start),
            count.replaced.eq(slots.replaced),
            self.link_fault.eq(faults.link_fault),
            self.fault_change.eq(faults.changed),
            self.aligned.eq(slots.state != SlotState.HUNT),
            self.marker.eq(slots.marker_after.any()),
        ]
        domain = m.d.sync if has_register(self._blocks) else m.d.comb
        self._align(m, domain)
        self._tell(m, domain, self._control_flit(m))
        return m

    def _align(self, m, domain):
        """The word that is whole, out of the newest one that came and the one before it."""
        held, newest, before = (
            Signal(64 * self._blocks, name=n, reset_less=True) for n in ("held", "newest", "before")
        )
        arrived = Signal()
        domain += [held.eq(self.classifier.data), arrived.eq(self.classifier.valid)]
        # Cycles without a word leave no trace.
        with m.If(arrived):
            m.d.sync += [newest.eq(held), before.eq(newest)]
        # Bit 0 of the offset: all of it is in the newest one, further than what bit 1 and those above stand for.
        first = Cat(self.slots.offset[1:], self.slots.offset[0])
        whole = select_from(first, Cat(before, newest)[64:], 64, len(newest))
        domain += self.beat.p.data.eq(whole)

    def _control_flit(self, m):
        """Whether there have been control blocks enough."""
        enough = self.config.control_flit_blocks // CONTROL_FLITS
        run, total = Signal(range(enough)), Signal(range(enough + self._blocks))
        told = Signal()
        m.d.comb += [
            total.eq(run + sum(self.slots.outside[n] for n in range(self._blocks))),
            told.eq(total >= enough),
        ]
        m.d.sync += run.eq(Mux(told, total - enough, total))
        with m.If(self.slots.last_start.any()):
            m.d.sync += run.eq(0)
        return told

    def _tell(self, m, domain, control_flit):
        slots, beat = self.slots, self.beat
        domain += [
            beat.valid.eq(slots.emit | control_flit),
            beat.p.first.eq(slots.first | control_flit),
            beat.p.last.eq(slots.last | control_flit),
            beat.p.status.eq(SlotStatus.BAD),
        ]
        with m.If(control_flit | (self.count.control_slot & ~slots.good & ~self.count.owed)):
            domain += beat.p.status.eq(SlotStatus.CONTROL)
        with m.Elif(slots.good & ~self.count.owed):
            domain += beat.p.status.eq(SlotStatus.GOOD)
