"""The registers of the two UPLI agents of a station (UALink_200 §3.1.2)."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, BusSignature, Field, Register, RegisterMap

__all__ = ["AGENTS", "AGENT_REGISTERS", "AgentRegisterBlock", "errors_happened", "errors_seen"]

AGENTS = {
    "completer": "The Completer, which faces the device's UPLI Originator.",
    "originator": "The Originator, which faces the device's UPLI Completer.",
}

_ERRORS = ("data_error", "control_error", "protocol_error")


def errors_seen() -> tuple[Field, ...]:
    """Fields of a status, from bit 1 on: which errors an agent has seen (UALink_200 §3.1.2)."""
    return tuple(
        Field(name, str(1 + bit), Access.RO, 0, f"A {name.replace('_', ' ')} was seen since clear.")
        for bit, name in enumerate(_ERRORS)
    )


def errors_happened() -> tuple[Field, ...]:
    """The events of the same errors, in the same bits."""
    return tuple(
        Field(name, str(1 + bit), Access.W1C, 0, f"A {name.replace('_', ' ')} happened.")
        for bit, name in enumerate(_ERRORS)
    )


def _registers(number: int, agent: str, doc: str) -> tuple[Register, ...]:
    return (
        Register(
            f"{agent}_status",
            16 * number,
            (Field("connected", "0", Access.RO, 0, "Both directions of the interface are open."), *errors_seen()),
            doc,
        ),
        Register(f"{agent}_events", 16 * number + 4, errors_happened(), "Each error, also one that comes again."),
        Register(
            f"{agent}_clear",
            16 * number + 8,
            (Field("start", "0", Access.GO, 0, "Forget the errors shown."),),
            "Out of an error.",
        ),
    )


AGENT_REGISTERS = RegisterMap(
    "upli_agents",
    tuple(register for n, (agent, doc) in enumerate(AGENTS.items()) for register in _registers(n, agent, doc)),
    "The two UPLI agents of a station (UALink_200 §3.1.2).",
)


class AgentRegisterBlock(wiring.Component):
    """What firmware sets and sees of the agents of a ``Station``.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    pending : the events that are set, as of ``RegisterBlock``.
    <agent>_connected, <agent>_data_error, … : 1 bit, as of ``AgentStatusSignature``, of "completer" and "originator".
    <agent>_data_event, … : 1 bit, high for one cycle after each such error.
    <agent>_clear_errors : 1 bit, reset value 0, pulse.
    """

    registers = AGENT_REGISTERS
    """The register map."""

    def __init__(self):
        members: dict[str, wiring.Member] = {
            "bus": In(BusSignature(AGENT_REGISTERS.address_bits)),
            "pending": Out(AGENT_REGISTERS.event_bits),
        }
        for agent in AGENTS:
            members[f"{agent}_clear_errors"] = Out(1)
            for name in ("connected", *_ERRORS, *(error.replace("error", "event") for error in _ERRORS)):
                members[f"{agent}_{name}"] = In(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(AGENT_REGISTERS)
        connect(m, flipped(self.bus), block.bus)
        m.d.comb += [block.here.eq(1), self.pending.eq(block.pending)]
        for agent in AGENTS:
            status, events, clear = (getattr(block, f"{agent}_{name}") for name in ("status", "events", "clear"))
            m.d.comb += [
                status.connected.eq(getattr(self, f"{agent}_connected")),
                getattr(self, f"{agent}_clear_errors").eq(clear.start),
                clear.start_done.eq(1),
            ]
            for name in _ERRORS:
                m.d.comb += [
                    getattr(status, name).eq(getattr(self, f"{agent}_{name}")),
                    getattr(events, name).eq(getattr(self, f"{agent}_{name.replace('error', 'event')}")),
                ]
        return m
