"""Requests of a TL receiver, from the Control half-flit to UPLI."""

from amaranth.hdl import Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.headed_queue import headed_queue
from ualink.tl.credit.check import CreditCheck
from ualink.tl.credit.data_signatures import BYTE_ENABLES_LAYOUT, ClassDataSignature
from ualink.tl.format.auth_tags import assign, stored
from ualink.tl.internal import RELEASE_LAYOUT
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of

from .catch_buffer import places_layout
from .control_decoder import SECTORS, request_field
from .error import ReceiveError
from .field_codes import request_code
from .request_reconstruction import CATCH_REQUEST_LAYOUT, REQUEST_ENTRY_LAYOUT, RequestReconstruction, named_entry
from .request_unload import RequestUnload
from .unhurried_catch import catch_buffer

__all__ = ["ReceiveRequests"]


class ReceiveRequests(wiring.Component):
    """Catches the Requests of a Control half-flit, rebuilds one per cycle, checks its command credit, queues it and
    unloads it with its data, all strictly in order (UALink_200 §5.5, §5.7).

    A Request loaded in cycle t is rebuilt in t + 1 or later, checked in the cycle after that and offered one cycle
    later still, in t + 3. The Rx Address Cache is cleared after reset, a row per cycle; until it is, ``ready`` is low
    and no Request may come.

    What the Rx Address Cache holds outlives a link down (UALink_200 §5.6.2): every Request that was accepted loads it,
    also one that is in the catch buffer or is caught while ``flush`` is high, of which nothing else is left.

    Attributes
    ----------
    load : a flit was accepted.
    half_flit : a Control half-flit with Requests where ``places`` says so (``places_layout``).
    code : even parity over each sector of it.
    tags, tag_slot : the AuthTags half-flit, 0 if there is none, and the tag that belongs to each sector;
        tag_code : even parity over this tag.
    flush : the link is down, or a transfer of before is still going on, then ``data.busy`` is high, or a Request of
        before is still ``caught``. running : ``~flush``.
    ready : level, Requests may come. is_switch, disable_rx_cache : level, constant while the link is online.
    halted : an error was found: nothing more is rebuilt.
    data, byte_enables : originator data (``RequestUnload``) and the data credits that a Request spends.
    error : combinational: what is wrong with the Request that is checked.
    rx_req, rx_orig_data : towards the UPLI Originator agent.
    release_cmd : buffers freed.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "load": In(1),
                "half_flit": In(256),
                "code": In(SECTORS),
                "places": In(places_layout(4)),
                "tags": In(data.ArrayLayout(64, 4)),
                "tag_slot": In(data.ArrayLayout(2, 8)),
                "tag_code": In(SECTORS),
                "flush": In(1),
                "running": In(1),
                "caught": Out(1),
                "ready": Out(1),
                "is_switch": In(1),
                "disable_rx_cache": In(1),
                "halted": In(1),
                "data": In(ClassDataSignature()),
                "byte_enables": In(stream.Signature(BYTE_ENABLES_LAYOUT)),
                "error": Out(ReceiveError),
                "rx_req": Out(beat_stream("req", coded=True)),
                "rx_orig_data": Out(beat_stream("orig_data", coded=True)),
                "release_cmd": Out(RELEASE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        caught = stored(CATCH_REQUEST_LAYOUT, config.authentication)
        entry = stored(REQUEST_ENTRY_LAYOUT, config.authentication)
        m.submodules.unload = unload = RequestUnload(config)
        # What is behind an error is dropped, before the next session can begin.
        wrong = Signal(ReceiveError)
        stop = self.halted | (wrong != ReceiveError.NONE)
        catch = catch_buffer(config, 4, caught, foreseen=config.rx_cache.rows > 0)
        m.submodules.catch = catch = ResetInserter(stop)(catch)
        m.submodules.reconstruction = rebuild = RequestReconstruction(config)
        decisive = ("cmd", "num_beats", "vc", "pool")
        queue = headed_queue(
            entry, config.req_cmd.total, decisive=decisive, lean=config.lean, unhurried=config.unhurried
        )
        m.submodules.queue = queue = ResetInserter(self.flush & ~unload.busy)(queue)
        m.submodules.credits = credits = ResetInserter(self.flush)(CreditCheck(config.req_cmd))

        m.d.comb += [
            catch.load.eq(self.load),
            catch.places.eq(self.places),
            self.caught.eq(catch.output.valid),
        ]
        for pair, field in enumerate(catch.field):
            lower, upper = request_code(self.code, pair)
            named = (Const(0),)
            m.d.comb += [
                field.field.eq(request_field(self.half_flit, pair)),
                field.auth_tag.eq(self.tags[self.tag_slot[2 * pair + 1]]),
            ]
            if config.rx_cache.rows:
                named = row, way = named_entry(config, self.is_switch, request_field(self.half_flit, pair))
                m.d.comb += [field.row.eq(row), field.way.eq(way)]
            m.d.comb += [
                field.code.lower.eq(lower),
                field.code.upper.eq(upper ^ self.tag_code[2 * pair + 1] ^ code_of(*named)),
            ]

        m.d.comb += [
            rebuild.field.valid.eq(catch.output.valid),
            *assign(rebuild.field.p, catch.output.p),
            rebuild.following_row.eq(catch.following.row),
            rebuild.consume.eq(~stop),
            rebuild.disable.eq(self.disable_rx_cache),
            self.ready.eq(rebuild.ready),
        ]
        # One cycle later: is it whole, and paid for?
        checked, missing, mismatch = Signal(), Signal(), Signal()
        request = Signal(entry, reset_less=True)
        m.d.sync += [
            checked.eq(catch.output.valid & ~stop),
            missing.eq((rebuild.missing | rebuild.load_outside) & ~stop),
            mismatch.eq(rebuild.cache_error & ~stop),
            *assign(request.beat, rebuild.request.p.beat),
            request.pool.eq(rebuild.request.p.pool),
            request.code.eq(rebuild.code),
            request.data_code.eq(rebuild.data_code),
        ]
        beats = Mux(request.beat.cmd[5], request.beat.num_beats + 1, 0)
        for spent, count in ((credits.spent, 1), (self.data.spent, beats)):
            m.d.comb += [
                spent.valid.eq(checked & ~self.halted & self.running),
                spent.pool.eq(request.pool),
                spent.vc.eq(request.beat.vc),
                spent.count.eq(count),
            ]
        m.d.comb += [
            queue.input.p.eq(request),
            queue.input.valid.eq(
                credits.spent.valid & ~mismatch & ~missing & ~credits.underflow & ~self.data.underflow
            ),
            *assign(unload.request.p, queue.output.p),
            unload.request.valid.eq(queue.output.valid),
            queue.output.ready.eq(unload.request.ready),
        ]
        with m.If(mismatch):
            m.d.comb += wrong.eq(ReceiveError.ADDRESS_CACHE_PARITY)
        with m.Elif(missing):
            m.d.comb += wrong.eq(ReceiveError.ADDRESS_CACHE)
        with m.Elif(credits.underflow):
            m.d.comb += wrong.eq(ReceiveError.REQ_CMD_CREDIT)
        with m.Elif(self.data.underflow):
            m.d.comb += wrong.eq(ReceiveError.REQ_DATA_CREDIT)
        with m.If(~self.flush):
            m.d.comb += self.error.eq(wrong)

        wiring.connect(m, wiring.flipped(self.data.beat), unload.beat)
        wiring.connect(m, wiring.flipped(self.byte_enables), unload.byte_enables)
        for name in ("rx_req", "rx_orig_data"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(unload, name))
        m.d.comb += [
            unload.flush.eq(self.flush),
            unload.running.eq(self.running),
            self.data.busy.eq(unload.busy),
            unload.data_complete.eq(self.data.complete),
            self.release_cmd.eq(unload.release_req_cmd),
            self.data.release.eq(unload.release_req_data),
        ]
        # The partner learns of it later still.
        m.d.sync += credits.release[0].eq(unload.release_req_cmd)
        return m
