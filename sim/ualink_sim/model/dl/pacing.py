"""Tx pacing of TL flits and the change of an accelerator's UPLI clock (UALink_200 §6.2.4, §6.4.2.2, §6.5).

Rates count units of 50 kHz of a TL clock that moves one normalised beat per cycle: 512, 256 or 128 bits on a port of
800, 400 or 200 Gb/s. One such beat of line rate takes one tick of 1562.5 MHz, whatever the port.
"""

from collections.abc import Iterator
from fractions import Fraction

from .messages import TLRateNotification

__all__ = [
    "FULL_RATE",
    "REFERENCE_RATE",
    "Accelerator",
    "Device",
    "Pacer",
    "RateError",
    "normalised_rate",
    "pacing_rate",
]

RATE_UNIT_HZ = 50_000
FULL_RATE = 31_250
REFERENCE_RATE = 3_125
NORMAL_WIDTH = {800: 512, 400: 256, 200: 128}
"""Bits of a beat by the Gb/s of the port; at 1562.5 MHz each is exactly line rate."""


class RateError(ValueError):
    """A rate that no port may run at, or a clock that may not change."""


def normalised_rate(clock_hz: int, width: int, gigabits: int) -> int:
    """Rate to announce for a TL that moves ``width`` bits per cycle of ``clock_hz`` on a port of ``gigabits`` Gb/s.

    Rounded down: a partner must not send faster than the clock.
    """
    if gigabits not in NORMAL_WIDTH:
        raise RateError(f"a port has 200, 400 or 800 Gb/s, not {gigabits}")
    rate = int(Fraction(clock_hz, RATE_UNIT_HZ) * Fraction(width, NORMAL_WIDTH[gigabits]))
    if rate < REFERENCE_RATE:
        raise RateError(f"rate {rate} is below the reference clock's, {REFERENCE_RATE}")
    return rate


def pacing_rate(*limits: int) -> int:
    """The lowest limit, within what pacing can do: every tick at most, the reference clock's rate at least."""
    return max(REFERENCE_RATE, min(FULL_RATE, *limits))


class Pacer:
    """Admits one TL flit per ``FULL_RATE`` of credit; every tick earns ``rate``, unless a flit could go and none came.

    So no more than the first flit is ever saved up. It starts with credit for one.
    """

    def __init__(self) -> None:
        self.credit = FULL_RATE

    def tick(self, wanted: bool, rate: int) -> bool:
        """One tick; True when the flit that is ``wanted`` goes."""
        ready = self.credit >= FULL_RATE
        if ready and not wanted:
            return False
        if ready:
            self.credit -= FULL_RATE
        self.credit += pacing_rate(rate)
        return ready


class Device:
    """Either end of a link towards its partner: a switch as it is, whose clock never changes."""

    def __init__(self) -> None:
        self.rate = FULL_RATE
        self.own_pace = FULL_RATE
        self.partner_rate = FULL_RATE

    @property
    def pace(self) -> int:
        """Rate at which TL flits are admitted."""
        return pacing_rate(self.own_pace, self.partner_rate)

    def receive(self, notification: TLRateNotification) -> TLRateNotification:
        """Take the partner's Request; returns the Ack, in which the rate is reserved."""
        self.partner_rate = notification.rate
        return TLRateNotification(ack=1)

    def change(self, target: int) -> Iterator[tuple]:
        """Only accelerators change the UPLI clock."""
        raise RateError("the UPLI clock of a switch is fixed")


class Accelerator(Device):
    """A device that may change its UPLI clock."""

    def change(self, target: int) -> Iterator[tuple]:
        """Steps a to i of UALink_200 §6.5.4, one at a time; what a step waits for is over when the next is asked for.

        ``("pace", rate)``, ``("send", notification)``, ``("ack",)``, ``("reference",)``, ``("program", rate)``,
        ``("pll",)``, ``("done",)``.
        """
        if target < REFERENCE_RATE:
            raise RateError(f"rate {target} is below the reference clock's, {REFERENCE_RATE}")
        self.own_pace = REFERENCE_RATE
        yield "pace", REFERENCE_RATE
        yield "send", TLRateNotification(rate=REFERENCE_RATE)
        yield ("ack",)
        self.rate = REFERENCE_RATE
        yield ("reference",)
        yield "program", target
        self.rate = target
        yield ("pll",)
        self.own_pace = target
        yield "pace", target
        yield "send", TLRateNotification(rate=target)
        yield ("ack",)
        yield ("done",)
