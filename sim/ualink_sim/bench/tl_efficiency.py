"""Rows that say how much of what two transaction layers send is data."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ualink.tl.format.fields import FLOW_CONTROL

from ..model.upli.transactions import ReqCmd
from .rows import Bench, Row, Unavailable
from .tl_pair import WIRE, count
from .tl_patterns import BEAT, READ, TABLES, WRITE, WRITE_FULL, Kind, Pattern, efficiency

__all__ = ["LEAST_FLITS", "RESPONSE_AND_CREDITS", "benches", "check_steady", "saturated_efficiency", "window_for"]

LEAST_FLITS = 2_000
LONG = 20_000
"""Flits of a window of random traffic."""

_PAIR = f"two TransactionLayers in Verilator, {WIRE} cycles of wire each way, a window of {{:,}} flits or more"
_PACE = 0.02
"""Share of its rate by which traffic may differ between two ends, whose windows are not the same cycles."""
RESPONSE_AND_CREDITS = Fraction(6, 5)
"""Sectors of a Compressed Response and a fifth of an FC field, of which there is one in two Control half-flits with
five Requests."""
_MOST_COMMANDS = (1 << FLOW_CONTROL["req_cmd"].shape["count"].shape) - 1
"""Command credits of a class that one FC field can return."""

_SIZES = (1, 2, 3, 4)


def window_for(limit: Fraction, least: int = LEAST_FLITS) -> int:
    """Flits, ``least`` or more, in which traffic of efficiency ``limit`` repeats a whole number of times."""
    return -(-least // limit.denominator) * limit.denominator


def check_steady(counts: Sequence[Mapping[str, int]]) -> Sequence[Mapping[str, int]]:
    """``counts`` of both ends; Unavailable if Responses do not keep pace with the Requests of the other end."""
    for asking, answering in (counts, counts[::-1]):
        asked, answered = asking["requests"] / asking["cycles"], answering["responses"] / answering["cycles"]
        if abs(asked - answered) > _PACE * asked:
            raise Unavailable(f"{asked:.4f} Requests and {answered:.4f} Responses a cycle: this does not last")
    return counts


def saturated_efficiency(counts: Mapping[str, int]) -> float:
    """Bytes of data of bytes of flits; Unavailable unless there was a flit in every cycle."""
    if counts["flits"] != counts["cycles"]:
        raise Unavailable(f"the transmitter sends {counts['flits'] / counts['cycles']:.4f} flits a cycle")
    return counts["data"] / (2 * counts["flits"])


def benches() -> list[Bench]:
    """The packing examples of the standard, then sizes, then mixes."""
    return [*_tables(), *_uncompressed(), *_one_way(), *_symmetric(), *_mixes()]


def _bench(
    name: str, limit: Fraction, how: str, pattern: Pattern, ends: tuple[int, ...] = (0, 1), least: int = LEAST_FLITS
) -> Bench:
    row = Row(
        name=name,
        unit="fraction",
        limit=float(limit),
        how=f"bytes of data of bytes of flits, {how}; {_PAIR.format(least)}",
    )

    def measure() -> dict[str, float]:
        found = check_steady(count(pattern, window_for(limit, least)))
        return {name: min(saturated_efficiency(found[end]) for end in ends)}

    return Bench((row,), measure)


def _tables() -> list[Bench]:
    rows = []
    for table in TABLES:
        how = f"{table.what}, 256 bytes each, both ways; limit: the example of Table {table.number.replace('_', '-')}"
        rows.append(_bench(f"tl.efficiency.table_{table.number}", table.efficiency, how, table.pattern))
    saturated = Row(
        name="tl.throughput.saturated",
        unit="flits per cycle",
        limit=1.0,
        how=f"least of all tl.efficiency.table rows, both ends; {_PAIR.format(LEAST_FLITS)}",
    )

    def measure() -> dict[str, float]:
        found = [end for table in TABLES for end in count(table.pattern, window_for(table.efficiency))]
        return {saturated.name: min(end["flits"] / end["cycles"] for end in found)}

    return [*rows, Bench((saturated,), measure)]


def _one_way() -> list[Bench]:
    """One end asks, the other answers: no Control half-flit has both Requests and Responses.

    Seven Requests fill two Control half-flits but for the FC field that returns the credits of seven Responses, and
    seven Responses with the FC field for seven Requests fill one.
    """
    rows = []
    for cmd, name, end, sectors, what in (
        (WRITE_FULL, "write_full", 0, Fraction(16, _MOST_COMMANDS), "Requests and an FC field in two"),
        (READ, "read", 1, Fraction(8, _MOST_COMMANDS), "Responses and an FC field in one"),
    ):
        for beats in _SIZES:
            kinds = (Kind(cmd, beats),)
            rows.append(
                _bench(
                    f"tl.efficiency.one_way.{name}.{BEAT * beats}",
                    efficiency(kinds, sectors),
                    f"Requests of one end alone, compressed; limit: {_MOST_COMMANDS} {what} Control "
                    f"half-flit{'s' * (end == 0)}, an FC field returns {_MOST_COMMANDS} credits",
                    Pattern(kinds=kinds, limits=(256, 0)),
                    ends=(end,),
                )
            )
    return rows


def _symmetric() -> list[Bench]:
    rows = []
    for title, control, sectors, tags, what in (
        ("symmetric", {}, 2 + RESPONSE_AND_CREDITS, 0, "five Requests, five Responses, one FC field in two"),
        ("authenticated", {"authentication": 1}, Fraction(4), 32, "two Requests and two Responses with tags in one"),
    ):
        for cmd, name in ((WRITE_FULL, "write_full"), (READ, "read")):
            for beats in _SIZES:
                kinds = (Kind(cmd, beats),)
                rows.append(
                    _bench(
                        f"tl.efficiency.{title}.{name}.{BEAT * beats}",
                        efficiency(kinds, sectors, tags),
                        f"Requests and Responses both ways, compressed; limit: {what} Control half-flit"
                        f"{'s' * (not tags)}",
                        Pattern(kinds=kinds, control=control),
                    )
                )
    return rows


def _uncompressed() -> list[Bench]:
    kinds = (Kind(WRITE_FULL),)
    sectors = 6 + Fraction(2, _MOST_COMMANDS)
    how = (
        f"WriteFull and Responses uncompressed, any number in a Control half-flit; limit: six sectors each, and an FC "
        f"field and its neighbour for {_MOST_COMMANDS}"
    )
    control = {"disable_tx_cache": 1, "disable_response_compression": 1}
    pattern = Pattern(kinds=kinds, control=control)
    return [_bench("tl.efficiency.uncompressed", efficiency(kinds, sectors), how, pattern)]


def _mixes() -> list[Bench]:
    atomic = Kind(ReqCmd.ATOMIC_R, 1)
    sizes = tuple(Kind(WRITE_FULL, beats) for beats in _SIZES)
    commands = (Kind(READ), Kind(WRITE), Kind(WRITE_FULL), atomic)
    all_kinds = (*(Kind(READ, beats) for beats in _SIZES), *sizes[1::2], Kind(WRITE, 3), Kind(WRITE, 1))
    rows = []
    for name, kinds, what in (
        ("sizes", sizes, "WriteFull of 64 to 256 bytes"),
        ("commands", commands, "Read, Write, WriteFull of 256 bytes and AtomicR, which is not compressible"),
        ("all", all_kinds, "Reads of 64 to 256 bytes, WriteFull of 128 and 256, Writes of 64 and 192"),
    ):
        requests = Fraction(sum(4 if kind == atomic else 2 for kind in kinds), len(kinds))
        rows.append(
            _bench(
                f"tl.efficiency.mix.{name}",
                efficiency(kinds, requests + 1 + Fraction(1, _MOST_COMMANDS)),
                f"{what} in changing order, both ways; limit: no sector empty, one FC field for {_MOST_COMMANDS} "
                "Requests",
                Pattern(kinds=kinds, shuffle=True),
                least=LONG,
            )
        )
    return rows
