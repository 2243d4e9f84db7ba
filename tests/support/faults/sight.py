"""What an end of a fault campaign shows, in the words of ``support.faults.outcome.Outcome``."""

from support.controller_pair_side import PORTS
from support.faults.end import End
from support.faults.outcome import OTHERS

__all__ = ["counts", "shown", "word_of_port"]

WATCHED = (
    *("crc_errors", "lost_flits", "replays_requested", "replays_accepted", "dropped_flits", "commands_ignored"),
    *("protocol_errors", "link_downs", "forward_progress_time_outs", "ingress_containments", "egress_containments"),
)
"""Counters of a data link that tell of faults."""

Counts = dict[str, dict[str, int]]


def word_of_port(word: str, struck: bool) -> str:
    """``word`` of the struck port, or of another."""
    return word if struck else word + OTHERS


async def counts(end: End) -> Counts:
    """All that counts errors, by window."""
    counted = await end.firmware.counters()
    for port in range(PORTS):
        window = f"tl_{port}"
        counted[window] = {"errors": await end.firmware.windows[window].read("errors", "error_count")}
    return counted


async def shown(end: End, struck: int, before: Counts) -> set[str]:
    """All words but those of Requests; ``before`` is what had counted up to now, none after a reset."""
    words = await _causes(end, struck) | await _counted(end, struck, before)
    words |= {f"rule.{name}" for name in end.newly_broken()}
    for name in ("drop", "data_error", "control_error", "protocol_error"):
        if int(getattr(end.dut, f"{end.name}_{name}").value):
            words.add(f"originator.{name}")
    return words


async def _causes(end: End, struck: int) -> set[str]:
    """Events that interrupt, and why there is Drop Mode and Isolation."""
    words, firmware = {f"isolation.{cause}" for cause in await end.firmware.isolation_causes()}, end.firmware
    for window, events in (await firmware.causes()).items():
        name, _, port = window.partition("_")
        here = int(port) == struck if name in ("dl", "tl") and port.isdigit() else True
        words |= {word_of_port(f"{name if port.isdigit() else window}.{event}", here) for event in events}
    for port, causes in (await firmware.drop_causes()).items():
        words |= {word_of_port(f"drop.{cause}", port == struck) for cause in causes}
    return words


async def _counted(end: End, struck: int, before: Counts) -> set[str]:
    """Counters that have moved, and errors of TL receivers."""
    words, now = set(), await counts(end)
    for port in range(PORTS):
        dl, tl = f"dl_{port}", f"tl_{port}"
        moved = [name for name in WATCHED if now[dl][name] != before.get(dl, {}).get(name, 0)]
        words |= {word_of_port(f"count.{name}", port == struck) for name in moved}
        if now[tl]["errors"] != before.get(tl, {}).get("errors", 0):
            log = end.firmware.windows[tl]
            names = {value: name for name, value in log.table.field("errors", "last_error").values.items()}
            words.add(word_of_port(f"error.{names[await log.read('errors', 'last_error')]}", port == struck))
    return words
