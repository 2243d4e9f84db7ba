"""How deep the queues of the switch core are."""

from dataclasses import dataclass

from ualink.checks import check_integer
from ualink.config import UPLIConfig
from ualink.switch.transfer import MAX_BEATS

__all__ = ["QueueDepths"]


@dataclass(frozen=True, kw_only=True)
class QueueDepths:
    """Beats in each queue between an ingress and an egress port, one number for each channel."""

    req: int
    orig_data: int
    rd_rsp: int
    wr_rsp: int

    def __post_init__(self):
        for channel, least in (("req", 1), ("orig_data", MAX_BEATS), ("rd_rsp", MAX_BEATS), ("wr_rsp", 1)):
            depth = getattr(self, channel)
            check_integer(f"voq_depth.{channel}", depth, least)

    @classmethod
    def of_credits(cls, upli: UPLIConfig) -> "QueueDepths":
        """As deep as the buffers that the station announces to its partner for one port."""
        return cls(
            req=upli.req.total,
            orig_data=upli.orig_data.total,
            rd_rsp=upli.rd_rsp.total,
            wr_rsp=upli.wr_rsp.total,
        )
