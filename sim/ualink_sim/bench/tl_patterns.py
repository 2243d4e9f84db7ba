"""Traffic that the benchmarks of the transaction layer measure, and how well it can be packed."""

from dataclasses import dataclass, field
from fractions import Fraction

from ualink.tl.format.fields import has_byte_enables

from ..model.upli.transactions import ReqCmd

__all__ = ["BEAT", "READ", "TABLES", "WRITE", "WRITE_FULL", "Kind", "Pattern", "Table", "efficiency"]

BEAT = 64
"""Bytes of a UPLI beat, and of a flit."""
HALF_FLIT = 32
SECTORS = 8
READ, WRITE, WRITE_FULL = ReqCmd.READ, ReqCmd.WRITE, ReqCmd.WRITE_FULL


@dataclass(frozen=True)
class Kind:
    """A Request of command ``cmd`` for ``beats`` beats."""

    cmd: int
    beats: int = 4

    def encode(self) -> int:
        """As ``KIND_LAYOUT``."""
        return self.cmd | (self.beats - 1) << 6

    @property
    def data(self) -> int:
        """Bytes of data that Request and Response bring; an AtomicR has operands and a result."""
        return BEAT * self.beats * (2 if self.cmd == ReqCmd.ATOMIC_R else 1)

    @property
    def byte_enables(self) -> int:
        """Bytes of byte enables on the link."""
        return HALF_FLIT * has_byte_enables(self.cmd)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Members of ``PatternSignature``; ``limits`` are the Requests that each end may have outstanding."""

    kinds: tuple[Kind, ...]
    shuffle: bool = False
    streams: int = 1
    stride: int = 256
    stay: bool = True
    spread: bool = False
    random: int = 0
    limits: tuple[int, int] = (256, 256)
    control: dict[str, int] = field(default_factory=dict)

    def levels(self) -> dict[str, int]:
        """The ports of ``PairTop`` that say so."""
        kinds = {f"pattern__kinds__{n}": self.kinds[n % len(self.kinds)].encode() for n in range(8)}
        return {
            **kinds,
            "pattern__kind_count": len(self.kinds),
            "pattern__shuffle": int(self.shuffle),
            "pattern__stream_count": self.streams,
            "pattern__stride": self.stride,
            "pattern__stay": int(self.stay),
            "pattern__spread": int(self.spread),
            "pattern__random": self.random,
            "pattern__tagged": self.control.get("authentication", 0),
        }


def efficiency(kinds: tuple[Kind, ...], sectors: Fraction, tags: int = 0) -> Fraction:
    """Share of data in what is sent when ``sectors`` of Control half-flits go with each transaction and ``tags`` bytes
    of authentication with each Control half-flit, of which none is wasted."""
    data = Fraction(sum(kind.data for kind in kinds), len(kinds))
    enables = Fraction(sum(kind.byte_enables for kind in kinds), len(kinds))
    return data / (data + enables + sectors / SECTORS * (HALF_FLIT + tags))


@dataclass(frozen=True)
class Table:
    """A packing example of UALink_200 §5.4 that repeats after ``flits`` flits with ``beats`` beats of data."""

    number: str
    what: str
    flits: int
    beats: int
    pattern: Pattern

    @property
    def efficiency(self) -> Fraction:
        """Bytes of data of bytes sent."""
        return Fraction(self.beats, self.flits)


_WRITES = (Kind(WRITE_FULL),)
_READS = (Kind(READ),)
_MIX = (Kind(READ), Kind(WRITE_FULL), Kind(WRITE_FULL), Kind(READ), Kind(WRITE_FULL))
_UNCOMPRESSED = {
    "disable_tx_cache": 1,
    "disable_response_compression": 1,
    "limits.uncompressed_requests": 1,
    "limits.uncompressed_responses": 1,
}
_TAGGED = {"authentication": 1}
_TWO_OF_EACH = {"limits.compressed_requests": 2, "limits.compressed_responses": 2}

TABLES = (
    Table(
        "5_15",
        "WriteFull and Responses uncompressed, at most one of each in a Control half-flit",
        9,
        8,
        Pattern(kinds=_WRITES, control=_UNCOMPRESSED),
    ),
    Table(
        "5_16",
        "WriteFull uncompressed, Responses compressed",
        13,
        12,
        Pattern(kinds=_WRITES, control={"disable_tx_cache": 1}),
    ),
    Table(
        "5_17",
        "WriteFull and Responses compressed, at most two of each in a Control half-flit",
        17,
        16,
        Pattern(kinds=_WRITES, control=_TWO_OF_EACH),
    ),
    Table("5_18", "WriteFull and Responses compressed", 21, 20, Pattern(kinds=_WRITES)),
    Table("5_19", "as 5-18, authenticated", 9, 8, Pattern(kinds=_WRITES, control=_TAGGED)),
    Table("5_20", "Reads and Responses compressed", 21, 20, Pattern(kinds=_READS)),
    Table("5_21", "as 5-20, authenticated", 9, 8, Pattern(kinds=_READS, control=_TAGGED)),
    Table("5_22", "two Reads of five Requests, the others WriteFull, all compressed", 21, 20, Pattern(kinds=_MIX)),
)
