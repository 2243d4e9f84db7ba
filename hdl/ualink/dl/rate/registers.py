"""The registers of a TL clock that can change its rate (UALink_200 §6.5.4)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, BusSignature, Field, Register, RegisterMap
from ualink.dl.registers.firmware import FULL_RATE
from ualink.dl.registers.map import LOWEST_RATE

__all__ = ["RATE_REGISTERS", "RateRegisterBlock"]

ACK_TIME_OUT = 15_625
"""10 us in cycles of 1562.5 MHz."""

RATE_REGISTERS = RegisterMap(
    "tl_clock",
    (
        Register(
            "rate_control",
            0x00,
            (Field("may_change", "0", Access.RW, 0, "An accelerator, whose TL clock may change (§6.5.4)."),),
            "What this device is.",
        ),
        Register(
            "rate_change",
            0x04,
            (
                Field("start", "0", Access.GO, 0, "Change the TL clock; done when it has changed or failed."),
                Field("busy", "1", Access.RO, 0, "The TL clock is being changed."),
                Field("done", "2", Access.RO, 0, "The last change was made."),
                Field("failed", "3", Access.RO, 0, "The last change was refused or given up."),
                Field("time_out", "4", Access.RO, 0, "An Ack is overdue; nothing ends by itself (ruling A-39 (DL))."),
                Field(
                    "target_rate",
                    "31:16",
                    Access.RW,
                    FULL_RATE,
                    "TL clock afterwards.",
                    range(LOWEST_RATE, FULL_RATE + 1),
                ),
            ),
            "Change by way of the reference clock, with notice to every partner.",
        ),
        Register(
            "rate_abort",
            0x08,
            (Field("start", "0", Access.GO, 0, "Give up a change; done when none is going on."),),
            "Way out of a change that a partner does not acknowledge.",
        ),
        Register(
            "ack_time_out",
            0x0C,
            (Field("cycles", "23:0", Access.RW, ACK_TIME_OUT, "Cycles after which an Ack is overdue; 0: never."),),
            "When time_out rises.",
        ),
        Register(
            "tl_rate",
            0x10,
            (Field("rate", "15:0", Access.RO, FULL_RATE, "TL clock of this device."),),
            "The rate now.",
        ),
        Register(
            "events",
            0x14,
            (
                Field("overflow", "3:0", Access.W1C, 0, "TL flits of this port came faster than the partner was told."),
                Field("ended", "4", Access.W1C, 0, "A change was made, refused or given up."),
                Field("time_out", "5", Access.W1C, 0, "An Ack became overdue."),
            ),
            "What has happened since it was last cleared.",
        ),
    ),
    "TL clock of a station (UALink_200 §6.5.4). Rates are in units of 50 kHz.",
)


class RateRegisterBlock(wiring.Component):
    """What firmware sets and sees of ``RateChange``; all members but these are called as they are there.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    pending : the events that are set, as of ``RegisterBlock``.
    overflow : a bit per port, as of ``SeparateLinks``.
    """

    registers = RATE_REGISTERS
    """The register map."""

    def __init__(self):
        super().__init__(
            {
                "bus": In(BusSignature(RATE_REGISTERS.address_bits)),
                "pending": Out(RATE_REGISTERS.event_bits),
                "overflow": In(4),
                "may_change": Out(1),
                "change": Out(1),
                "target_rate": Out(16, init=FULL_RATE),
                "abort": Out(1),
                "time_out_cycles": Out(24, init=ACK_TIME_OUT),
                "busy": In(1),
                "done": In(1),
                "failed": In(1),
                "time_out": In(1),
                "rate": In(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(RATE_REGISTERS)
        connect(m, flipped(self.bus), block.bus)
        change, changing = block.rate_change, Signal()
        was_busy, was_late, was_lost = Signal(), Signal(), Signal.like(self.overflow)
        m.d.sync += [
            changing.eq(change.start),
            was_busy.eq(self.busy),
            was_late.eq(self.time_out),
            was_lost.eq(self.overflow),
        ]
        m.d.comb += [
            block.here.eq(1),
            self.pending.eq(block.pending),
            block.events.overflow.eq(self.overflow & ~was_lost),
            # One that is refused was never busy, one that firmware has withdrawn is no request any more.
            block.events.ended.eq(~self.busy & (was_busy | (changing & change.start))),
            block.events.time_out.eq(self.time_out & ~was_late),
            self.may_change.eq(block.rate_control.may_change),
            self.change.eq(change.start),
            self.target_rate.eq(change.target_rate),
            self.abort.eq(block.rate_abort.start),
            self.time_out_cycles.eq(block.ack_time_out.cycles),
            # A refused change is never under way, one that is made from the cycle after the request on.
            change.start_done.eq(changing & ~self.busy),
            block.rate_abort.start_done.eq(~self.busy),
            change.busy.eq(self.busy),
            change.done.eq(self.done),
            change.failed.eq(self.failed),
            change.time_out.eq(self.time_out),
            block.tl_rate.rate.eq(self.rate),
        ]
        return m
