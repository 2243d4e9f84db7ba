"""Requests of a pattern, one after the other: the same ones where they are sent and where they are checked."""

from random import Random

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import REQ_LAYOUT

from ..model.upli.transactions import ReqCmd

__all__ = [
    "KINDS",
    "KIND_LAYOUT",
    "RANDOM_BITS",
    "REGION_BITS",
    "STREAMS",
    "PatternSignature",
    "RequestGenerator",
    "tag_for",
]

KINDS = 8
STREAMS = 8
REGION_BITS = 20
"""An address cache keeps what is above (UALink_200 §5.6)."""
RANDOM_BITS = 38
"""Random addresses are spread over 256 GiB."""

_BLOCK_BITS = 8
_STREAM_BIT = 44
_READ_ATTR = 0xFF
_TAG_WORD = 0x9E3779B97F4A7C15

KIND_LAYOUT = data.StructLayout({"cmd": 6, "num_beats": 2})
"""``ReqCmd`` and beats minus one, of the transfer: a Read's too."""


class PatternSignature(wiring.Signature):
    """What is requested; levels, constant while requests are sent. Seen from whoever decides.

    Members
    -------
    kinds, kind_count, shuffle : Requests are of the first ``kind_count`` kinds in turn; with ``shuffle``, for which
        ``kind_count`` is a power of two, each round has an order of its own.
    stream_count, stride, stay, spread : Requests belong to 1 to 8 streams in turn, each of which begins in a 1 MB
        region of its own and goes on by ``stride`` bytes, a multiple of 64, for ever or, with ``stay``, within that
        region; with ``spread`` each stream is between accelerators of its own.
    random : eighths of the Requests that have a random address instead, aligned to 256 bytes.
    tagged : Requests and Responses bring authentication tags.
    """

    def __init__(self):
        super().__init__(
            {
                "kinds": Out(KIND_LAYOUT).array(KINDS),
                "kind_count": Out(range(1, KINDS + 1)),
                "shuffle": Out(1),
                "stream_count": Out(range(1, STREAMS + 1)),
                "stride": Out(32),
                "stay": Out(1),
                "spread": Out(1),
                "random": Out(range(9)),
                "tagged": Out(1),
            }
        )


def tag_for(number: Value, tagged: Value) -> Value:
    """The authentication tag that goes with a tag or number, 0 if there are none."""
    return Mux(tagged, Cat(number, Const(0, 64 - len(number))) ^ Const(_TAG_WORD, 64), 0)


class RequestGenerator(wiring.Component):
    """The Requests of one end: 0 is an accelerator, 1 a switch, so that the ID of the other is the row of the caches.

    Members
    -------
    pattern : what is requested.
    req : the Request in turn; ``advance`` : go on to the next one.
    """

    def __init__(self, end: int):
        self._end = end
        super().__init__({"pattern": In(PatternSignature()), "req": Out(REQ_LAYOUT), "advance": In(1)})

    def elaborate(self, platform):
        m = Module()
        pattern, req = self.pattern, self.req
        number = Signal(32)
        kind_turn, stream_turn = Signal(range(KINDS)), Signal(range(STREAMS))
        offset = Signal(_STREAM_BIT)
        # Marsaglia's xorshift generator of 64 bits.
        chance = Signal(64, init=Random(self._end).getrandbits(64))
        a = chance ^ (chance << 13)[:64]
        b = a ^ (a >> 7)

        # Odd multiples of 0, 1, 2 …, and what is added to them, are another order of all kinds.
        factor, start = Signal(3, init=1), Signal(3)
        last_kind = kind_turn == pattern.kind_count - 1
        last_stream = stream_turn == pattern.stream_count - 1
        with m.If(self.advance):
            m.d.sync += [
                number.eq(number + 1),
                chance.eq((b ^ (b << 17))[:64]),
                kind_turn.eq(Mux(last_kind, 0, kind_turn + 1)),
                stream_turn.eq(Mux(last_stream, 0, stream_turn + 1)),
            ]
            with m.If(last_kind):
                m.d.sync += [factor.eq(chance[:3] | 1), start.eq(chance[-3:])]
            with m.If(last_stream):
                m.d.sync += offset.eq(offset + pattern.stride)

        kind, place = Signal(KIND_LAYOUT), Signal(range(KINDS))
        m.d.comb += place.eq(Mux(pattern.shuffle, (kind_turn * factor + start) & (pattern.kind_count - 1), kind_turn))
        with m.Switch(place):
            for n, choice in enumerate(pattern.kinds):
                with m.Case(n):
                    m.d.comb += kind.eq(choice)
        reads = kind.cmd == ReqCmd.READ

        inside = Mux(pattern.stay, offset[:REGION_BITS], offset)
        streamed = Cat(inside[:_STREAM_BIT], stream_turn + 1)
        scattered = Cat(Const(0, _BLOCK_BITS), chance[8 : 8 + RANDOM_BITS - _BLOCK_BITS])
        scatter = chance[3:6] < pattern.random
        remote, own = Mux(pattern.spread, stream_turn, 0) + 1, 0
        m.d.comb += [
            req.cmd.eq(kind.cmd),
            req.num_beats.eq(Mux(reads, 0, kind.num_beats)),
            req.len.eq(Cat(Const(0xF, 4), kind.num_beats)),
            req.attr.eq(Mux(reads, _READ_ATTR, 0)),
            req.addr.eq(Mux(scatter, scattered, streamed)),
            req.tag.eq(number),
            req.auth_tag.eq(tag_for(number, pattern.tagged)),
            req.src_phys_acc_id.eq(remote if self._end else own),
            req.dst_phys_acc_id.eq(own if self._end else remote),
        ]
        return m
