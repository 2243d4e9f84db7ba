"""The registers of a data link before two queues, and firmware that knows them by name."""

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import stream
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.config import DLConfig
from ualink.dl.registers.block import DLRegisterBlock
from ualink.dl.registers.map import dl_registers
from ualink.lib.queue import Queue

MAP = dl_registers(DLConfig())
PORTS = [1, 2, 4]


class Firmware(Master):
    """Reads and writes by name."""

    async def get(self, ctx, name: str) -> int:
        """``register.field``."""
        register, field = name.split(".")
        word, error = await self.read(ctx, MAP[register].offset)
        assert not error
        return word >> MAP[register][field].low & (1 << MAP[register][field].width) - 1

    async def put(self, ctx, register: str, **values) -> int:
        """The whole register; fields not named are 0. The error."""
        word = sum(value << MAP[register][field].low for field, value in values.items())
        return await self.write(ctx, MAP[register].offset, word)


class Bench(Elaboratable):
    """The block before two queues, in a station whose every ``ports``-th cycle is this port's.

    ``late``: the levels of the queues are those of the port's last cycle.
    """

    def __init__(self, ports: int = 1, depth: int = 4, late: bool = False):
        self.block = DLRegisterBlock(late=late)
        self.late = late
        self.ports = ports
        self.sent, self.received = Queue(32, depth), Queue(32, depth)
        self.partner = stream.Signature(32).create()
        self.firmware = Firmware(self.block.bus)
        self.config, self.status = self.block.dl_config, self.block.dl_status

    def elaborate(self, platform):
        m = Module()
        m.submodules.block, m.submodules.sent, m.submodules.received = block, sent, received = (
            self.block,
            self.sent,
            self.received,
        )
        slot = Signal(range(max(2, self.ports)))
        m.d.sync += slot.eq((slot + 1) % self.ports)
        m.d.comb += [
            block.here.eq(slot == 0),
            sent.input.valid.eq(block.uart_tx.valid & block.here),
            sent.input.payload.eq(block.uart_tx.payload),
            block.uart_tx.ready.eq(sent.input.ready),
            block.uart_rx.valid.eq(received.output.valid),
            block.uart_rx.payload.eq(received.output.payload),
            received.output.ready.eq(block.uart_rx.ready & block.here),
            received.input.valid.eq(self.partner.valid),
            received.input.payload.eq(self.partner.payload),
            self.partner.ready.eq(received.input.ready),
        ]
        with m.If(block.here if self.late else 1):
            m.d["sync" if self.late else "comb"] += [
                block.dl_status.uart_tx_level.eq(sent.level),
                block.dl_status.uart_rx_level.eq(received.level),
            ]
        return m

    async def look(self, ctx):
        """To the end of the next cycle of the port."""
        await ctx.tick().until(self.block.here)

    def run(self, *stories):
        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        for story in stories:
            simulator.add_testbench(story)
        simulator.run()
