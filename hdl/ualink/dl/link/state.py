"""DL link states (UALink_200 §6.7.1, Figure 6-23)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.dl.interface import LinkState
from ualink.phy.interface import SlotStatus, TxKind

__all__ = ["CONTROL_FLITS_TO_IDLE", "IDLE_LIMIT", "NOP_FLITS_TO_UP", "RECEIVED_FLITS_TO_UP", "LinkStateMachine"]

NOP_FLITS_TO_UP = 10
RECEIVED_FLITS_TO_UP = 2
CONTROL_FLITS_TO_IDLE = 4

IDLE_LIMIT = 1024
"""Flit times in DL Idle after which a partner that never showed control flits is no longer waited for."""


class LinkStateMachine(wiring.Component):
    """Moves between Fault, Idle, NOP and Up at the ends of transmitted flit slots, so that no flit is cut.

    The standard does not say when Idle may be left again. Here (ruling A-23 (DL)) it lasts ``idle_flit_times`` or
    more, so that the partner surely sees four control flits, and until the partner has shown four consecutive control
    flits itself: then none of its flits of the time before can come any more and be taken for new ones. A partner
    that goes on sending flits (it waits in NOP, while this side alone was reset) is waited for ``IDLE_LIMIT`` flit
    times.

    Parameters
    ----------
    idle_flit_times : least stay in Idle, 4..255 transmitted slots.

    Members
    -------
    local_fault, remote_fault : from the RS; each moves any state to Fault, before every other event.
    enable : the layer above lets the link leave Idle.
    slot_end : a transmitted flit slot ends.
    ended, status : a received slot has been judged.
    containment : pulse; error containment event, to Idle from NOP and Up.
    time_out : with ``slot_end``: forward-progress time-out, to Idle from Up.
    state : ``LinkState``, reset value FAULT.
    next_kind : combinational: what slots that begin in the next cycle carry.
    flits : NOP or Up: DL flits are sent and received flits count.
    up : the link is up.
    left_up : pulse: the link goes down.
    flush : everything that the link remembers is reset; in Fault and in the first slot of Idle (ruling A-22 (DL)).
    """

    def __init__(self, idle_flit_times: int = 16):
        check_integer("idle_flit_times", idle_flit_times, 4, 255)
        self._idle_flit_times = idle_flit_times
        super().__init__(
            {
                "local_fault": In(1),
                "remote_fault": In(1),
                "enable": In(1),
                "slot_end": In(1),
                "ended": In(1),
                "status": In(SlotStatus),
                "containment": In(1),
                "time_out": In(1),
                "state": Out(LinkState),
                "next_kind": Out(TxKind),
                "flits": Out(1),
                "up": Out(1),
                "left_up": Out(1),
                "flush": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        next_state = Signal(LinkState)
        fault = Signal()
        idle_slots = Signal(range(IDLE_LIMIT))
        # The slot that ends is that of the least stay in Idle or a later one; that of the longest wait. Registers: what
        # a slot carries does not wait for a comparison.
        rested, waited = Signal(), Signal()
        nop_flits = Signal(range(NOP_FLITS_TO_UP))
        good_run = Signal(range(RECEIVED_FLITS_TO_UP + 1))
        control_run = Signal(range(CONTROL_FLITS_TO_IDLE + 1))
        partner_down = Signal()
        contained = Signal()

        m.d.comb += [
            fault.eq(self.local_fault | self.remote_fault),
            self.up.eq(self.state == LinkState.UP),
            self.left_up.eq(self.slot_end & self.up & (next_state != LinkState.UP)),
            self.flits.eq(self.up | (self.state == LinkState.NOP)),
            next_state.eq(self.state),
        ]
        # States as seen at the end of a slot; the slot that ends counts.
        to_nop = self.enable & ((rested & partner_down) | waited)
        to_up = (nop_flits == NOP_FLITS_TO_UP - 1) & (good_run == RECEIVED_FLITS_TO_UP)
        corrupt = contained | self.containment
        to_idle = (control_run == CONTROL_FLITS_TO_IDLE) | corrupt | self.time_out
        with m.Switch(self.state):
            with m.Case(LinkState.FAULT):
                m.d.comb += next_state.eq(LinkState.IDLE)
            with m.Case(LinkState.IDLE):
                m.d.comb += next_state.eq(Mux(to_nop, LinkState.NOP, LinkState.IDLE))
            with m.Case(LinkState.NOP):
                m.d.comb += next_state.eq(Mux(to_up, LinkState.UP, LinkState.NOP))
                # Nothing follows an uncorrectable error, NOP flits neither (UALink_200 §6.7.4.2).
                with m.If(corrupt):
                    m.d.comb += next_state.eq(LinkState.IDLE)
            with m.Case(LinkState.UP):
                m.d.comb += next_state.eq(Mux(to_idle, LinkState.IDLE, LinkState.UP))
        with m.If(fault):
            m.d.comb += next_state.eq(LinkState.FAULT)

        with m.Switch(next_state):
            with m.Case(LinkState.FAULT):
                m.d.comb += self.next_kind.eq(Mux(self.local_fault, TxKind.REMOTE_FAULT, TxKind.IDLE))
            with m.Case(LinkState.IDLE):
                m.d.comb += self.next_kind.eq(TxKind.IDLE)
            with m.Default():
                m.d.comb += self.next_kind.eq(TxKind.DATA)

        # Runs of received slots. Control slots do not break a run of good flits, a bad flit does (ruling A-24 (DL)).
        with m.If(self.ended & (self.status == SlotStatus.CONTROL)):
            m.d.sync += control_run.eq(control_run + (control_run != CONTROL_FLITS_TO_IDLE))
        with m.Elif(self.ended):
            m.d.sync += control_run.eq(0)
            with m.If(self.status == SlotStatus.BAD):
                m.d.sync += good_run.eq(0)
            with m.Elif(good_run != RECEIVED_FLITS_TO_UP):
                m.d.sync += good_run.eq(good_run + 1)
        with m.If(~self.flits):
            m.d.sync += [good_run.eq(0), contained.eq(0)]
            with m.If(control_run == CONTROL_FLITS_TO_IDLE):
                m.d.sync += partner_down.eq(1)
        with m.Else():
            m.d.sync += contained.eq(corrupt)

        with m.If(self.slot_end):
            m.d.sync += [
                self.state.eq(next_state),
                # Idle that was Idle before this slot ended has had its first slot.
                self.flush.eq(
                    (next_state == LinkState.FAULT) | ((next_state == LinkState.IDLE) & (self.state != LinkState.IDLE))
                ),
            ]
            with m.If(self.state != LinkState.IDLE):
                m.d.sync += [idle_slots.eq(0), rested.eq(0), waited.eq(0)]
            with m.Elif(~waited):
                m.d.sync += idle_slots.eq(idle_slots + 1)
                m.d.sync += [
                    rested.eq(rested | (idle_slots == self._idle_flit_times - 2)),
                    waited.eq(idle_slots == IDLE_LIMIT - 2),
                ]
            with m.If(self.state != LinkState.NOP):
                m.d.sync += nop_flits.eq(0)
            with m.Elif(nop_flits != NOP_FLITS_TO_UP - 1):
                m.d.sync += nop_flits.eq(nop_flits + 1)
            with m.If(self.flits & ((next_state == LinkState.FAULT) | (next_state == LinkState.IDLE))):
                # Only what the partner shows from here on tells that it has noticed.
                m.d.sync += [control_run.eq(0), partner_down.eq(0)]
        return m
