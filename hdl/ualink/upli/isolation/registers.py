"""The registers of an Accelerator's Originator in Isolation Mode (UALink_200 §3.1.3)."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, BusSignature, Field, Register, RegisterMap
from ualink.upli.isolation.isolation import IsolationControlSignature, IsolationStatusSignature

__all__ = ["ISOLATION_REGISTERS", "IsolationRegisterBlock"]

_CAUSES = {
    "time_out": "A watchdog was over its limit",
    "isolate": "A Write Response with status ISOLATE came",
    "command": "enter",
}

ISOLATION_REGISTERS = RegisterMap(
    "isolation",
    (
        Register(
            "watchdog",
            0x00,
            (Field("limit", "30:0", Access.RW, 0, "Cycles that a Request may be outstanding; 0: for ever."),),
            "When an unanswered Request isolates the Originator.",
        ),
        Register("enter", 0x04, (Field("start", "0", Access.GO, 0, "Begin Isolation."),), "Into Isolation."),
        Register(
            "clear",
            0x08,
            (Field("start", "0", Access.GO, 0, "Leave it; isolated falls when all dummies are out."),),
            "Out of Isolation.",
        ),
        Register(
            "status",
            0x0C,
            (
                Field("isolated", "0", Access.RO, 0, "No Request goes out, no Response comes in."),
                *(
                    Field(f"cause_{name}", str(4 + bit), Access.RO, 0, f"Isolation was entered by this: {doc}.")
                    for bit, (name, doc) in enumerate(_CAUSES.items())
                ),
                Field("strays", "15:8", Access.RO, 0, "Beats of Responses without a Request; at most 255."),
                Field("tag", "26:16", Access.RO, 0, "Tag of the Request whose watchdog was over its limit last."),
                Field("port", "29:28", Access.RO, 0, "Its port."),
            ),
            "The Originator now.",
        ),
        Register(
            "events",
            0x10,
            (Field("isolated", "0", Access.W1C, 0, "Isolation began."),),
            "What has happened since it was last cleared.",
        ),
    ),
    "Isolation Mode of an Accelerator's Originator (UALink_200 §3.1.3).",
)


class IsolationRegisterBlock(wiring.Component):
    """What firmware sets and sees of an ``Isolation``.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    pending : the events that are set, as of ``RegisterBlock``.
    control, status : to ``Isolation``.
    """

    registers = ISOLATION_REGISTERS
    """The register map."""

    def __init__(self):
        super().__init__(
            {
                "bus": In(BusSignature(ISOLATION_REGISTERS.address_bits)),
                "pending": Out(ISOLATION_REGISTERS.event_bits),
                "control": Out(IsolationControlSignature()),
                "status": In(IsolationStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(ISOLATION_REGISTERS)
        connect(m, flipped(self.bus), block.bus)
        shown, status = block.status, self.status
        m.d.comb += [
            block.here.eq(1),
            self.pending.eq(block.pending),
            self.control.limit.eq(block.watchdog.limit),
            self.control.enter.eq(block.enter.start),
            self.control.clear.eq(block.clear.start),
            block.enter.start_done.eq(1),
            block.clear.start_done.eq(1),
            block.events.isolated.eq(status.event),
        ]
        m.d.comb += [getattr(shown, name).eq(getattr(status, name)) for name in ("isolated", "strays", "tag", "port")]
        m.d.comb += [getattr(shown, f"cause_{name}").eq(status.cause[name]) for name in _CAUSES]
        return m
