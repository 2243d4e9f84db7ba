"""Traffic engines back to back over UPLI, and firmware that knows their registers by name."""

from collections import Counter

from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from support.csr.master import Master
from support.upli.wire import WireRules, sample
from ualink.config import CheckerConfig
from ualink.traffic.config import TrafficConfig
from ualink.traffic.engine import TrafficEngine
from ualink.upli.checker.checker import UPLIChecker
from ualink.upli.checker.rules import RULES
from ualink.upli.checker.watched import watch

SMALL = TrafficConfig(tags=8, memory_lines=32)
SWEEP = 256
"""Cycles that a clear takes, also after reset."""


class Firmware(Master):
    """Reads and writes the registers of one engine by name."""

    def __init__(self, engine: TrafficEngine):
        super().__init__(engine.bus)
        self.registers = engine.registers

    async def get(self, ctx, name: str) -> int:
        """A register with one field, or ``register.field``."""
        register, _, field = name.partition(".")
        found = self.registers[register]
        field = found[field] if field else found.fields[0]
        word, error = await self.read(ctx, found.offset)
        assert not error
        return word >> field.low & (1 << field.width) - 1

    async def put(self, ctx, register: str, **values) -> int:
        """The whole register, fields not named as after reset; the error."""
        word = 0
        for field in self.registers[register].fields:
            word |= values.pop(field.name, field.reset if field.access == "rw" else 0) << field.low
        assert not values
        return await self.write(ctx, self.registers[register].offset, word)

    async def counters(self, ctx) -> dict[str, int]:
        """All counters of one cycle; those of 64 bits whole."""
        await self.put(ctx, "snapshot", start=1)
        counts = {}
        for register in self.registers:
            if register.snapshot:
                name, _, half = register.name.rpartition("_")
                value = await self.get(ctx, register.name)
                if half in ("low", "high"):
                    counts[name] = counts.get(name, 0) | value << (32 if half == "high" else 0)
                else:
                    counts[register.name] = value
        return counts

    async def run(self, ctx, patience: int = 3_000) -> None:
        """A whole run."""
        assert not await self.put(ctx, "run", start=1)
        await self.wait(ctx, "run", patience)

    async def clear(self, ctx) -> None:
        assert not await self.put(ctx, "clear", start=1)
        await self.wait(ctx, "clear", 400)

    async def wait(self, ctx, register: str, patience: int) -> None:
        """Until the go field of ``register`` reads 0."""
        for _ in range(patience):
            if not await self.get(ctx, f"{register}.start"):
                return
        raise AssertionError(f"{register} is never done")


class Pair(Elaboratable):
    """Two engines, the source of each before the responder of the other; ``rules`` judge the first source's wire.

    ``flip`` turns one bit of the data on RdRsp to the first, behind the rules. ``checkers`` judge the wire of each
    source, without ISOLATE and with as many Requests outstanding as there are tags; ``broken`` counts what they find.
    """

    def __init__(self, config: TrafficConfig = SMALL):
        self.config = config
        self.engines = TrafficEngine(config), TrafficEngine(config)
        self.flip = Signal()
        self.firmware = [Firmware(engine) for engine in self.engines]
        released = {name: getattr(config.upli, name) for name in ("req", "orig_data", "rd_rsp", "wr_rsp")}
        self.rules = WireRules(config.ports, released)
        checks = CheckerConfig(ports=config.ports, tracked=config.tags, isolate=False)
        self.checkers = UPLIChecker(checks), UPLIChecker(checks)
        self.broken = Counter(), Counter()

    def elaborate(self, platform):
        m = Module()
        m.submodules.first, m.submodules.second = first, second = self.engines
        connect(m, first.originator, second.completer)
        connect(m, second.originator, first.completer)
        m.d.comb += first.originator.rd_rsp.data[100].eq(second.completer.rd_rsp.data[100] ^ self.flip)
        for number, (engine, checker) in enumerate(zip(self.engines, self.checkers)):
            m.submodules[f"checker_{number}"] = checker
            watch(m, checker.upli, engine.originator)
        return m

    def simulate(self, *stories, watch: bool = True):
        """Run ``stories``, each with the simulation's context."""
        simulator = Simulator(self)
        simulator.add_clock(1e-9)
        for story in stories:
            simulator.add_testbench(story)
        if watch:
            simulator.add_testbench(self._watch, background=True)
        simulator.run()

    async def _watch(self, ctx):
        while True:
            self.rules.step(sample(ctx, self.engines[1].completer))
            for checker, broken in zip(self.checkers, self.broken):
                found = ctx.get(Value.cast(checker.violations))
                broken.update(rule.name for number, rule in enumerate(RULES) if found >> number & 1)
                assert ctx.get(checker.tracking), "more Requests are outstanding than there are tags"
            await ctx.tick()
