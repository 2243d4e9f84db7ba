"""The registers that choose how many ports a station uses (UALink_200 §7.1, §10.8)."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.bifurcation import BifurcationMode, BifurcationSignature
from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, BusSignature, Field, Register, RegisterMap

__all__ = ["BIFURCATION_REGISTERS", "BifurcationRegisterBlock"]

_NAMES = tuple((number.name.lower(), number.value) for number in BifurcationMode)
_RESET = BifurcationMode.FOUR_X1.value

BIFURCATION_REGISTERS = RegisterMap(
    "station",
    (
        Register(
            "bifurcation",
            0x00,
            (
                Field("wanted", "1:0", Access.RW, _RESET, "Links that are to be there.", range(len(_NAMES)), _NAMES),
                Field("in_force", "5:4", Access.RO, _RESET, "Links that there are.", values=_NAMES),
                Field("pending", "8", Access.RO, 0, "What is wanted is not in force yet."),
                Field("links_down", "9", Access.RO, 0, "All data links are in DL Fault or DL Idle."),
            ),
            "The four lanes as one x4, two x2 or four x1 links (§2.5, §10.2). Another number waits until all links are "
            "down and every beat at UPLI has been taken; then the station is as after reset, with that number, but for "
            "what registers hold, and UPLI is connected anew. Ports from that number on are there no more. Sizes of "
            "TxReplay and markers that the registers of a port show are those of four x1: one of two x2 has twice as "
            "much, a x4 four times.",
        ),
        Register(
            "events",
            0x04,
            (
                Field(
                    "config_error",
                    "0",
                    Access.W1C,
                    0,
                    "A write had a value that is not allowed; its register is as it was before.",
                ),
                Field("changed", "1", Access.W1C, 0, "Another number came into force."),
            ),
            "What has happened since it was last cleared.",
        ),
    ),
    "The ports of a station, where their number is chosen at run time.",
)


class BifurcationRegisterBlock(wiring.Component):
    """What firmware sets and sees of the number of ports of a ``Station``.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    pending : the events that are set, as of ``RegisterBlock``.
    choice : ``BifurcationSignature``, to the station.
    """

    registers = BIFURCATION_REGISTERS
    """The register map."""

    def __init__(self):
        super().__init__(
            {
                "bus": In(BusSignature(BIFURCATION_REGISTERS.address_bits)),
                "pending": Out(BIFURCATION_REGISTERS.event_bits),
                "choice": Out(BifurcationSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(BIFURCATION_REGISTERS)
        connect(m, flipped(self.bus), block.bus)
        shown, choice = block.bifurcation, self.choice
        before = Signal.like(Value.cast(choice.in_force), init=_RESET)
        m.d.sync += before.eq(choice.in_force)
        m.d.comb += [
            block.here.eq(1),
            self.pending.eq(block.pending),
            choice.wanted.eq(shown.wanted),
            shown.in_force.eq(choice.in_force),
            shown.pending.eq(choice.pending),
            shown.links_down.eq(choice.links_down),
            block.events.config_error.eq(block.refused),
            block.events.changed.eq(before != Value.cast(choice.in_force)),
        ]
        return m
