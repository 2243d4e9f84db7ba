"""The registers of endless TL flits, as firmware sees them."""

from ualink.csr.table import Access, Field, Register, RegisterMap

from .source import PACE_BITS

__all__ = ["COUNTERS", "flit_registers"]

COUNTERS = {
    "sent": "TL flits that the data link took.",
    "received": "TL flits that came and were compared.",
    "wrong": "Of those, flits that were not the one that had to come.",
    "damaged": "Of those, flits with wrong parity or marked as corrupt.",
}
"""Counters of 64 bits, and what they count."""


def flit_registers() -> RegisterMap:
    """Registers of ``FlitTraffic``."""
    full = (1 << PACE_BITS) - 1
    halves = []
    for number, (name, doc) in enumerate(COUNTERS.items()):
        for half, which in enumerate(("low", "high")):
            count = Field("count", "31:0", Access.RO, 0, f"Bits {32 * half + 31}..{32 * half}.")
            halves.append(Register(f"{name}_{which}", 0x20 + 8 * number + 4 * half, (count,), doc, "snapshot"))
    return RegisterMap(
        "flits",
        (
            Register(
                "control",
                0x00,
                (
                    Field("enable", "0", Access.RW, 0, "Flits are made."),
                    Field("clear", "1", Access.RW, 0, "Holds counters and the first wrong flit at 0."),
                    Field("pace", "31:16", Access.RW, full, "Of 65,536 cycles, pace + 1 may offer a new flit."),
                ),
                "What is made.",
            ),
            Register(
                "status",
                0x04,
                (Field("online", "0", Access.RO, 0, "Channel 0 of the data link is online."),),
                "The link as it is.",
            ),
            Register(
                "events",
                0x08,
                (
                    Field("config_error", "0", Access.W1C, 0, "A write was refused."),
                    Field("wrong", "1", Access.W1C, 0, "A flit was another one than had to come."),
                    Field("damaged", "2", Access.W1C, 0, "A flit had wrong parity or was marked as corrupt."),
                    Field("restarted", "3", Access.W1C, 0, "The link came online: flits begin with 0 again."),
                ),
                "What has happened.",
            ),
            Register(
                "first_wrong",
                0x0C,
                (Field("number", "31:0", Access.RO, 0, "Of the flit that had to come; 0 also without one."),),
                "The first wrong or damaged flit.",
            ),
            Register(
                "snapshot",
                0x10,
                (Field("start", "0", Access.GO, 0, "Copy all counters as they are in this cycle; done at once."),),
                "The counters show the copy.",
            ),
            *halves,
        ),
        "Endless TL flits over a data link alone.",
    )
