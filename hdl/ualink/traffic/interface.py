"""What crosses between the parts of a traffic engine."""

from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import Out

__all__ = ["PLAN", "Command", "Destinations", "ErrorKind", "Pattern", "SettingsSignature"]

LINE_BITS = 51
"""ReqAddr[56:6]."""
PLACE_BITS = 33
"""Lines of the largest region."""
TIME_BITS = 24
"""Latencies are counted modulo 2**24 cycles."""


class Pattern(enum.Enum, shape=2):
    """How addresses follow one another."""

    STREAM = 0
    STRIDE = 1
    RANDOM = 2
    HOT_SPOT = 3


class Destinations(enum.Enum, shape=2):
    """How destinations follow one another."""

    ONE = 0
    ROUND_ROBIN = 1
    RANDOM = 2


class Command(enum.Enum, shape=2):
    """What a planned Request does; ATOMIC is an AtomicR with SWAP of 64 bytes."""

    READ = 0
    WRITE = 1
    ATOMIC = 2
    WRITE_FULL = 3


class ErrorKind(enum.Enum, shape=4):
    """What the first error was; of those of one beat the lowest."""

    NONE = 0
    UNEXPECTED_TAG = 1
    DUPLICATE = 2
    LATE = 3
    WRONG_CHANNEL = 4
    MISROUTED = 5
    BEATS = 6
    STATUS = 7
    POISON = 8
    DATA = 9
    TIME_OUT = 10


PLAN = data.StructLayout({"command": 2, "line": LINE_BITS, "dst": 10, "beats": 2, "strict": 1, "masked": 1})
"""One Request: ``beats`` + 1 lines from ``line`` on of accelerator ``dst``. A Read that is ``strict`` wants the new
data in all lanes, or in those of a sparse Write if ``masked``."""


class SettingsSignature(wiring.Signature):
    """What firmware tells a traffic engine; widths and reset values are those of its registers.

    Members
    -------
    pattern, destinations, skip_own, verify, check, sparse, random_size, size : how Requests are chosen.
    own, vc, port : ReqSrcPhysAccID, ReqVC and the port of the Requests.
    read, write, atomic : shares of the commands in 256ths, the rest is WriteFull.
    first, count : destinations.
    base, region, hot_region, hot_share, stride : addresses; ``base`` is ReqAddr[56:8], the regions are powers of two.
    seed, new_seed, old_seed : of the random choices; of the data written; of the data that were there before.
    requests, rate, outstanding, time_out : how many, how fast, how many at a time, how long at most.
    decode : addresses beyond the memory of the responder are refused.
    """

    def __init__(self):
        super().__init__(
            {
                "pattern": Out(2),
                "destinations": Out(2),
                "skip_own": Out(1),
                "verify": Out(1),
                "check": Out(1, init=1),
                "sparse": Out(1),
                "random_size": Out(1),
                "size": Out(2, init=3),
                "own": Out(10),
                "vc": Out(2),
                "port": Out(2),
                "read": Out(9, init=128),
                "write": Out(9),
                "atomic": Out(9),
                "first": Out(10),
                "count": Out(11, init=1),
                "base": Out(49),
                "region": Out(5),
                "hot_region": Out(5),
                "hot_share": Out(9, init=128),
                "stride": Out(32, init=4),
                "seed": Out(64, init=0x9E37_79B9_7F4A_7C15),
                "new_seed": Out(32, init=1),
                "old_seed": Out(32, init=1),
                "requests": Out(32),
                "rate": Out(17, init=1 << 16),
                "outstanding": Out(12, init=2048),
                "time_out": Out(23, init=1_000_000),
                "decode": Out(1),
            }
        )
