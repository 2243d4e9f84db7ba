"""Fields of registers that every lane has, whatever it carries: settings and status of its SERDES."""

from ualink.csr.table import Access, Field
from ualink.phy.serdes.interface import Loopback

__all__ = ["lane_setting_fields", "lane_status_fields"]

_LOOPBACKS = tuple((loopback.name.lower(), loopback.value) for loopback in Loopback)

_STATUS = (
    Field("pll_locked", "0", Access.RO, 0, "The transmit PLL is locked: there is a reference clock."),
    Field("signal", "1", Access.RO, 0, "There is a signal at the receiver."),
    Field("cdr_locked", "2", Access.RO, 0, "The receiver's clock is locked to the signal."),
    Field("ready", "3", Access.RO, 0, "Words are received."),
    Field("pll_retries", "15:8", Access.RO, 0, "Attempts at the PLL without lock; stays at 255."),
    Field("retries", "23:16", Access.RO, 0, "Attempts at the receiver without lock; stays at 255."),
)


def lane_status_fields(*others: Field) -> tuple[Field, ...]:
    """What ``LaneStatusSignature`` shows, in bits 3:0 and 23:8 of a register, and ``others`` beside it."""
    return tuple(sorted((*_STATUS, *others), key=lambda field: field.low))


def lane_setting_fields(*, loopback: int, tx_invert: int, rx_invert: int, reset: int) -> tuple[Field, ...]:
    """The settings of ``SerdesLaneSignature`` that firmware makes; the arguments are their lowest bits."""
    return (
        Field(
            "loopback",
            f"{loopback + 1}:{loopback}",
            Access.RW,
            0,
            "Where the lane turns round.",
            range(len(Loopback)),
            _LOOPBACKS,
        ),
        Field("tx_invert", str(tx_invert), Access.RW, 0, "The two wires of the transmitter are crossed."),
        Field("rx_invert", str(rx_invert), Access.RW, 0, "The two wires of the receiver are crossed."),
        Field("reset", str(reset), Access.RW, 0, "Holds the receiver in reset."),
    )
