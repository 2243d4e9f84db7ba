"""Rebuilds the UPLI Request from a Request field."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.cache.row import at_this_end
from ualink.tl.cache.rx_address_cache import RxAddressCache
from ualink.tl.format.fields import COMPRESSED_REQUEST, UNCOMPRESSED_REQUEST, CompressedCmd, FType
from ualink.upli.channels import REQ_LAYOUT
from ualink.upli.code import code_of, wrong
from ualink.upli.commands import ReqCmd

from .field_codes import FIELD_CODE_LAYOUT

__all__ = [
    "CATCH_REQUEST_LAYOUT",
    "REBUILT_REQUEST_LAYOUT",
    "REQUEST_ENTRY_LAYOUT",
    "RequestReconstruction",
    "data_needs",
    "named_entry",
]

CATCH_REQUEST_LAYOUT = data.StructLayout({"field": 128, "auth_tag": 64, "row": 10, "way": 2, "code": FIELD_CODE_LAYOUT})
"""A Request field in the catch buffer, with its authentication tag, 0 if there is none, and the ``row`` and ``way`` of
the Rx Address Cache that it names; a Compressed Request is in the upper half of ``field``. ``code.upper`` covers the
tag, ``row`` and ``way`` too."""

REBUILT_REQUEST_LAYOUT = data.StructLayout({"beat": REQ_LAYOUT, "pool": 1})
"""A Request; ``pool`` is POOL of its field, VCHAN is ``beat.vc``."""

REQUEST_ENTRY_LAYOUT = data.StructLayout({"beat": REQ_LAYOUT, "pool": 1, "code": 1, "data_code": 1})
"""A Request in the receive queue. Even parity: ``code`` over ``beat`` and ``pool``; ``data_code`` over what its data
need (``data_needs``), wrong if anything of the field was."""

_REQ_CMD = {
    CompressedCmd.READ: ReqCmd.READ,
    CompressedCmd.WRITE: ReqCmd.WRITE,
    CompressedCmd.WRITE_FULL: ReqCmd.WRITE_FULL,
}


def data_needs(beat, pool) -> dict:
    """What the data of a Request need of its ``beat`` and ``pool`` on their way to UPLI, by name; ``slot`` is the
    64-byte block in 256 bytes that it addresses."""
    return {"cmd": beat.cmd, "num_beats": beat.num_beats, "slot": beat.addr[6:8], "vc": beat.vc, "pool": pool}


def named_entry(config: TLConfig, is_switch, field):
    """Row and way of the Rx Address Cache that a Request field of either format names."""
    long = data.View(UNCOMPRESSED_REQUEST, field)
    short = data.View(COMPRESSED_REQUEST, field[64:])
    is_short = short.ftype == FType.COMPRESSED_REQUEST.value
    source, destination = (Mux(is_short, short[name], long[name]) for name in ("src_acc_id", "dst_acc_id"))
    return at_this_end(config, is_switch, source, destination), Mux(is_short, short.cway, long.cway)


class RequestReconstruction(wiring.Component):
    """Turns Request fields, in order, into Requests, within the cycle (UALink_200 §5.9.1, §5.9.3).

    What a Compressed Request leaves out of its address comes from the Rx Address Cache, which an Uncompressed Request
    with CLOAD loads, for the Request behind it already (UALink_200 §5.6.1). Without the cache (``config.rx_cache.rows``
    0) CLOAD is ignored. With ``disable`` it breaks no rule either; what exists is loaded all the same, so that the
    cache has what the partner believes when it is used again.

    The codes of a Request are made of that of its field, of what is not taken over and of what is added: an upset of
    the field before shows in them, and no tree of parity stands behind the Rx Address Cache.

    Plain Reads get num_beats 0, whatever NUMBEATS says; other commands keep it (ruling D05).

    Attributes
    ----------
    field : Request fields as ``request_field`` gives them, with legal commands; each counts in the one cycle in which
        it is valid.
    following_row : the row that ``field`` names in the next cycle, if it is valid then.
    consume : what is wrong with the receiver does not stop it: a load counts.
    disable : level, do without the Rx Address Cache (UALink_200 §5.10).
    ready : level, the cache is cleared after reset; no Request may come before.
    request : the Requests; none of a field with which something is wrong. code, data_code : their codes, as in
        ``REQUEST_ENTRY_LAYOUT``. They are no part of its payload: a part of a vector that makes another part of it
        looks like a loop.
    missing : the field is a Compressed Request, and its entry was never loaded or does not exist.
    load_outside : the field loads an entry that does not exist, or comes before ``ready``.
    cache_error : the field is a Compressed Request, and its entry has changed by itself.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "field": In(stream.Signature(CATCH_REQUEST_LAYOUT, always_ready=True)),
                "following_row": In(10),
                "consume": In(1),
                "disable": In(1),
                "ready": Out(1),
                "request": Out(stream.Signature(REBUILT_REQUEST_LAYOUT, always_ready=True)),
                "code": Out(1),
                "data_code": Out(1),
                "missing": Out(1),
                "load_outside": Out(1),
                "cache_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        short = data.View(COMPRESSED_REQUEST, self.field.p.field[64:])
        compressed = Signal()
        m.d.comb += compressed.eq(short.ftype == FType.COMPRESSED_REQUEST.value)
        look_up = self._look_up if self.config.rx_cache.rows else self._do_without
        region, region_code = look_up(m, compressed)
        m.d.comb += [
            self.request.valid.eq(self.field.valid & ~self.missing & ~self.load_outside & ~self.cache_error),
            self.request.p.beat.auth_tag.eq(self.field.p.auth_tag),
        ]
        with m.If(compressed):
            self._expand(m, short, region, region_code)
        with m.Else():
            self._take_over(m)
        # Nothing of the lower half is in a Compressed Request.
        caught = self.field.p
        lower_wrong = wrong(caught.code.lower, caught.field[:64]) & ~compressed
        upper_wrong = wrong(caught.code.upper, caught.field[64:], caught.auth_tag, caught.row, caught.way)
        needs = code_of(*data_needs(self.request.p.beat, self.request.p.pool).values())
        m.d.comb += self.data_code.eq(needs ^ lower_wrong ^ upper_wrong)
        return m

    def _do_without(self, m, compressed):
        m.d.comb += [self.ready.eq(1), self.missing.eq(self.field.valid & compressed)]
        return Const(0, 37), Const(0)

    def _look_up(self, m, compressed):
        """Obeys CLOAD and gives the region of a Compressed Request, and its code."""
        rows, ways = self.config.rx_cache.rows, self.config.rx_cache.ways
        m.submodules.cache = cache = RxAddressCache(rows, ways)

        field = data.View(UNCOMPRESSED_REQUEST, self.field.p.field)
        row, way = self.field.p.row, self.field.p.way
        present, usable, rebuilt, loads = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            present.eq((row < rows) & (way < ways) & cache.ready),
            usable.eq(present & ~self.disable),
            rebuilt.eq(self.field.valid & compressed),
            loads.eq(self.field.valid & ~compressed & field.cload),
            cache.following_row.eq(self.following_row),
            cache.row.eq(row),
            cache.way.eq(way),
            cache.load.eq(loads & present & self.consume),
            cache.load_region.eq(field.addr[18:]),
            self.ready.eq(cache.ready),
            self.missing.eq(rebuilt & ~(usable & (cache.known | cache.mismatch))),
            self.load_outside.eq(loads & ~present & ~self.disable),
            self.cache_error.eq(rebuilt & usable & cache.mismatch),
        ]
        return cache.region, cache.region_code

    def _expand(self, m, short, region, region_code):
        caught, beat = self.field.p, self.request.p.beat
        is_read = short.cmd == CompressedCmd.READ.value
        m.d.comb += [
            self.request.p.pool.eq(short.pool),
            beat.asi.eq(short.asi),
            beat.src_phys_acc_id.eq(short.src_acc_id),
            beat.dst_phys_acc_id.eq(short.dst_acc_id),
            beat.tag.eq(short.tag),
            beat.addr.eq(Cat(Const(0, 6), short.addr, region)),
            beat.len.eq(Cat(Const(0xF, 4), short.len)),
            beat.attr.eq(Mux(is_read, 0xFF, 0x00)),
            beat.meta_data.eq(short.meta_data),
            beat.vc.eq(short.vchan),
            beat.num_beats.eq(Mux(is_read, 0, short.len)),
            # What else is added has an even number of ones.
            self.code.eq(
                code_of(
                    caught.code.upper,
                    *(caught.row, caught.way, short.cway, short.cmd, short.ftype),
                    *(region_code, beat.cmd, beat.num_beats),
                )
            ),
        ]
        with m.Switch(short.cmd):
            for code, command in _REQ_CMD.items():
                with m.Case(code.value):
                    m.d.comb += beat.cmd.eq(command.value)

    def _take_over(self, m):
        caught, beat = self.field.p, self.request.p.beat
        field = data.View(UNCOMPRESSED_REQUEST, caught.field)
        is_read = field.cmd == ReqCmd.READ.value
        m.d.comb += [
            self.request.p.pool.eq(field.pool),
            beat.asi.eq(field.asi),
            beat.src_phys_acc_id.eq(field.src_acc_id),
            beat.dst_phys_acc_id.eq(field.dst_acc_id),
            beat.tag.eq(field.tag),
            beat.addr[2:].eq(field.addr),
            beat.cmd.eq(field.cmd),
            beat.len.eq(field.len),
            beat.attr.eq(field.attr),
            beat.meta_data.eq(field.meta_data),
            beat.vc.eq(field.vchan),
            beat.num_beats.eq(Mux(is_read, 0, field.num_beats)),
            self.code.eq(
                code_of(
                    *(caught.code.lower, caught.code.upper, caught.row, caught.way),
                    *(field.cway, field.cload, field.ftype, Mux(is_read, field.num_beats, 0)),
                )
            ),
        ]
