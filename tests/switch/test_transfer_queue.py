"""The queue of whole transfers: no gap, order, depth."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.switch.bench import Sink, Source, run
from ualink.config import ConfigError
from ualink.switch.core import QueueDepths
from ualink.switch.transfer import transfer_layout
from ualink.switch.transfer_queue import TransferQueue


@pytest.mark.parametrize("depth", [3, 0, -4, True, 4.0, None])
def test_refuses_depth(depth):
    with pytest.raises(ConfigError, match=f"{depth!r}"):
        TransferQueue(transfer_layout("rd_rsp"), depth)


@pytest.mark.parametrize(("channel", "depth"), [("req", 0), ("orig_data", 3), ("rd_rsp", None), ("wr_rsp", True)])
def test_refuses_depths(channel, depth):
    depths = {"req": 1, "orig_data": 4, "rd_rsp": 4, "wr_rsp": 1}
    with pytest.raises(ConfigError, match=f"{channel}.*{depth!r}"):
        QueueDepths(**depths | {channel: depth})


@pytest.mark.parametrize("source_rate", [1.0, 0.3])
def test_offers_whole_transfers_without_a_gap(source_rate):
    """Transfers of 4, 1, 3, 4 and 2 beats through a queue that holds 4: all come, each in consecutive cycles."""
    dut = TransferQueue(transfer_layout("rd_rsp"), 4)
    end = 1 << (dut.layout.size - 1)
    sizes = [4, 1, 3, 4, 2]
    source, sink = Source(dut.input, 0, source_rate), Sink(dut.output, 0)
    for size in sizes:
        source.beats += [len(source.beats) + n | (end if n == size - 1 else 0) for n in range(size)]

    async def wait(ctx):
        while len(sink.received) < sum(sizes):
            await ctx.tick()

    run(dut, wait, background=[source.process, sink.process])
    assert [beat for _, beat in sink.received] == source.beats
    for (cycle, beat), (following, _) in zip(sink.received, sink.received[1:], strict=False):
        assert beat & end or following == cycle + 1


class QueueBench(wiring.Component):
    """A reader that stalls at will and a writer whose transfers have four beats at most."""

    def __init__(self, depth):
        self.depth = depth
        super().__init__({"valid": In(1), "end": In(1), "take": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = TransferQueue(data.StructLayout({"end": 1}), self.depth)
        m.d.comb += [
            queue.input.valid.eq(self.valid),
            queue.input.payload.end.eq(self.end),
            queue.output.ready.eq(self.take),
        ]
        pushed = queue.input.valid & queue.input.ready
        popped = queue.output.valid & queue.output.ready
        inside = Signal(range(self.depth + 1))
        m.d.sync += inside.eq(inside + pushed - popped)
        written = Signal(2)  # beats of the transfer that is being written
        within = Signal()
        with m.If(pushed):
            m.d.sync += written.eq(Mux(self.end, 0, written + 1))
            with m.If(written == 3):
                m.d.comb += Assume(self.end)
        with m.If(popped):
            m.d.sync += within.eq(~queue.output.payload.end)
            m.d.comb += Assert(inside != 0)
        with m.If(within):
            m.d.comb += Assert(queue.output.valid)
        # What does not fit would never come out.
        m.d.comb += Assert((inside != self.depth) | queue.output.valid)
        return m


@pytest.mark.req("SW-028")
def test_no_gap_and_no_standstill():
    prove(QueueBench(4), mode="bmc", depth=8)
