"""Parser of a Control half-flit: which sectors hold which fields, and what those fields bring along."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.format.fields import (
    COMPRESSED_REQUEST,
    COMPRESSED_RESPONSE,
    CREDIT_CLASSES,
    FLOW_CONTROL,
    UNCOMPRESSED_REQUEST,
    UNCOMPRESSED_RESPONSE,
    CompressedCmd,
    FType,
    has_byte_enables,
)
from ualink.tl.format.half_flits import SECTORS, TAGS
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

from .error import ReceiveError

__all__ = ["DATA_FIELD_LAYOUT", "DECODED_LAYOUT", "SECTORS", "ControlDecoder", "request_field", "response_field"]

DATA_FIELD_LAYOUT = data.StructLayout({"is_request": 1, "byte_enables": 1, "left": 4})
"""A Data Request Field: ``left`` is the number of Data half-flits that follow its first one (1 to 8); ``byte_enables``:
the last of them is a byte-enable half-flit."""

DECODED_LAYOUT = data.StructLayout(
    {
        "requests": 4,
        "responses": 8,
        "data_fields": 8,
        "data_field": data.ArrayLayout(DATA_FIELD_LAYOUT, 8),
        "tagged": 1,
        "too_many_tagged": 1,
        "tag_slot": data.ArrayLayout(2, 8),
        "credits": CREDIT_UPDATE_LAYOUT,
        "crossing": 4,
        "error": ReceiveError,
    }
)
"""A decoded Control half-flit. Bit p of ``requests``: a Request has its top in sector 2p+1. Bit s of ``responses`` and
of ``data_fields``: a Response, a Data Request Field (with ``data_field[s]``) has its top in sector s. ``tagged``: there
is a Request or Response; ``too_many_tagged``: more than four, the tags of an AuthTags half-flit; ``tag_slot[s]``: which
of them belongs to the one with its top in sector s. Bit p of ``crossing``: the Compressed Request with its top in
sector 2p+1 would cross 256 bytes. ``error`` is NONE if all fields are legal."""

TAGGED = tuple(ftype for ftype in FType if ftype is not FType.FLOW_CONTROL)
"""Fields that have an authentication tag: Requests and Responses."""


def request_field(half_flit, pair: int):
    """The 128 bits whose top is sector ``2 * pair + 1``; of a Compressed Request the upper 64 bits have meaning."""
    return Cat(Const(0, 64), half_flit[:64]) if pair == 0 else half_flit[64 * pair - 64 : 64 * pair + 64]


def response_field(half_flit, sector: int):
    """The 64 bits whose top is ``sector``; of a Compressed Response the upper 32 bits have meaning."""
    return Cat(Const(0, 32), half_flit[:32]) if sector == 0 else half_flit[32 * sector - 32 : 32 * sector + 32]


class ControlDecoder(wiring.Component):
    """Combinational parser of one Control half-flit (UALink_200 §5.1.1, §5.9).

    Fields are found from the top of each quad down, because FTYPE is at the top of a field; the order of processing is
    the order of the bits of the masks in ``decoded``, low sector first.

    Attributes
    ----------
    half_flit : the 32 bytes, whether or not they are a Control half-flit.
    encryption : the link may carry encrypted traffic: to cross 256 bytes is no error.
    decoded : what they mean as one.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__({"half_flit": In(256), "encryption": In(1), "decoded": Out(DECODED_LAYOUT)})

    def elaborate(self, platform):
        m = Module()
        # Bit n: the sector holds FTYPE n, whether or not it is the top of a field; bit 6: one that is not legal.
        kinds = [Signal(len(FType) + 1, name=f"kind_{sector}") for sector in range(SECTORS)]
        for sector, kind in enumerate(kinds):
            with m.Switch(self.half_flit[32 * sector + 28 : 32 * sector + 32]):
                for ftype in FType:
                    with m.Case(ftype.value):
                        m.d.comb += kind.eq(1 << ftype.value)
                with m.Default():
                    m.d.comb += kind.eq(1 << len(FType))
        tops = [Signal(name=f"top_{sector}") for sector in range(SECTORS)]
        for base in (0, 4):
            self._find_tops(m, tops[base : base + 4], kinds[base : base + 4])

        def tops_with(sector, *ftypes):
            return tops[sector] & reduce(or_, (kinds[sector][ftype.value] for ftype in ftypes))

        unknown, misplaced = Signal(SECTORS), Signal(SECTORS)
        for sector in range(SECTORS):
            m.d.comb += unknown[sector].eq(tops[sector] & kinds[sector][len(FType)])
            if sector % 2 == 0:
                two_sectors = (FType.UNCOMPRESSED_RESPONSE, FType.COMPRESSED_REQUEST)
                m.d.comb += misplaced[sector].eq(tops_with(sector, FType.UNCOMPRESSED_REQUEST, *two_sectors))
            elif sector % 4 == 1:
                m.d.comb += misplaced[sector].eq(tops_with(sector, FType.UNCOMPRESSED_REQUEST))

        # ``crossing`` is not ``decoded.crossing``: a part of a vector that makes another part looks like a loop.
        reserved, crossing = Signal(4), Signal(4)
        for pair in range(4):
            self._decode_request(m, pair, tops_with, reserved, crossing)
        for sector in range(SECTORS):
            self._decode_response(m, sector, tops_with)
        self._decode_credits(m, tops_with)
        self._count_tagged(m, tops_with)

        with m.If(unknown.any()):
            m.d.comb += self.decoded.error.eq(ReceiveError.FTYPE)
        with m.Elif(misplaced.any()):
            m.d.comb += self.decoded.error.eq(ReceiveError.FOOTPRINT)
        with m.Elif(reserved.any()):
            m.d.comb += self.decoded.error.eq(ReceiveError.COMPRESSED_CMD)
        with m.Elif(crossing.any() & ~self.encryption):
            m.d.comb += self.decoded.error.eq(ReceiveError.BLOCK_CROSSING)
        return m

    def _find_tops(self, m, tops, kinds):
        """Mark the sectors of a quad that hold the top of a field."""

        def covers_two(n):
            return kinds[n][FType.UNCOMPRESSED_RESPONSE.value] | kinds[n][FType.COMPRESSED_REQUEST.value]

        whole = kinds[3][FType.UNCOMPRESSED_REQUEST.value]
        m.d.comb += [
            tops[3].eq(1),
            tops[2].eq(~whole & ~covers_two(3)),
            tops[1].eq(~whole),
            tops[0].eq(~whole & ~covers_two(1)),
        ]

    def _decode_request(self, m, pair, tops_with, reserved, crossing):
        sector = 2 * pair + 1
        compressed = tops_with(sector, FType.COMPRESSED_REQUEST)
        uncompressed = tops_with(sector, FType.UNCOMPRESSED_REQUEST) if pair % 2 else 0
        m.d.comb += self.decoded.requests[pair].eq(compressed | uncompressed)

        field = request_field(self.half_flit, pair)
        short = data.View(COMPRESSED_REQUEST, field[64:])
        writes = (short.cmd == CompressedCmd.WRITE.value) | (short.cmd == CompressedCmd.WRITE_FULL.value)
        brings = self.decoded.data_field[sector]
        with m.If(compressed):
            byte_enables = short.cmd == CompressedCmd.WRITE.value
            m.d.comb += [
                reserved[pair].eq(~writes & (short.cmd != CompressedCmd.READ.value)),
                *(bits[pair].eq((short.addr[:2] + short.len) > 3) for bits in (crossing, self.decoded.crossing)),
                self.decoded.data_fields[sector].eq(writes),
                brings.is_request.eq(1),
                brings.byte_enables.eq(byte_enables),
                brings.left.eq(Cat(1, short.len) + byte_enables),
            ]
        if pair % 2:
            long = data.View(UNCOMPRESSED_REQUEST, field)
            byte_enables = has_byte_enables(long.cmd, uwm_has_byte_enables=self.config.uwm_has_byte_enables)
            with m.If(uncompressed):
                m.d.comb += [
                    self.decoded.data_fields[sector].eq(long.cmd[5]),
                    brings.is_request.eq(1),
                    brings.byte_enables.eq(byte_enables),
                    brings.left.eq(Cat(1, long.num_beats) + byte_enables),
                ]

    def _decode_response(self, m, sector, tops_with):
        kinds = [FType.COMPRESSED_SINGLE_BEAT_READ_RESPONSE, FType.COMPRESSED_RESPONSE]
        if sector % 2:
            kinds.append(FType.UNCOMPRESSED_RESPONSE)
        m.d.comb += self.decoded.responses[sector].eq(tops_with(sector, *kinds))

        field = response_field(self.half_flit, sector)
        short = data.View(COMPRESSED_RESPONSE, field[32:])
        brings = self.decoded.data_field[sector]
        with m.If(tops_with(sector, FType.COMPRESSED_SINGLE_BEAT_READ_RESPONSE)):
            m.d.comb += [self.decoded.data_fields[sector].eq(1), brings.left.eq(1)]
        with m.If(tops_with(sector, FType.COMPRESSED_RESPONSE)):
            m.d.comb += [
                self.decoded.data_fields[sector].eq(short.rd_wr),
                # Two half-flits a beat, less the first; without meaning for a Write Response.
                brings.left.eq(Cat(1, short.len)),
            ]
        if sector % 2:
            long = data.View(UNCOMPRESSED_RESPONSE, field)
            with m.If(tops_with(sector, FType.UNCOMPRESSED_RESPONSE)):
                m.d.comb += [
                    self.decoded.data_fields[sector].eq(long.rd_wr),
                    brings.left.eq(Cat(1, long.len)),
                ]

    def _decode_credits(self, m, tops_with):
        """OR the counts of all FC fields per class and bucket: at most one of them is not zero (UALink_200 §5.7)."""
        returned = [Signal(CREDIT_UPDATE_LAYOUT, name=f"returned_{sector}") for sector in range(SECTORS)]
        for sector, update in enumerate(returned):
            field = data.View(FLOW_CONTROL, self.half_flit[32 * sector : 32 * sector + 32])
            with m.If(tops_with(sector, FType.FLOW_CONTROL)):
                m.d.comb += update.valid.eq(Cat(field[credit_class]["count"] for credit_class in CREDIT_CLASSES).any())
                for credit_class in CREDIT_CLASSES:
                    credit = field[credit_class]
                    with m.If(credit.is_vc):
                        m.d.comb += update[credit_class].vc[credit.vc].eq(credit["count"])
                    with m.Else():
                        m.d.comb += update[credit_class].pool.eq(credit["count"])
        m.d.comb += self.decoded.credits.eq(reduce(or_, (update.as_value() for update in returned)))

    def _count_tagged(self, m, tops_with):
        """The k-th Request or Response from the lowest sector has tag k (UALink_200 §5.1.1)."""
        tagged = [tops_with(sector, *TAGGED) for sector in range(SECTORS)]
        half = SECTORS // 2
        all_below = _number_of(m, tagged[:half], "low_half")
        for sector, slot in enumerate(self.decoded.tag_slot):
            if sector < half:
                slots = _number_of(m, tagged[:sector], f"below_{sector}")
            else:
                slots = _added(m, all_below, _number_of(m, tagged[half:sector], f"near_{sector}"), f"below_{sector}")
            m.d.comb += slot.eq(Cat(slots[1] | slots[3], slots[2] | slots[3]))
        # Bit k: more than k in the half. At least one more than there are tags: so many here, the others there.
        low, high = ([sum(part) > k for k in range(half)] for part in (tagged[:half], tagged[half:]))
        too_many = reduce(or_, (low[k] & high[TAGS - 1 - k] for k in range(half)))
        m.d.comb += [self.decoded.tagged.eq(Cat(tagged).any()), self.decoded.too_many_tagged.eq(too_many)]


def _number_of(m, bits, name):
    """How many of ``bits`` are set, one-hot, modulo ``TAGS``: sums of one-hot numbers need no carry."""
    if len(bits) < 2:
        return Cat(~Cat(bits).any(), Cat(bits).any(), 0, 0)
    half = len(bits) // 2
    parts = [_number_of(m, part, f"{name}_{n}") for n, part in enumerate((bits[:half], bits[half:]))]
    return _added(m, *parts, name)


def _added(m, one, other, name):
    total = Signal(TAGS, name=f"{name}_tagged")
    m.d.comb += total.eq(reduce(or_, (one.rotate_left(n) & there.replicate(TAGS) for n, there in enumerate(other))))
    return total
