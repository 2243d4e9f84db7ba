"""The bit-error test: what errors among so many bits say about the bit error rate."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .board import Board
from .errors import BadInput
from .names import Window

__all__ = ["LaneResult", "bert_windows", "read_lanes", "run_test", "start_test", "stop_test", "upper_limit"]

LANE_MAP = "bert_lane"
"""Name of the register map of a lane."""

_WORDS_PER_UNIT = 1024
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class LaneResult:
    """A lane: errors among ``bits`` compared, and what has been seen of it."""

    window: str
    locked: bool
    lock_lost: bool
    errors: int
    bits: int

    @property
    def rate(self) -> float | None:
        """Errors per bit; None when no bit was compared."""
        return self.errors / self.bits if self.bits else None

    def at_most(self, confidence: float) -> float | None:
        """The bit error rate is not greater, at this confidence; None when no bit was compared."""
        return upper_limit(self.errors, confidence) / self.bits if self.bits else None

    @property
    def good(self) -> bool:
        """The sequence was followed all the time, so that the count means something."""
        return self.locked and not self.lock_lost and self.bits > 0


def upper_limit(errors: int, confidence: float) -> float:
    """The greatest mean of a Poisson distribution that gives ``errors`` or fewer with probability 1 - confidence.

    Without an error -ln(1 - confidence): three times 1/BER bits for 95 %.
    """
    low, high = float(errors), 2.0 * errors + 100
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(errors, middle) > 1 - confidence else (low, middle)
    return high


def _at_most(errors: int, mean: float) -> float:
    """Probability of ``errors`` or fewer; by the normal approximation where the sum would be long."""
    if errors <= 10_000:
        return math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(errors + 1))
    return 0.5 * math.erfc((mean - errors - 0.5) / math.sqrt(2 * mean))


def bert_windows(board: Board, names: Sequence[str] = ()) -> list[Window]:
    """Windows of lanes; only ``names``, if there are some."""
    lanes = [window for window in board.table if window.map == LANE_MAP]
    if not lanes:
        raise BadInput(f"design {board.table.name} has no bit-error test")
    for name in names:
        if name not in (lane.name for lane in lanes):
            raise BadInput(f"there is no lane {name!r}; there are {', '.join(lane.name for lane in lanes)}")
    return [lane for lane in lanes if not names or lane.name in names]


def start_test(board: Board, lanes: Sequence[Window], settings: dict[str, str]) -> None:
    """Set fields of ``control``, and count from 0."""
    values = [
        {
            name: lane.registers["control"].field(name).parse(text, f"{lane.name}.{name}")
            for name, text in settings.items()
        }
        for lane in lanes
    ]
    for lane, chosen in zip(lanes, values):
        control, events = lane.registers["control"], lane.registers["events"]
        board.write(control, {**chosen, "clear": 1})
        board.write(control, {"clear": 0})
        board.write_word(events, 0xFFFF_FFFF)


def stop_test(board: Board, lanes: Sequence[Window]) -> None:
    """Count no longer, and forget what was counted."""
    for lane in lanes:
        board.write(lane.registers["control"], {"clear": 1})


def read_lanes(board: Board, lanes: Sequence[Window]) -> list[LaneResult]:
    """What the lanes have counted since the test was started."""
    results = []
    for lane in lanes:
        names = ("errors", "words", "status", "events", "line")
        words = {
            register.name: word for register, word in board.fetch([lane.registers[name] for name in names]).items()
        }

        def field(register: str, name: str, lane=lane, words=words) -> int:
            return lane.registers[register].field(name).of(words[register])

        results.append(
            LaneResult(
                lane.name,
                locked=bool(field("status", "locked")),
                lock_lost=bool(field("events", "locked_lost")),
                errors=field("errors", "bits"),
                bits=field("words", "thousands") * _WORDS_PER_UNIT * field("line", "width"),
            )
        )
    return results


def run_test(
    board: Board, lanes: Sequence[Window], seconds: float, shown: Callable[[float, list[LaneResult]], None]
) -> list[LaneResult]:
    """Let the test that has been started run for ``seconds``; ``shown`` is told how it stands now and then."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds:
        shown(passed, read_lanes(board, lanes))
        time.sleep(max(0.0, min(_POLL_SECONDS, begin + seconds - time.monotonic())))
    return read_lanes(board, lanes)
