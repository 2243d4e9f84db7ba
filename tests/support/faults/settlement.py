"""How a Request has ended, held against what the standard lets it end like (UALink_200 §2.1, §2.7, §3.1)."""

from support.stream_device import WHOLE, Ask
from ualink_sim.model.upli.transactions import BEAT_BYTES, Status

__all__ = ["ended"]

RATHER_NOT = {Status.CMPTO: "time_out", Status.TARGET_ABORT: "abort"}
"""Statuses other than OKAY that faults lead to: of a dummy, and of a Write whose data were corrupt."""
UNWRITTEN = bytes(BEAT_BYTES)
"""What stands in a memory before it is written; each place is written once."""


def ended(
    ask: Ask, *, expected: bytes | None = None, times: int = 0, stands: bytes = b""
) -> tuple[set[str], list[str]]:
    """Words of ``Outcome`` for how ``ask`` has ended, and what is wrong with that.

    A Read is to give ``expected``. A Write came to the memory ``times`` times, where now ``stands`` stands.
    """
    said, wrong = set(), []
    if ask.status is None:
        return said, ["was never answered"]
    if ask.status != Status.OKAY:
        said.add(RATHER_NOT.get(ask.status, "other"))
        if ask.status not in RATHER_NOT:
            wrong.append(f"was answered with status {ask.status}")
    if ask.data is not None:
        return said, wrong + _of_write(ask, times, stands)
    for beat in (beat for beat in ask.beats if beat["status"] == Status.OKAY):
        place = beat["offset"] * BEAT_BYTES
        if beat["data_error"]:
            said.add("poison")
        elif beat["data"].to_bytes(BEAT_BYTES, "little") != expected[place : place + BEAT_BYTES]:
            wrong.append(f"gave a wrong beat {beat['offset']}, and nothing says so")
    return said, wrong


def _of_write(ask: Ask, times: int, stands: bytes) -> list[str]:
    """A dummy tells nothing of what has become of the Write; whatever else is told, is told by the memory."""
    wrong = []
    if times > 1 or (times == 0 and ask.status != Status.CMPTO):
        wrong.append(f"came {times} times")
    for place in range(0, WHOLE, BEAT_BYTES):
        good = {ask.data[place : place + BEAT_BYTES], *([] if ask.status == Status.OKAY else [UNWRITTEN])}
        if stands[place : place + BEAT_BYTES] not in good:
            wrong.append(f"left wrong data at {place:#x}")
    return wrong
