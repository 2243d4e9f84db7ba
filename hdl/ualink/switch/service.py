"""How long an egress port of the switch core may let an ingress port wait."""

from ualink.switch.matching.matcher import Matcher
from ualink.switch.queue_depths import EGRESS_DEPTH, banks

__all__ = ["served_within"]


def served_within(ports: int) -> int:
    """Items of one kind that an egress port of a switch of ``ports`` ports forwards at most, from when an item becomes
    the oldest from its ingress port until it has gone itself (UALink_200 §10.5).

    It holds for whom nothing but others' turns keeps waiting: of a port that takes Requests and no data, a Request with
    data waits for that port.
    """
    return max(Matcher(ports, len(bank)).bound for bank in banks(ports)) + EGRESS_DEPTH
