"""What crosses between PCS and SERDES: one lane's words and its settings."""

from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice

__all__ = [
    "LANE_WIDTHS",
    "RETRIES_BITS",
    "LaneSettingsSignature",
    "LaneStatusSignature",
    "LaneWordsSignature",
    "Loopback",
    "SerdesLaneSignature",
    "check_width",
]

LANE_WIDTHS = (10, 16, 20, 32, 40, 64)
"""Bits of a lane word."""

RETRIES_BITS = 8


class Loopback(enum.Enum, shape=2):
    """Where a lane turns round: nowhere; near end: what is sent is received, far end: what is received is sent."""

    NONE = 0
    NEAR_END = 1
    FAR_END = 2


def check_width(width: int) -> None:
    """``ConfigError`` unless lane words may have ``width`` bits."""
    check_choice("width", width, LANE_WIDTHS)


class LaneWordsSignature(wiring.Signature):
    """A PCS's view of the words of one lane: one in each direction in every cycle of the lane's two clocks.

    Parameters
    ----------
    width : bits of a word, one of ``LANE_WIDTHS``; ConfigError otherwise.

    Members
    -------
    tx_data : ``width`` bits, tx domain; bit 0 is sent first.
    rx_data : ``width`` bits, rx domain; bit 0 was received first, at any phase: words are not aligned.
    tx_ready : tx domain: the clock is stable and words are sent.
    rx_ready : rx domain: there is a signal and the clock is recovered from it.
    """

    def __init__(self, width: int):
        check_width(width)
        super().__init__({"tx_data": Out(width), "rx_data": In(width), "tx_ready": In(1), "rx_ready": In(1)})


class LaneSettingsSignature(wiring.Signature):
    """What firmware sets of one lane of a SERDES, sync domain.

    Members
    -------
    loopback : ``Loopback``.
    reset : 1 holds the lane's receiver in reset; falling starts its sequence again.
    tx_invert, rx_invert : the two wires of the pair are crossed.
    """

    def __init__(self):
        super().__init__({"loopback": Out(Loopback), "reset": Out(1), "tx_invert": Out(1), "rx_invert": Out(1)})


class SerdesLaneSignature(wiring.Signature):
    """A PCS's view of one lane of a SERDES: its words, and its settings.

    The SERDES drives clock and reset of the two domains of lane l, ``tx<l>`` and ``rx<l>``; each is in reset until its
    clock is stable.

    Parameters
    ----------
    width : bits of a word, one of ``LANE_WIDTHS``; ConfigError otherwise.

    Members
    -------
    tx_data, rx_data, tx_ready, rx_ready : as of ``LaneWordsSignature``.
    loopback, reset, tx_invert, rx_invert : as of ``LaneSettingsSignature``.
    """

    def __init__(self, width: int):
        self.width = width
        super().__init__({**dict(LaneWordsSignature(width).members), **dict(LaneSettingsSignature().members)})


class LaneStatusSignature(wiring.Signature):
    """What a SERDES shows of a lane, sync domain.

    ``pll_locked``: the transmit PLL is locked; ``signal``: there is one at the receiver; ``locked``: the receiver's
    clock is locked to it; ``ready``: words are received; ``pll_retries``, ``retries``: how often the sequences of PLL
    and receiver began anew, 8 bit each, stay at 255.
    """

    def __init__(self):
        super().__init__(
            {
                "pll_locked": Out(1),
                "signal": Out(1),
                "locked": Out(1),
                "ready": Out(1),
                "pll_retries": Out(RETRIES_BITS),
                "retries": Out(RETRIES_BITS),
            }
        )
