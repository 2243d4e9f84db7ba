"""Unloads received Requests with their data to the UPLI side."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.credit.data_buffer import BEAT_LAYOUT
from ualink.tl.credit.data_signatures import BYTE_ENABLES_LAYOUT
from ualink.tl.format.fields import first_byte_enable_slot, has_byte_enables
from ualink.tl.internal import RELEASE_LAYOUT
from ualink.upli.channels import REQ_LAYOUT, beat_stream
from ualink.upli.code import code_of, recoded

from .request_reconstruction import REQUEST_ENTRY_LAYOUT, data_needs

__all__ = ["RequestUnload"]


class RequestUnload(wiring.Component):
    """Offers Requests strictly in order; those with originator data once all of it is buffered (UALink_200 §2.7.8,
    §5.5).

    The first beat is offered in the same cycle as its Request and the others in the cycles that follow without a gap;
    Requests without data pass a transfer that is still going on. Combinational from the queues to the outputs;
    ``ready`` of an output reaches no ``valid``.

    ``flush`` stops everything but a transfer whose Request or first beat has left, which is finished, because the UPLI
    agent counts on it.

    Attributes
    ----------
    request, beat, byte_enables : Requests, their beats, and the byte-enable half-flits of those that have one.
    data_complete : pulse: all data of one more Request are buffered.
    flush : the link is down; running : ``~flush``; busy : a transfer is going on.
    rx_req, rx_orig_data : towards the UPLI Originator agent, with the code of each beat. Control of originator data is
        wrong if anything of their Request that counts for them is.
    release_req_cmd, release_req_data : buffers freed.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(REQUEST_ENTRY_LAYOUT)),
                "beat": In(stream.Signature(BEAT_LAYOUT)),
                "byte_enables": In(stream.Signature(BYTE_ENABLES_LAYOUT)),
                "data_complete": In(1),
                "flush": In(1),
                "running": In(1),
                "busy": Out(1),
                "rx_req": Out(beat_stream("req", coded=True)),
                "rx_orig_data": Out(beat_stream("orig_data", coded=True)),
                "release_req_cmd": Out(RELEASE_LAYOUT),
                "release_req_data": Out(RELEASE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        head, pool = self.request.p.beat, self.request.p.pool
        buffers = self.config.req_data.total + (self.config.rsp_data.pool if self.config.shared_data_buffer else 0)
        # Requests whose data are all there.
        complete = Signal(range(buffers + 2))
        # Of a transfer that has begun the Request, the first beat has left; both have, and more beats are to come.
        begun, req_sent, data_sent, goes_on = Signal(), Signal(), Signal(), Signal()
        # One that has begun, or could begin, may go now: ``(begun | complete.any()) & ~goes_on``, out of a register.
        may_go = Signal()

        # What the beats after the first need of their Request, which has left the queue by then.
        needed = data_needs(head, pool) | {"code": self.request.p.data_code}
        layout = data.StructLayout({name: Value.cast(value).shape() for name, value in needed.items()})
        running = Signal(layout, reset_less=True)
        index = Signal(2)
        current = Signal(layout)
        for name, value in needed.items():
            m.d.comb += current[name].eq(Mux(goes_on, running[name], value))

        brings_data = head.cmd[5]
        may_start, start = Signal(), Signal()
        m.d.comb += [
            may_start.eq((begun | self.running) & may_go),
            start.eq(self.request.valid & brings_data & may_start),
            self.rx_req.valid.eq((start & ~req_sent) | (self.request.valid & self.running & ~brings_data)),
            *(self.rx_req.p[name].eq(head[name]) for name, _ in REQ_LAYOUT),
            self.rx_req.p.code.control.eq(code_of(self.request.p.code, pool)),
            self.rx_orig_data.valid.eq(goes_on | (start & ~data_sent)),
        ]

        req_moves = self.rx_req.valid & self.rx_req.ready
        data_moves = self.rx_orig_data.valid & self.rx_orig_data.ready
        # Whether the outputs are ready is known late, whether one is valid does not matter then.
        both_go, started, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            both_go.eq((req_sent | self.rx_req.ready) & (data_sent | self.rx_orig_data.ready)),
            started.eq(start & both_go),
            self.request.ready.eq(Mux(brings_data, may_start & both_go, self.running & self.rx_req.ready)),
            leaves.eq(self.request.valid & self.request.ready),
        ]
        with m.If(start):
            m.d.sync += [
                req_sent.eq((req_sent | req_moves) & ~started),
                data_sent.eq((data_sent | data_moves) & ~started),
                begun.eq((begun | req_moves | data_moves) & ~started),
            ]

        last = Signal()
        m.d.comb += last.eq(index == current.num_beats)
        with m.If(started):
            m.d.sync += [
                *(running[name].eq(value) for name, value in needed.items()),
                index.eq(1),
                goes_on.eq(head.num_beats.any()),
                self.busy.eq(head.num_beats.any()),
            ]
        with m.Elif(goes_on & data_moves):
            m.d.sync += [index.eq(index + 1), goes_on.eq(~last), self.busy.eq(~last)]
        with m.Elif(start & (req_moves | data_moves)):
            m.d.sync += self.busy.eq(1)
        # Whether the transfer at the head starts is known late.
        more, others, may_follow, may_stay = Signal.like(complete), Signal(), Signal(), Signal()
        begins = start & (req_moves | data_moves)
        m.d.comb += [
            more.eq(Mux(self.flush, 0, complete + self.data_complete)),
            others.eq(more > 1),
            may_follow.eq(others & ~head.num_beats.any()),
            may_stay.eq((begun | begins | (more > 0)) & ~(goes_on & ~(data_moves & last))),
        ]
        m.d.sync += [
            complete.eq(Mux(started & ~self.flush, more - 1, more)),
            may_go.eq(Mux(started, may_follow, may_stay)),
        ]

        beat = self.rx_orig_data.p
        beat_index = Mux(goes_on, index, 0)
        from_half_flit = has_byte_enables(current.cmd, uwm_has_byte_enables=self.config.uwm_has_byte_enables)
        # Bit i of a byte-enable half-flit belongs to byte i of the 256-byte block, or of the transfer (ruling D04).
        block_slot, is_last = Signal(2), Signal()
        first_slot = first_byte_enable_slot(current.cmd, current.slot, reading=self.config.byte_enable_slots)
        enables = self.byte_enables.p
        m.d.comb += [
            block_slot.eq(first_slot + beat_index),
            beat.data.eq(self.beat.p.data),
            beat.error.eq(self.beat.p.error),
            beat.byte_en.eq(Mux(from_half_flit, enables.enables.word_select(block_slot, 64), Const((1 << 64) - 1))),
            beat.offset.eq(beat_index),
            is_last.eq(beat_index == current.num_beats),
            beat.last.eq(is_last),
            beat.vc.eq(current.vc),
            beat.code.data.eq(self.beat.p.code),
            # All ones are an even number of them.
            beat.code.byte_en.eq(Mux(from_half_flit, enables.code.bit_select(block_slot, 1), 0)),
            beat.code.control.eq(
                recoded(
                    (beat_index, is_last, current.vc, self.beat.p.error),
                    of=tuple(current[name] for name in needed if name != "code"),
                    code=current.code,
                )
            ),
            self.beat.ready.eq(data_moves),
            self.byte_enables.ready.eq(data_moves & is_last & from_half_flit),
        ]

        m.d.comb += [
            self.release_req_cmd.valid.eq(leaves & self.running),
            self.release_req_cmd.pool.eq(pool),
            self.release_req_cmd.vc.eq(head.vc),
            self.release_req_cmd.count.eq(1),
            self.release_req_data.valid.eq(data_moves & self.running),
            self.release_req_data.pool.eq(current.pool),
            self.release_req_data.vc.eq(current.vc),
            self.release_req_data.count.eq(1),
        ]
        return m
