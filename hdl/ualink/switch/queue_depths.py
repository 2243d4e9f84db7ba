"""How much the buffers of the switch core hold, and how it is shared out."""

from dataclasses import dataclass

from ualink.checks import check_integer
from ualink.config import UPLIConfig
from ualink.switch.transfer import MAX_BEATS

__all__ = [
    "EGRESS_DEPTH",
    "MOST_TRANSFERS",
    "QueueDepths",
    "egress_room",
    "guaranteed",
    "shared_by",
]

EGRESS_DEPTH = 12
"""Beats in the queue at an egress port: 8 that still come when grants stop, and 4 to send until the next ones come."""

MOST_TRANSFERS = 64
"""Whole Read Responses that may wait from one ingress port to one egress port, be they of one beat."""


@dataclass(frozen=True, kw_only=True)
class QueueDepths:
    """Beats that the queue from one ingress port to one egress port may hold, one number for each channel.

    ``shared`` are the beats of each bank of a buffer that belong to no queue: those which its queues may hold beyond
    what each of them is guaranteed.
    """

    req: int
    orig_data: int
    rd_rsp: int
    wr_rsp: int
    shared: int = 64

    def __post_init__(self):
        for channel, least in (("req", 1), ("orig_data", MAX_BEATS), ("rd_rsp", MAX_BEATS), ("wr_rsp", 1)):
            depth = getattr(self, channel)
            check_integer(f"voq_depth.{channel}", depth, least)
        check_integer("voq_depth.shared", self.shared, 0)

    @classmethod
    def of_credits(cls, upli: UPLIConfig) -> "QueueDepths":
        """Deeper than the buffers that the station announces to its partner for one port: three times for data, four
        times for items of one beat, which makes 96 and 64 by default. Uniform traffic needs that much to fill 98 % of
        the slots of 8 ports, in transfers of four beats as in those of one."""
        data = {"orig_data": 3 * upli.orig_data.total, "rd_rsp": 3 * upli.rd_rsp.total}
        items = {"req": 4 * upli.req.total, "wr_rsp": 4 * upli.wr_rsp.total}
        return cls(**data, **items, shared=max(*data.values(), *items.values()))


def guaranteed(depth: int) -> int:
    """Beats that a queue of ``depth`` may hold whatever the others hold: a transfer of any length."""
    return min(depth, MAX_BEATS)


def shared_by(queues: int, depth: int, shared: int) -> int:
    """Beats that ``queues`` of ``depth`` can hold together beyond their guaranteed ones, ``shared`` at most."""
    return min(shared, queues * (depth - guaranteed(depth)))


def egress_room(level, *, beats: int = MAX_BEATS):
    """Whether a queue of ``EGRESS_DEPTH`` with ``level`` inside can take an item of ``beats`` that is granted in the
    next cycle: what it is sent comes 3 cycles later, and until then and from the cycle of ``level`` on one in each."""
    return level <= EGRESS_DEPTH - 4 - beats
