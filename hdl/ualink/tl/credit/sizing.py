"""How many credits a link needs for its full rate, and what rate fewer of them allow (UALink_200 §5.8).

A credit is away from its transmitter from the cycle in which a field claims it to the cycle in which it can be claimed
again. In that time the transmitter goes on claiming at the rate of the traffic, so it needs the credits of all fields
that it issues meanwhile. The numbers here are guarantees: each part of the way is taken at its longest.

Times are in cycles of the port, in each of which one TL flit may move; rates are per such cycle.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ualink.config import ConfigError, Credits, TLConfig

__all__ = ["DL_RATE", "CreditLoop", "Traffic", "allowed_rate", "full_rate_config", "full_rate_credits", "return_limit"]

DL_RATE = Fraction(157, 160)
"""TL flits per cycle that the DL takes at most: 157 of 160 sectors of a DL flit (UALink_200 §6.3)."""

HALF_FLITS_OF_A_BEAT = 2

MOST_RETURNED = {"req_cmd": 7, "rsp_cmd": 7, "req_data": 31, "rsp_data": 31}
"""Credits of one bucket that one Control half-flit returns at most (UALink_200 Table 5-38)."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What each Control half-flit of one direction carries when there is always enough to send.

    ``requests`` of them with ``request_beats`` beats each (0: Reads), and a byte-enable half-flit each if
    ``byte_enables``; ``responses`` with ``response_beats`` beats each (0: Write Responses). With ``authentication``
    each Control half-flit has an AuthTags half-flit.
    """

    requests: int = 0
    request_beats: int = 0
    byte_enables: bool = False
    responses: int = 0
    response_beats: int = 0
    authentication: bool = False

    def __post_init__(self):
        for name, most in (("requests", 4), ("request_beats", 4), ("responses", 8), ("response_beats", 4)):
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise ConfigError(f"traffic.{name} is {value!r}; it must be a whole number from 0 to {most}")
        if not self.requests + self.responses:
            raise ConfigError("traffic has neither requests nor responses")

    @property
    def flits(self) -> Fraction:
        """Flits from one Control half-flit to the next.

        It takes one half-flit, its tags one, its data two a beat, byte enables one a Request. Without data the other
        half-flit of its flit stays empty; with data the swap leaves none empty, except with authentication, where a
        swap flit carries no fields, so that an odd number of half-flits costs another half flit and an empty one.
        """
        data = HALF_FLITS_OF_A_BEAT * (self.requests * self.request_beats + self.responses * self.response_beats)
        if self.byte_enables:
            data += self.requests * (self.request_beats > 0)
        if self.authentication:
            return Fraction(1 + ceil(data / 2))
        return Fraction(max(2, 1 + data), 2)

    @property
    def spent(self) -> dict[str, tuple[int, int]]:
        """For each credit class: claims in a Control half-flit, and credits that each of them takes."""
        return {
            "req_cmd": (self.requests, 1),
            "rsp_cmd": (self.responses, 1),
            "req_data": (self.requests, self.request_beats),
            "rsp_data": (self.responses, self.response_beats),
        }


@dataclass(frozen=True, kw_only=True)
class CreditLoop:
    """What makes credits come home late, all in cycles.

    round_trip : from a field in the transmitter's flit register to the same of its data in the partner's receive
        buffers, and from an FC field in the partner's flit register to the credit counter: TL, DL and wire both ways.
    away : the longest time between two Control half-flits of the partner, on which FC fields ride: the data half-flits
        of a full Control half-flit, 8 Responses of 4 beats, are 65 half-flits with it.
    return_delay : ``TLConfig.credit_return_delay``.
    unload : a field and its data wait for this long at the receiver once they are complete, its stages included, and
        before that from the claim to the transmitter's flit register.
    requests_in_sight, responses_in_sight : fields that hold their credits while they wait to be packed.
    """

    round_trip: int
    return_delay: int = 16
    away: int = 34
    unload: int = 9
    requests_in_sight: int = 4
    responses_in_sight: int = 8


def return_limit(traffic: Traffic, loop: CreditLoop, rate: Fraction = DL_RATE) -> Fraction:
    """Part of the full rate of ``traffic``, 0 to 1, for which credits come home at all, however many there are.

    A Control half-flit returns 7 command and 31 data credits of a bucket at most. If the partner's come ``loop.away``
    cycles apart all the time, this is all that returns in so many cycles. Credits in more buckets raise the limit.
    """
    limit = Fraction(1)
    for name, (fields, amount) in traffic.spent.items():
        if fields and amount:
            limit = min(limit, MOST_RETURNED[name] * traffic.flits / (rate * fields * amount * loop.away))
    return limit


def _cycles(credit_class: str, traffic: Traffic, loop: CreditLoop, rate: Fraction) -> Fraction:
    """L, the longest time from the claim of a credit that is packed at once to the next claim of the same credit.

    The data of a field are all there when those of its Control half-flit are, ``traffic.flits`` later at the longest;
    the receiver frees the buffers ``unload`` later. The credit is overdue ``return_delay`` after that and leaves with
    the next Control half-flit of the partner, or a later one if more came between two of them than one takes.
    """
    fields, amount = traffic.spent[credit_class]
    between = (floor(loop.away / _period(traffic, loop, rate)) + 1) * fields * amount
    rides = ceil(Fraction(between, MOST_RETURNED[credit_class]))
    return loop.round_trip + traffic.flits / rate + loop.unload + loop.return_delay + rides * loop.away


def _period(traffic: Traffic, loop: CreditLoop, rate: Fraction) -> Fraction:
    """T, cycles from one Control half-flit to the next."""
    return traffic.flits / (rate * return_limit(traffic, loop, rate))


def full_rate_credits(traffic: Traffic, loop: CreditLoop, rate: Fraction = DL_RATE) -> dict[str, int]:
    """Credits of each class, in one bucket, with which ``traffic`` waits for none but those behind ``return_limit``.

    Control half-flits leave every T cycles, so the credits of ceil(L / T) of them at most are away when each returns
    within L cycles, those just claimed included. The fields in sight hold theirs before that.
    """
    credits = {}
    for name, (fields, amount) in traffic.spent.items():
        groups = ceil(_cycles(name, traffic, loop, rate) / _period(traffic, loop, rate))
        credits[name] = (groups * fields + _in_sight(name, loop) * (fields > 0)) * amount
    return credits


def allowed_rate(traffic: Traffic, loop: CreditLoop, credits: Mapping[str, int], rate: Fraction = DL_RATE) -> Fraction:
    """Part of the full rate of ``traffic``, 0 to 1, that ``credits`` of each class in one bucket are sure to allow.

    n credits serve floor(n / amount) fields at a time. Those beyond the fields in sight, but one at least, are away for
    L cycles at the longest, so that as many in L cycles may leave.
    """
    share = return_limit(traffic, loop, rate)
    for name, (fields, amount) in traffic.spent.items():
        if fields and amount:
            served = credits.get(name, 0) // amount
            moving = max(served - _in_sight(name, loop), min(served, 1))
            away = _cycles(name, traffic, loop, rate)
            share = min(share, moving * traffic.flits / (rate * fields * away))
    return share


def full_rate_config(config: TLConfig, traffic: Traffic, loop: CreditLoop) -> TLConfig:
    """``config`` with Pools for the full rate of ``traffic``, none smaller than a transfer of four beats needs."""
    least = {"req_cmd": 1, "rsp_cmd": 1, "req_data": 4, "rsp_data": 4}
    counts = full_rate_credits(traffic, loop)
    return config.replace(**{name: Credits(pool=max(counts[name], least[name])) for name in counts})


def _in_sight(credit_class: str, loop: CreditLoop) -> int:
    return loop.requests_in_sight if credit_class.startswith("req") else loop.responses_in_sight
