"""How long an egress port of the switch core may let an ingress port wait."""

from ualink.switch.grid import Grid
from ualink.switch.matching.matcher import Matcher
from ualink.switch.merging.request_turns import MOST_PASSING
from ualink.switch.queue_depths import EGRESS_DEPTH

__all__ = ["served_within"]


def served_within(grid: Grid) -> int:
    """Items of one kind that an egress port of a core that is laid out as ``grid`` forwards at most, from when an item
    becomes the oldest from its ingress port until it has gone itself (UALink_200 §10.5).

    Within a row that is ``bound`` of ``Matcher``; with several rows each item of the row may wait for
    ``MOST_PASSING`` of each other one.

    It holds for whom nothing but others' turns keeps waiting: of a port that takes Requests and no data, a Request with
    data waits for that port.
    """
    rows, columns = grid.rows, grid.columns
    in_row = max(Matcher(len(row), len(column)).bound for row in rows for column in columns) + EGRESS_DEPTH
    return in_row if len(rows) == 1 else (in_row + EGRESS_DEPTH) * (1 + MOST_PASSING * (len(rows) - 1))
