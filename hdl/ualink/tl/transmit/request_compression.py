"""Sends Requests in the short form where the partner can rebuild the rest of their address."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.cache.row import at_this_end
from ualink.tl.cache.tx_address_cache import TxAddressCache
from ualink.tl.format.fields import COMPRESSED_REQUEST, UNCOMPRESSED_REQUEST, CompressedCmd, FType
from ualink.tl.format.half_flits import REQUEST_FIELD_LAYOUT, SPOILT
from ualink.upli.code import code_of, recoded
from ualink.upli.commands import ReqCmd

__all__ = ["COMPRESSED_COMMANDS", "META_DATA_MUST_BE_ZERO", "RequestCompression"]

META_DATA_MUST_BE_ZERO = 0xFC
"""Bits of ReqMetaData that are 0 in a Request that is compressed (UALink_200 Table 5-32, ruling D02)."""

COMPRESSED_COMMANDS = {
    ReqCmd.READ: CompressedCmd.READ,
    ReqCmd.WRITE: CompressedCmd.WRITE,
    ReqCmd.WRITE_FULL: CompressedCmd.WRITE_FULL,
}
"""The commands that have a compressed form (UALink_200 Table 5-33)."""


class RequestCompression(wiring.Component):
    """Turns Uncompressed Requests into Compressed Requests where the Tx Address Cache holds their region, and tells the
    partner, with CLOAD and CWAY, which regions to hold (UALink_200 §5.5, §5.6, §5.9.3).

    Requests keep their order; one passes in every cycle. A Request counts as issued when it is offered here, because
    nothing overtakes it on the way to its Control half-flit. Only a Request that might be compressed itself loads
    (ruling D26).

    Latency 2 cycles; without a cache (``config.tx_cache.rows`` 0) the Requests pass as they come, in the same cycle.

    Attributes
    ----------
    i : Uncompressed Requests.
    spoilt : with ``i``: if an odd number of bits are set, the code that it goes on with shall be wrong.
    o : the same, each compressed or not; its code is wrong if that of the Uncompressed Request was.
    is_switch : as in ``TLControlSignature``.
    disable : level, compress and load nothing (UALink_200 §5.10). What the cache holds stays.
    clear, invalidate_entry, invalidate_row, invalidate_way : as in ``TLControlSignature``. An entry is forgotten when
        the Requests looked up before have left; another ``invalidate_entry`` before that clears the whole cache.
    error : sticky until reset, an entry of the cache has changed by itself.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(REQUEST_FIELD_LAYOUT)),
                "spoilt": In(SPOILT),
                "o": Out(stream.Signature(REQUEST_FIELD_LAYOUT)),
                "is_switch": In(1),
                "disable": In(1),
                "clear": In(1),
                "invalidate_entry": In(1),
                "invalidate_row": In(10),
                "invalidate_way": In(2),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, ways = self.config.tx_cache.rows, self.config.tx_cache.ways
        if rows == 0:
            m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
            self._send(m, _spoilt(m, self.i.p, self.spoilt), None)
            return m
        m.submodules.cache = cache = TxAddressCache(rows, ways)
        coming, held = (Signal(REQUEST_FIELD_LAYOUT, name=name, reset_less=True) for name in ("coming", "held"))

        field = data.View(UNCOMPRESSED_REQUEST, self.i.p.field)
        row = at_this_end(self.config, self.is_switch, field.dst_acc_id, field.src_acc_id)
        m.d.comb += [
            cache.lookup.valid.eq(self.i.valid),
            cache.lookup.p.row.eq(row),
            cache.lookup.p.region.eq(field.addr[18:]),
            cache.lookup.p.candidate.eq(_is_compressible(m, field) & (row < rows) & ~self.disable),
            self.i.ready.eq(cache.lookup.ready),
            self.o.valid.eq(cache.answer.valid),
            cache.answer.ready.eq(self.o.ready),
            cache.clear.eq(self.clear),
            cache.invalidate.eq(self.invalidate_entry & (self.invalidate_row < rows) & (self.invalidate_way < ways)),
            cache.invalidate_row.eq(self.invalidate_row),
            cache.invalidate_way.eq(self.invalidate_way),
        ]
        # Beside the two cycles of a lookup; whether there is a Request, and a spoilt one, is known late.
        spoils = Signal(SPOILT, reset_less=True)
        with m.If(self.i.ready):
            m.d.sync += [coming.eq(self.i.p), spoils.eq(self.spoilt)]
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += held.eq(_spoilt(m, coming, spoils))
        with m.If(cache.error):
            m.d.sync += self.error.eq(1)
        self._send(m, held, cache.answer.p)
        return m

    def _send(self, m, request, answer):
        """``request`` goes out as ``answer`` of the cache, if there is one, has it."""
        field = data.View(UNCOMPRESSED_REQUEST, request.field)
        uncompressed, compressed = Signal(UNCOMPRESSED_REQUEST), Signal(COMPRESSED_REQUEST)
        plain, code = Signal(), request.code
        m.d.comb += [
            plain.eq(recoded((), of=(field.cload, field.cway, request.compressed), code=code.low)),
            self.o.p.eq(request),
            uncompressed.eq(request.field),
            uncompressed.cload.eq(0),
            uncompressed.cway.eq(0),
            self.o.p.field.eq(uncompressed),
            self.o.p.compressed.eq(0),
            self.o.p.code.low.eq(plain),
        ]
        if answer is None:
            return
        for name in ("vchan", "asi", "tag", "pool", "src_acc_id", "dst_acc_id"):
            m.d.comb += compressed[name].eq(field[name])
        m.d.comb += [
            compressed.ftype.eq(FType.COMPRESSED_REQUEST),
            compressed.len.eq(field.len[4:]),
            compressed.meta_data.eq(field.meta_data[:3]),
            compressed.addr.eq(field.addr[4:18]),
            compressed.cway.eq(answer.way),
        ]
        for command, short_form in COMPRESSED_COMMANDS.items():
            with m.If(field.cmd == command.value):
                m.d.comb += compressed.cmd.eq(short_form)
        # The way is added last: the answer may be late.
        short, way = Signal(), code_of(answer.way)
        shortened = (*(compressed[name] for name, _ in COMPRESSED_REQUEST if name != "cway"), Const(1))
        m.d.comb += short.eq(
            recoded(shortened, of=(request.field, request.compressed), code=code_of(code.low, code.high))
        )
        with m.If(answer.load):
            m.d.comb += [
                uncompressed.cload.eq(1),
                uncompressed.cway.eq(answer.way),
                self.o.p.code.low.eq(code_of(plain, Const(1), way)),
            ]
        with m.If(answer.hit):
            m.d.comb += [
                self.o.p.compressed.eq(1),
                self.o.p.field[:64].eq(compressed),
                self.o.p.code.low.eq(code_of(short, way)),
            ]


def _spoilt(m, request, spoilt) -> Signal:
    """``request``, with a wrong code if an odd number of bits are set in ``spoilt``."""
    changed = Signal(REQUEST_FIELD_LAYOUT)
    m.d.comb += [changed.eq(request), changed.code.low.eq(code_of(request.code.low, spoilt))]
    return changed


def _is_compressible(m, field) -> Signal:
    """All conditions but the hit (UALink_200 §5.9.3), on the address as UPLI brings it (ruling D19).

    The short form has no NUMBEATS; the partner takes it from LEN, so a Request that says otherwise keeps its long form.
    With encryption the address is ciphertext and aligned by chance: then this alone tells a Write that is not.
    """
    is_read = field.cmd == ReqCmd.READ.value
    is_write = (field.cmd == ReqCmd.WRITE.value) | (field.cmd == ReqCmd.WRITE_FULL.value)
    blocks = field.len[4:]
    compressible = Signal()
    m.d.comb += compressible.eq(
        Mux(is_read, field.attr == 0xFF, is_write & (field.attr == 0x00))
        & (field.num_beats == Mux(is_read, 0, blocks))
        & field.len[:4].all()
        & ~field.addr[:4].any()
        & (field.addr[4:6] + blocks <= 3)
        & ~(field.meta_data & META_DATA_MUST_BE_ZERO).any()
    )
    return compressible
