"""Benchmarks of what is on the wire: the transaction layer in the frames of the data link."""

from fractions import Fraction

from .dl_link import LATENCY, NEAR
from .rows import Bench, Options, Row
from .tl_efficiency import LEAST_FLITS, RESPONSE_AND_CREDITS
from .tl_pair import Pair, count
from .tl_pair_source import MOST_OUTSTANDING
from .tl_patterns import BEAT, READ, TABLES, WRITE_FULL, Kind, Pattern, efficiency

__all__ = ["benches"]

_FRAMED = Fraction(157, 160)
_COMMANDS = {"write_full": WRITE_FULL, "read": READ}
_DISTANT_BEATS = (1, 4)


def benches(_: Options) -> list[Bench]:
    """The packing examples of the standard where credits are back soon, and traffic where they are not."""
    return [*_tables(), *_distant()]


def _bench(name: str, limit: Fraction, how: str, pattern: Pattern, latency: int) -> Bench:
    period = _FRAMED.numerator * limit.denominator
    window = -(-LEAST_FLITS // period) * period
    row = Row(
        name=name,
        unit="fraction",
        limit=float(limit * _FRAMED),
        how=f"bytes of data of bytes on the wire, {how} in 157 of 160 sectors; two TransactionLayers and DataLinks in "
        f"Verilator, {latency} cycles of wire each way, a window of {window:,} TL flits",
    )

    def measure() -> dict[str, float]:
        found = count(pattern, window, latency=latency, pair=Pair(data_links=True))
        return {name: min(end["data"] / (2 * end["cycles"]) for end in found)}

    return Bench((row,), measure)


def _tables() -> list[Bench]:
    return [
        _bench(
            f"wire.efficiency.table_{table.number}",
            table.efficiency,
            f"{table.what}, 256 bytes each, both ways; limit: the example of Table {table.number.replace('_', '-')}",
            table.pattern,
            NEAR,
        )
        for table in TABLES
    ]


def _distant() -> list[Bench]:
    """The wire of the data link's benchmarks, where a credit is on its way for longer than its buffer is in use."""
    rows = []
    for name, cmd in _COMMANDS.items():
        for beats in _DISTANT_BEATS:
            kinds = (Kind(cmd, beats),)
            rows.append(
                _bench(
                    f"wire.efficiency.distant.{name}.{BEAT * beats}",
                    efficiency(kinds, 2 + RESPONSE_AND_CREDITS),
                    "both ways, all compressed, as many Requests outstanding as there are credits; limit: five "
                    "Requests, five Responses and an FC field in two Control half-flits",
                    Pattern(kinds=kinds, limits=(MOST_OUTSTANDING, MOST_OUTSTANDING)),
                    LATENCY,
                )
            )
    return rows
