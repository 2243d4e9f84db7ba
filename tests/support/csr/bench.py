"""A register block with every kind of field, before two queues."""

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import stream
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.lib.queue import Queue

TABLE = RegisterMap(
    "example",
    (
        Register("about", 0x00, (Field("version", "15:8", Access.CONSTANT, 0xA5), Field("now", "3:0", Access.RO))),
        Register(
            "control",
            0x04,
            (
                Field("mode", "2:0", Access.RW, 4, allowed=(1, 2, 4)),
                Field("limit", "15:8", Access.RW, 50, allowed=range(17, 200)),
                Field("word", "31:16", Access.RW, 0xBEEF),
            ),
        ),
        Register("events", 0x0C, (Field("one", "0", Access.W1C), Field("many", "7:4", Access.W1C))),
        Register("job", 0x10, (Field("start", "0", Access.GO), Field("size", "11:4", Access.RW, 7))),
        Register("out", 0x14, (Field("data", "31:0", Access.PUSH),)),
        Register("into", 0x18, (Field("data", "31:0", Access.POP),)),
        Register("take", 0x1C, (Field("start", "0", Access.GO),)),
        Register("first", 0x20, (Field("count", "31:0", Access.RO),), snapshot="take"),
        Register("second", 0x24, (Field("count", "31:0", Access.RO),), snapshot="take"),
    ),
)


class Bench(Elaboratable):
    """The block of ``TABLE`` before two queues that move, as everything behind it, in every ``ports``-th cycle."""

    def __init__(self, ports: int = 1, depth: int = 4):
        self.block = RegisterBlock(TABLE)
        self.sent, self.received = Queue(32, depth), Queue(32, depth)
        self.fill, self.drain = stream.Signature(32).create(), stream.Signature(32).create()
        self.ports = ports
        self.master = Master(self.block.bus)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block, m.submodules.sent, m.submodules.received = self.block, self.sent, self.received
        slot = Signal(range(max(2, self.ports)))
        m.d.sync += slot.eq((slot + 1) % self.ports)
        here = self.block.here
        source, sink = self.block.into.data, self.block.out.data
        m.d.comb += [
            here.eq(slot == 0),
            self.sent.input.valid.eq(sink.valid & here),
            self.sent.input.payload.eq(sink.payload),
            sink.ready.eq(self.sent.input.ready),
            source.valid.eq(self.received.output.valid),
            source.payload.eq(self.received.output.payload),
            self.received.output.ready.eq(source.ready),
            self.received.input.valid.eq(self.fill.valid),
            self.received.input.payload.eq(self.fill.payload),
            self.fill.ready.eq(self.received.input.ready),
            self.drain.valid.eq(self.sent.output.valid),
            self.drain.payload.eq(self.sent.output.payload),
            self.sent.output.ready.eq(self.drain.ready),
        ]
        return m

    def run(self, *stories, background=()):
        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        for story in (*stories, *background):
            simulator.add_testbench(story, background=story in background)
        simulator.run()


async def stream_put(ctx, target, word):
    ctx.set(target.payload, word)
    ctx.set(target.valid, 1)
    await ctx.tick().until(target.ready)
    ctx.set(target.valid, 0)
