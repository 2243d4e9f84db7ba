"""Registers of a lane of ``bert``."""

from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.phy.lane_registers import lane_setting_fields, lane_status_fields

__all__ = ["ORDER", "lane_registers"]

ORDER = 31
"""Of the sequence on every lane."""


def lane_registers(width: int, line_rate: int) -> RegisterMap:
    """The map of a lane with words of ``width`` bits at ``line_rate`` bit/s."""
    return RegisterMap(
        "bert_lane",
        (
            Register(
                "control",
                0x00,
                (
                    *lane_setting_fields(loopback=4, tx_invert=8, rx_invert=9, reset=12),
                    Field("clear", "13", Access.RW, 0, "Holds errors and words at 0."),
                ),
                "Settings of the lane.",
            ),
            Register(
                "inject",
                0x04,
                (Field("error", "0", Access.GO, 0, "One bit goes out wrong."),),
                "To see that errors are counted.",
            ),
            Register(
                "status",
                0x08,
                lane_status_fields(
                    Field("locked", "4", Access.RO, 0, "The checker follows the sequence."),
                ),
                "The lane as it is.",
            ),
            Register(
                "events",
                0x0C,
                (
                    Field("ready_lost", "0", Access.W1C, 0, "Words were no longer received."),
                    Field("locked_lost", "1", Access.W1C, 0, "The checker no longer followed the sequence."),
                    Field("error", "2", Access.W1C, 0, "A bit was wrong."),
                ),
                "What has happened.",
            ),
            Register(
                "errors",
                0x10,
                (Field("bits", "31:0", Access.RO, 0, "Stays at its largest value."),),
                "Wrong bits.",
            ),
            Register(
                "words",
                0x14,
                (Field("thousands", "31:0", Access.RO, 0, "Units of 1024 words; wraps around."),),
                "Words that were compared.",
            ),
            Register(
                "tx_clock",
                0x18,
                (Field("khz", "19:0", Access.RO, 0, "In kHz; 0 without clock."),),
                "Measured frequency of the words that are sent.",
            ),
            Register(
                "rx_clock",
                0x1C,
                (Field("khz", "19:0", Access.RO, 0, "In kHz; 0 without clock."),),
                "Measured frequency of the words that are received.",
            ),
            Register(
                "line",
                0x20,
                (
                    Field("width", "7:0", Access.CONSTANT, width, "Bits of a word."),
                    Field("rate", "23:8", Access.CONSTANT, line_rate // 1_000_000, "Line rate in Mb/s."),
                    Field("order", "29:24", Access.CONSTANT, ORDER, "Of the sequence: PRBS31."),
                ),
                "How the lane was built.",
            ),
        ),
        "A lane of the bit-error test.",
    )
