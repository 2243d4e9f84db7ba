"""Responses of a TL receiver, from the Control half-flit to UPLI."""

from amaranth.hdl import Const, Module, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.headed_queue import headed_queue
from ualink.tl.credit.check import CreditCheck
from ualink.tl.credit.data_signatures import ClassDataSignature
from ualink.tl.format.auth_tags import assign, stored
from ualink.tl.internal import RELEASE_LAYOUT
from ualink.upli.channels import WR_RSP_LAYOUT, beat_stream
from ualink.upli.code import code_of, wrong
from ualink.upli.commands import Status

from .catch_buffer import places_layout
from .control_decoder import SECTORS, response_field
from .error import ReceiveError
from .field_codes import response_code
from .read_response_unload import ReadResponseUnload
from .response_reconstruction import (
    CATCH_RESPONSE_LAYOUT,
    READ_RESPONSE_ENTRY_LAYOUT,
    WRITE_RESPONSE_ENTRY_LAYOUT,
    ResponseReconstruction,
)
from .unhurried_catch import catch_buffer

__all__ = ["ReceiveResponses"]


class ReceiveResponses(wiring.Component):
    """Catches the Responses of a Control half-flit, rebuilds one per cycle, checks its command credit and unloads it,
    Read Responses with their data (UALink_200 §5.5, §5.7).

    Read and Write Responses part behind the catch buffer, so neither waits for the other; each kind stays in order. A
    Response loaded in cycle t is rebuilt in t + 1 or later, checked in the cycle after that and offered one cycle later
    still, in t + 3.

    Attributes
    ----------
    load : a flit was accepted.
    half_flit : a Control half-flit with Responses where ``places`` says so (``places_layout``).
    code : even parity over each sector of it.
    tags, tag_slot : the AuthTags half-flit, 0 if there is none, and the tag that belongs to each sector;
        tag_code : even parity over this tag.
    flush : the link is down, or a burst of before is still going on, then ``data.busy`` is high. running : ``~flush``.
    halted : an error was found: nothing more is rebuilt.
    data : read data (``ReadResponseUnload``) and the data credits that a Response spends.
    error : combinational: what is wrong with the Response that is checked.
    isolate : pulse: a Write Response with status ISOLATE leaves the queue, and is dropped. No partner may send one,
        and nobody checks its tag (UALink_200 §9.5.6), so it must not reach the Originator (ruling A-20 of RAS).
    rx_rd_rsp, rx_wr_rsp : towards the UPLI Completer agent.
    release_read_cmd, release_write_cmd : buffers freed.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "load": In(1),
                "half_flit": In(256),
                "code": In(SECTORS),
                "places": In(places_layout(8)),
                "tags": In(data.ArrayLayout(64, 4)),
                "tag_slot": In(data.ArrayLayout(2, 8)),
                "tag_code": In(SECTORS),
                "flush": In(1),
                "running": In(1),
                "halted": In(1),
                "data": In(ClassDataSignature()),
                "error": Out(ReceiveError),
                "isolate": Out(1),
                "rx_rd_rsp": Out(beat_stream("rd_rsp", coded=True)),
                "rx_wr_rsp": Out(beat_stream("wr_rsp", coded=True)),
                "release_read_cmd": Out(RELEASE_LAYOUT),
                "release_write_cmd": Out(RELEASE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        depth = config.rsp_cmd.total
        caught, read_entry, write_entry = (
            stored(layout, config.authentication)
            for layout in (CATCH_RESPONSE_LAYOUT, READ_RESPONSE_ENTRY_LAYOUT, WRITE_RESPONSE_ENTRY_LAYOUT)
        )
        m.submodules.unload = unload = ReadResponseUnload(config)
        m.submodules.catch = catch = ResetInserter(self.flush)(catch_buffer(config, 8, caught))
        m.submodules.reconstruction = rebuild = ResponseReconstruction()
        reads = headed_queue(
            read_entry, depth, decisive=("num_beats", "vc", "pool"), lean=config.lean, unhurried=config.unhurried
        )
        # What is to be dropped ``isolates`` and does not ``stay``: no upset of one bit has anything dropped.
        marked = data.StructLayout({**{name: field.shape for name, field in write_entry}, "isolates": 1, "stays": 1})
        decisive = ("vc", "pool", "isolates", "stays")
        writes = headed_queue(marked, depth, decisive=decisive, lean=config.lean, unhurried=config.unhurried)
        m.submodules.read_queue = reads = ResetInserter(self.flush & ~unload.busy)(reads)
        m.submodules.write_queue = writes = ResetInserter(self.flush)(writes)
        m.submodules.credits = credits = ResetInserter(self.flush)(CreditCheck(config.rsp_cmd, releases=2))

        m.d.comb += [
            catch.load.eq(self.load),
            catch.places.eq(self.places),
        ]
        for sector, field in enumerate(catch.field):
            lower, upper = response_code(self.code, sector)
            m.d.comb += [
                field.code.lower.eq(lower),
                field.code.upper.eq(upper ^ self.tag_code[sector]),
                field.field.eq(response_field(self.half_flit, sector)),
                field.auth_tag.eq(self.tags[self.tag_slot[sector]]),
            ]
        m.d.comb += [
            rebuild.field.valid.eq(catch.output.valid),
            *assign(rebuild.field.p, catch.output.p),
        ]

        # One cycle later: is it paid for? POOL and VCHAN are at the same place in both kinds.
        read = Signal(read_entry, reset_less=True)
        write = Signal(write_entry, reset_less=True)
        reads_valid, writes_valid = Signal(), Signal()
        m.d.sync += [
            reads_valid.eq(rebuild.read.valid),
            *assign(read, rebuild.read.p),
            writes_valid.eq(rebuild.write.valid),
            *assign(write, rebuild.write.p),
        ]
        stopped = self.halted | ~self.running
        m.d.comb += [
            credits.spent.valid.eq((reads_valid | writes_valid) & ~stopped),
            credits.spent.pool.eq(read.pool),
            credits.spent.vc.eq(read.vc),
            credits.spent.count.eq(1),
            self.data.spent.valid.eq(reads_valid & ~stopped),
            self.data.spent.pool.eq(read.pool),
            self.data.spent.vc.eq(read.vc),
            self.data.spent.count.eq(read.num_beats + 1),
        ]
        good = ~stopped & ~credits.underflow & ~self.data.underflow
        # What became an ISOLATE by an upset must not vanish: it leaves, and its code is wrong.
        isolates = Signal()
        is_whole = ~wrong(write.code, write.beat, write.pool)
        m.d.comb += [
            reads.input.p.eq(read),
            reads.input.valid.eq(reads_valid & good),
            isolates.eq((write.beat.status == Status.ISOLATE.value) & is_whole),
            writes.input.p.beat.eq(write.beat),
            writes.input.p.pool.eq(write.pool),
            writes.input.p.isolates.eq(isolates),
            writes.input.p.stays.eq(~isolates),
            writes.input.p.code.eq(write.code),
            writes.input.valid.eq(writes_valid & good),
        ]
        with m.If(credits.underflow):
            m.d.comb += self.error.eq(ReceiveError.RSP_CMD_CREDIT)
        with m.Elif(self.data.underflow):
            m.d.comb += self.error.eq(ReceiveError.RSP_DATA_CREDIT)

        first, dropped = writes.output.p, Signal()
        m.d.comb += [
            *assign(unload.response.p, reads.output.p),
            unload.response.valid.eq(reads.output.valid),
            reads.output.ready.eq(unload.response.ready),
            unload.flush.eq(self.flush),
            unload.running.eq(self.running),
            unload.data_complete.eq(self.data.complete),
            self.data.busy.eq(unload.busy),
            self.release_read_cmd.eq(unload.release_cmd),
            self.data.release.eq(unload.release_data),
            *(self.rx_wr_rsp.p[name].eq(first.beat[name]) for name, _ in WR_RSP_LAYOUT),
            # One of the two marks is set.
            self.rx_wr_rsp.p.code.control.eq(code_of(first.code, first.pool, first.isolates, first.stays, Const(1))),
            dropped.eq(first.isolates & ~first.stays),
            self.isolate.eq(writes.output.valid & self.running & dropped),
            self.rx_wr_rsp.valid.eq(writes.output.valid & self.running & ~dropped),
            writes.output.ready.eq(self.rx_wr_rsp.ready | dropped),
            self.release_write_cmd.valid.eq(writes.output.valid & self.running & writes.output.ready),
            self.release_write_cmd.pool.eq(first.pool),
            self.release_write_cmd.vc.eq(first.beat.vc),
            self.release_write_cmd.count.eq(1),
        ]
        # The partner learns of them later still.
        m.d.sync += [
            credits.release[0].eq(self.release_read_cmd),
            credits.release[1].eq(self.release_write_cmd),
        ]
        wiring.connect(m, wiring.flipped(self.data.beat), unload.beat)
        wiring.connect(m, wiring.flipped(self.rx_rd_rsp), unload.rx_rd_rsp)
        return m
