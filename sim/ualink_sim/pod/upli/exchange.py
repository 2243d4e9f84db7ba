"""Requests as the model takes them, and what it tells of them."""

from collections.abc import Sequence

from ...model.upli.transactions import Status
from ...records import Transaction
from ...request import Request
from .layouts import OUTCOME, REQUEST

__all__ = ["OUTCOME_BYTES", "REQUEST_BYTES", "encode", "fate", "never"]

REQUEST_BYTES, OUTCOME_BYTES = REQUEST.size // 8, OUTCOME.size // 8
STATUSES = {status.value: status.name for status in Status}
FAULTS = (
    "the Response has another source or destination",
    "the Response has other beats",
    "the Response is that of another Request",
    "data differ from what memory must hold",
)
"""By bit of ``wrong`` in ``OUTCOME``."""


def encode(requests: Sequence[Request]) -> bytes:
    """``REQUEST`` of each."""
    return b"".join(
        (
            request.addr >> 6
            | request.dst << 51
            | request.len // 64 - 1 << 61
            | (request.op != "read") << 63
            | (request.op == "write_full") << 64
            | request.window << 65
        ).to_bytes(REQUEST_BYTES, "little")
        for request in requests
    )


def fate(request: Request, outcome: bytes) -> Transaction:
    """What became of ``request`` by its ``OUTCOME``."""
    code, flags = outcome[8] & 15, outcome[9]
    if not flags & 1:
        return never(request, None)
    issued = int.from_bytes(outcome[:4], "little")
    if not flags & 2:
        return never(request, issued)
    status = STATUSES.get(code, f"{code:#x}")
    mismatch = "" if status == "OKAY" else f"status is {status}, not OKAY"
    if not mismatch and outcome[8] >> 4:
        mismatch = next(fault for bit, fault in enumerate(FAULTS) if outcome[8] >> 4 + bit & 1)
    return Transaction(
        **_common(request),
        status=status,
        issued=issued,
        completed=int.from_bytes(outcome[4:8], "little"),
        mismatch=mismatch,
    )


def never(request: Request, issued: int | None) -> Transaction:
    """``request`` has no Response."""
    return Transaction(**_common(request), status="NONE", issued=issued, completed=None)


def _common(request: Request) -> dict:
    names = ("line", "src", "dst", "op", "addr", "len", "workload")
    return {"data": None, **{name: getattr(request, name) for name in names}}
