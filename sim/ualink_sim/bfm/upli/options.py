"""What the bus models of UPLI do of what the standard leaves to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..common.arguments import PORTS, check_choice, check_credits, check_function, check_number

__all__ = ["TAGS", "CompleterOptions", "OriginatorOptions"]

TAGS = 2048
"""Tags of a port (UALink_200 §2.7.4.2)."""
NO_VC = (0, 0, 0, 0)

VCs = tuple[int, int, int, int]
"""A count for each VC."""


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """Of both bus models; ValueError names a value that cannot be.

    Attributes
    ----------
    ports : 1, 2 or 4.
    hold : called per received beat, cycles for which its credit is kept back.
    request_delay, acknowledge_delay : cycles before this side's ClkReq and ClkAck rise.
    """

    ports: int = 1
    hold: Callable[[], int] = lambda: 0
    request_delay: int = 0
    acknowledge_delay: int = 0

    def __post_init__(self):
        me = type(self).__name__
        check_choice(me, "ports", self.ports, PORTS)
        check_function(me, "hold", self.hold, "cycles")
        check_number(me, "request_delay", self.request_delay, 0)
        check_number(me, "acknowledge_delay", self.acknowledge_delay, 0)


@dataclass(frozen=True, kw_only=True)
class OriginatorOptions(AgentOptions):
    """Of a ``UPLIOriginator``.

    Attributes
    ----------
    rd_rsp_pool, wr_rsp_pool, rd_rsp_vc, wr_rsp_vc : credits released per port, in the Pool and for each VC.
    outstanding : bound on the Requests in flight per port, at most the 2,048 tags that a port has.
    gap : called per issued Request, cycles for which its port issues none.
    time_out : ModelTimeoutError after so many cycles in which something waits or is in flight and nothing is issued or
        completes; 0: never.
    """

    rd_rsp_pool: int = 64
    wr_rsp_pool: int = 64
    rd_rsp_vc: VCs = NO_VC
    wr_rsp_vc: VCs = NO_VC
    outstanding: int = TAGS
    gap: Callable[[], int] = lambda: 0
    time_out: int = 100_000

    def __post_init__(self):
        super().__post_init__()
        me = type(self).__name__
        check_credits(me, "rd_rsp", self.rd_rsp_pool, self.rd_rsp_vc)
        check_credits(me, "wr_rsp", self.wr_rsp_pool, self.wr_rsp_vc)
        check_number(me, "outstanding", self.outstanding, 1, TAGS)
        check_function(me, "gap", self.gap, "cycles")
        check_number(me, "time_out", self.time_out, 0)

    @property
    def credits(self) -> dict[str, tuple[int, VCs]]:
        """Pool and VC credits by channel."""
        return {"rd_rsp": (self.rd_rsp_pool, self.rd_rsp_vc), "wr_rsp": (self.wr_rsp_pool, self.wr_rsp_vc)}


@dataclass(frozen=True, kw_only=True)
class CompleterOptions(AgentOptions):
    """Of a ``UPLICompleter``.

    Attributes
    ----------
    req_pool, orig_data_pool, req_vc, orig_data_vc : credits released per port, in the Pool and for each VC.
    latency : cycles from the last beat of a Request to its Response, or a function called per Request that gives them.
    single_beat : called with the number of beats of each longer Read Response; gives the order of its offsets to send
        it in Single Beat mode, or None for Multi-Beat mode.
    beat_gap : called per beat of a Response in Single Beat mode, cycles before the next one.
    check_fields : hold Requests against the rules for command, address and length.
    """

    req_pool: int = 64
    orig_data_pool: int = 128
    req_vc: VCs = NO_VC
    orig_data_vc: VCs = NO_VC
    latency: int | Callable[[], int] = 1
    single_beat: Callable[[int], Sequence[int] | None] = lambda beats: None
    beat_gap: Callable[[], int] = lambda: 0
    check_fields: bool = True

    def __post_init__(self):
        super().__post_init__()
        me = type(self).__name__
        check_credits(me, "req", self.req_pool, self.req_vc)
        check_credits(me, "orig_data", self.orig_data_pool, self.orig_data_vc)
        if not callable(self.latency):
            check_number(me, "latency", self.latency, 0)
        check_function(me, "single_beat", self.single_beat, "an order of offsets or None")
        check_function(me, "beat_gap", self.beat_gap, "cycles")

    @property
    def credits(self) -> dict[str, tuple[int, VCs]]:
        """Pool and VC credits by channel."""
        return {"req": (self.req_pool, self.req_vc), "orig_data": (self.orig_data_pool, self.orig_data_vc)}
