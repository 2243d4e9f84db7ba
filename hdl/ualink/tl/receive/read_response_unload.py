"""Unloads received Read Responses with their data to the UPLI side."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.credit.data_buffer import BEAT_LAYOUT
from ualink.tl.internal import RELEASE_LAYOUT
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of

from .response_reconstruction import READ_RESPONSE_ENTRY_LAYOUT

__all__ = ["ReadResponseUnload"]


class ReadResponseUnload(wiring.Component):
    """Offers Read Responses in order, each once all its beats are buffered, without a gap (UALink_200 §2.7.8, §5.5).

    Combinational from the queues to the output; ``ready`` reaches no ``valid``. ``flush`` stops everything but a burst
    whose first beat has left, which is finished.

    Attributes
    ----------
    response, beat : Read Responses and their beats.
    data_complete : pulse: all data of one more Read Response are buffered.
    flush : the link is down; running : ``~flush``; busy : a burst is going on.
    rx_rd_rsp : towards the UPLI Completer agent, with the code of each beat.
    release_cmd, release_data : buffers freed.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "response": In(stream.Signature(READ_RESPONSE_ENTRY_LAYOUT)),
                "beat": In(stream.Signature(BEAT_LAYOUT)),
                "data_complete": In(1),
                "flush": In(1),
                "running": In(1),
                "busy": Out(1),
                "rx_rd_rsp": Out(beat_stream("rd_rsp", coded=True)),
                "release_cmd": Out(RELEASE_LAYOUT),
                "release_data": Out(RELEASE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        head = self.response.p
        buffers = self.config.rsp_data.total + (self.config.req_data.pool if self.config.shared_data_buffer else 0)
        # Read Responses whose data are all there, and whether there is one.
        complete, some_complete = Signal(range(buffers + 2)), Signal()
        index = Signal(2)
        final = Signal()
        beat = self.rx_rd_rsp.p
        may_go, moves, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            self.busy.eq(index.any()),
            final.eq(index == head.num_beats),
            may_go.eq(self.busy | (some_complete & self.running)),
            self.rx_rd_rsp.valid.eq(self.response.valid & may_go),
            moves.eq(self.rx_rd_rsp.valid & self.rx_rd_rsp.ready),
            leaves.eq(moves & final),
            self.response.ready.eq(may_go & final & self.rx_rd_rsp.ready),
            self.beat.ready.eq(moves),
        ]
        with m.If(moves):
            m.d.sync += index.eq(index + 1)
            with m.If(final):
                m.d.sync += index.eq(0)
        with m.If(self.flush):
            m.d.sync += [complete.eq(0), some_complete.eq(0)]
        with m.Else():
            more = complete + self.data_complete
            m.d.sync += [complete.eq(Mux(leaves, more - 1, more)), some_complete.eq(Mux(leaves, more > 1, more > 0))]

        offset, last = Signal(2), Signal()
        m.d.comb += [
            offset.eq(head.offset),
            last.eq(head.last),
            beat.data.eq(self.beat.p.data),
            beat.data_error.eq(self.beat.p.error),
            beat.offset.eq(offset),
            beat.last.eq(last),
            beat.code.data.eq(self.beat.p.code),
            # ``pool`` goes, ``data_error`` comes, two may become others; all else stays as it is in the code.
            beat.code.control.eq(
                code_of(head.code, head.pool, self.beat.p.error, head.offset, head.last, offset, last)
            ),
        ]
        for name in ("auth_tag", "src_phys_acc_id", "dst_phys_acc_id", "tag", "num_beats", "status", "vc"):
            m.d.comb += beat[name].eq(head[name])
        with m.If(head.num_beats.any()):
            m.d.comb += [offset.eq(index), last.eq(final)]

        for release, freed in ((self.release_cmd, leaves), (self.release_data, moves)):
            m.d.comb += [
                release.valid.eq(freed & self.running),
                release.pool.eq(head.pool),
                release.vc.eq(head.vc),
                release.count.eq(1),
            ]
        return m
