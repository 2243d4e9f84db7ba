"""What a receiving TL drives onto UPLI of what a link brought (UALink_200 Table 2-12, §3.1.4.3)."""

from collections.abc import Iterable
from typing import TypeVar

from ..upli.transactions import Status
from .reassembly import ReceivedWriteResponse

__all__ = ["forwarded"]

Item = TypeVar("Item")


def forwarded(items: Iterable[Item]) -> list[Item]:
    """All of ``items`` but Write Responses of status ISOLATE: that is for an accelerator's own TL to say, so one from a
    link is dropped, or a partner could isolate the Originator (ruling A-20 of RAS)."""
    return [
        item for item in items if not (isinstance(item, ReceivedWriteResponse) and item.beat.status == Status.ISOLATE)
    ]
