"""What the reconciliation sublayer sends: DL flits as data blocks, or control flits (UALink_200 §7.2.4 to §7.3.5)."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import PhyConfig
from ualink.lib.contract import contract
from ualink.phy.blocks import (
    BLOCK_BITS,
    BLOCKS_PER_FLIT,
    IDLE_BLOCK,
    REMOTE_FAULT_BLOCK,
    START_BLOCK,
    data_blocks,
)
from ualink.phy.interface import TxKind, blocks_layout, tx_word_layout
from ualink.phy.link_fault import LinkFault
from ualink.phy.port_rate import PortRate
from ualink.phy.rs_schedule import SlotSchedule

__all__ = ["RSTransmit"]

START_BLOCKS = 8
"""Of type 0x78, with which a Start flit begins (UALink_200 §7.2.4.5)."""


class RSTransmit(wiring.Component):
    """Fills flit slots of 80 blocks, one after the other without a pause. A word taken in cycle t is in ``blocks`` from
    cycle t + 1.

    What a slot carries is decided with its first word. The received fault in force in it, ``fault``, is that of the
    last word of the slot before, or one that came and went in that slot. The first row that applies:

    ========================  =================  ==================================  ===========================
    slot                      ``fault``          sent                                the DL's slot
    ========================  =================  ==================================  ===========================
    marker                    LOCAL              Fault Start, of remote faults       taken
    marker                    other              Idle Start                          waits if it is DATA and
                                                                                     ``fault`` is OK, else taken
    any                       LOCAL              Fault, of remote faults             taken
    any                       REMOTE, …          Idle                                taken
    any                       OK, DL not DATA    Idle                                taken
    each ``idle_interval``    OK                 Idle                                waits
    any                       OK                 the DL flit                         taken
    ========================  =================  ==================================  ===========================

    What is taken and not sent is lost. That is so of slots without a DL flit, of which only the time counts, so that
    what the DL counts in flit times goes on; and of the DL flits that a DL offers which has not yet reached DL Fault,
    where it gets only at the end of a slot (ruling P-16).

    A DL that offers nothing where its flit is due (UALink_200 §7.2.3 forbids that) is stood in for by an Idle flit. A
    slot of the DL that does not begin with ``first`` is taken and lost up to its ``last``.

    Parameters
    ----------
    config : as of ``SlotSchedule``; ``blocks_per_word`` is used too.

    Members
    -------
    rate : ``PortRate``, as of ``SlotSchedule``.
    beat : slots of the DL, of which a beat has as many blocks as a word. ``valid`` must not fall within a DL flit.
    link_fault : ``LinkFault`` as received.
    blocks : to the PCS; ``port`` is 0.
    fault : ``LinkFault``, constant over a slot, reset value OK: what the DL is told.
    sent_data, sent_control, sent_marker : pulses at the end of a slot: a DL flit; a control flit; one of these that
        begins with a Start sequence.
    starved : pulse at the end of a slot in which the DL owed a flit.
    """

    def __init__(self, config: PhyConfig):
        self._blocks = config.blocks_per_word
        self._words = BLOCKS_PER_FLIT // self._blocks
        super().__init__(
            {
                "rate": In(PortRate, init=PortRate.of(config.rate)),
                "beat": In(stream.Signature(tx_word_layout(config.blocks_per_word))),
                "link_fault": In(LinkFault),
                "blocks": Out(stream.Signature(blocks_layout(config.blocks_per_word))),
                "fault": Out(LinkFault),
                "sent_data": Out(1),
                "sent_control": Out(1),
                "sent_marker": Out(1),
                "starved": Out(1),
            }
        )
        self.schedule = SlotSchedule(config)
        self.slot_beat = Signal(range(self._words))
        self.flit_after = Signal()
        self.lost_after = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.schedule = schedule = self.schedule
        word, offered = self.slot_beat, self.beat.p
        first, last = word == 0, word == self._words - 1
        flit, lost, starved = Signal(), Signal(), Signal()
        flit_after, lost_after, starved_after = self.flit_after, self.lost_after, Signal()
        room, step, slot_end = Signal(), Signal(), Signal()
        m.d.comb += [flit.eq(flit_after), lost.eq(lost_after), starved.eq(starved_after)]
        with m.If(first):
            free = ~schedule.control & (self.fault == LinkFault.OK)
            whole = self.beat.valid & offered.first
            m.d.comb += [
                flit.eq(free & whole & (offered.kind == TxKind.DATA)),
                lost.eq(
                    self.beat.valid & ((self.fault != LinkFault.OK) | ~offered.first | (offered.kind != TxKind.DATA))
                ),
                starved.eq(free & ~self.beat.valid),
            ]
        m.d.comb += [
            room.eq(~self.blocks.valid | self.blocks.ready),
            step.eq(room & (self.beat.valid | ~flit)),
            slot_end.eq(step & last),
            self.beat.ready.eq(room & (flit | lost)),
            schedule.slot_end.eq(slot_end),
            schedule.rate.eq(self.rate),
            self.sent_data.eq(slot_end & flit),
            self.sent_control.eq(slot_end & ~flit),
            self.sent_marker.eq(slot_end & schedule.marker),
            self.starved.eq(slot_end & starved),
        ]
        contract(m, first | ~flit | self.beat.valid, "the DL has every beat of a flit that it has begun")
        with m.If(step):
            m.d.sync += [
                word.eq(Mux(last, 0, word + 1)),
                flit_after.eq(flit),
                lost_after.eq(lost & ~(self.beat.valid & offered.last)),
                starved_after.eq(starved),
            ]
        self._fault(m, slot_end)

        blocks = Signal(self.blocks.p.blocks.shape())
        m.d.comb += blocks.eq(data_blocks(offered.data, self._blocks))
        with m.If(~flit):
            m.d.comb += blocks.eq(
                Mux(
                    schedule.marker & (word < START_BLOCKS // self._blocks),
                    self._word_of(START_BLOCK),
                    Mux(self.fault == LinkFault.LOCAL, self._word_of(REMOTE_FAULT_BLOCK), self._word_of(IDLE_BLOCK)),
                )
            )
        held = Signal.like(blocks, reset_less=True)
        m.d.comb += self.blocks.p.blocks.eq(held)
        with m.If(room):
            m.d.sync += [self.blocks.valid.eq(step), held.eq(blocks)]
        return m

    def _word_of(self, block: int) -> Value:
        return Const(block, BLOCK_BITS).replicate(self._blocks)

    def _fault(self, m, slot_end):
        """The fault of the slot to come, one that has gone again within this slot included."""
        seen, newest = Signal(LinkFault), Signal(LinkFault)
        m.d.comb += newest.eq(seen)
        with m.If(self.link_fault != LinkFault.OK):
            m.d.comb += newest.eq(self.link_fault)
        m.d.sync += seen.eq(newest)
        with m.If(slot_end):
            m.d.sync += [self.fault.eq(newest), seen.eq(LinkFault.OK)]
