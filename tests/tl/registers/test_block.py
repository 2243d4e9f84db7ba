"""The registers of a transaction layer: what firmware sets reaches it, and what it shows is read."""

import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.config import AddressCacheConfig, TLConfig
from ualink.tl.control import NATURAL_LIMITS
from ualink.tl.receive.error import ReceiveError
from ualink.tl.registers.block import TLRegisterBlock
from ualink.tl.registers.map import EVENTS, tl_registers
from ualink.tl.session.drop_mode import DROP_CAUSE_LAYOUT

MAP = tl_registers(TLConfig())


class Bench(Elaboratable):
    """The block in a station whose every ``ports``-th cycle is this port's; ``pulses`` counts cycles with ``here``."""

    def __init__(self, ports: int = 1):
        self.block = TLRegisterBlock()
        self.master = Master(self.block.bus)
        self.ports = ports
        self.pulses = {name: Signal(8) for name in ("enter_drop", "clear_drop", "invalidate_tx_entry")}

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = self.block
        slot = Signal(range(max(2, self.ports)))
        m.d.sync += slot.eq((slot + 1) % self.ports)
        m.d.comb += self.block.here.eq(slot == 0)
        for name, count in self.pulses.items():
            with m.If(self.block.here & getattr(self.block.tl_control, name)):
                m.d.sync += count.eq(count + 1)
        return m

    async def get(self, ctx, name: str) -> int:
        register, field = name.split(".")
        word, error = await self.master.read(ctx, MAP[register].offset)
        assert not error
        return word >> MAP[register][field].low & (1 << MAP[register][field].width) - 1

    async def put(self, ctx, register: str, **values) -> int:
        word = sum(value << MAP[register][field].low for field, value in values.items())
        return await self.master.write(ctx, MAP[register].offset, word)

    def run(self, story):
        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        simulator.add_testbench(story)
        simulator.run()


def test_after_reset_everything_is_off():
    bench = Bench()

    async def story(ctx):
        for path, _, value in bench.block.tl_control.signature.flatten(bench.block.tl_control):
            assert ctx.get(Value.cast(value)) == 0, path
        for register in MAP:
            word, error = await bench.master.read(ctx, register.offset)
            assert (word, error) == (sum(field.reset << field.low for field in register.fields), 0), register.name

    bench.run(story)


def test_control_reaches_the_transaction_layer():
    bench = Bench()

    async def story(ctx):
        control = bench.block.tl_control
        for field in MAP["control"].fields:
            assert await bench.put(ctx, "control", **{field.name: 1}) == 0
            for other in MAP["control"].fields:
                assert ctx.get(getattr(control, other.name)) == (other is field)
            assert await bench.get(ctx, f"control.{field.name}") == 1

    bench.run(story)


def test_limits_have_a_range():
    bench = Bench()

    async def story(ctx):
        for name, most in NATURAL_LIMITS.items():
            assert await bench.put(ctx, "limits", **{name: most}) == 0
            assert ctx.get(getattr(bench.block.tl_control.limits, name)) == most
            assert await bench.get(ctx, "events.config_error") == 0
            if most + 1 < 1 << MAP["limits"][name].width:
                assert await bench.put(ctx, "limits", **{name: most + 1}) == 1
                assert await bench.get(ctx, f"limits.{name}") == most
                assert await bench.get(ctx, "events.config_error") == 1
                assert await bench.put(ctx, "events", config_error=1) == 0

    bench.run(story)


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_a_command_is_seen_once_by_its_port(ports):
    bench = Bench(ports)

    async def story(ctx):
        expected = dict.fromkeys(bench.pulses, 0)
        for _ in range(ports):
            for register, member in (
                ("enter_drop", "enter_drop"),
                ("clear_drop", "clear_drop"),
                ("invalidate", "invalidate_tx_entry"),
            ):
                assert await bench.put(ctx, register, start=1) == 0
                expected[member] += 1
                await ctx.tick().repeat(4 * ports)
                assert {name: ctx.get(count) for name, count in bench.pulses.items()} == expected
                assert await bench.get(ctx, f"{register}.start") == 0
            await ctx.tick()  # the next round begins in another cycle of the port

    bench.run(story)


def test_an_entry_is_named():
    bench = Bench()

    async def story(ctx):
        assert await bench.put(ctx, "invalidate", start=1, row=0x2A5, way=2) == 0
        control = bench.block.tl_control
        assert (ctx.get(control.invalidate_row), ctx.get(control.invalidate_way)) == (0x2A5, 2)

    bench.run(story)


SHOWN = [
    ("status.credits_ready", "credits_ready", 1),
    ("status.dropping", "dropping", 1),
    ("status.transmit_error", "transmit_error", 1),
    ("status.cache_error", "cache_error", 1),
    ("status.receive_error_valid", "receive_error_valid", 1),
    ("status.receive_error", "receive_error", ReceiveError.ADDRESS_CACHE_PARITY.value),
    ("errors.last_error", "last_error", ReceiveError.AUTH_TAG_COUNT.value),
    ("errors.error_count", "error_count", 0xA5),
    ("counts.unknown_messages", "unknown_messages", 0xA6),
    ("counts.half_poisoned_beats", "half_poisoned_beats", 0xA7),
    ("counts.block_crossings", "block_crossings", 0xA9),
    ("counts.isolates", "isolates", 0xAA),
    *((f"status.drop_{cause}", f"drop_cause.{cause}", 1) for cause in DROP_CAUSE_LAYOUT.members),
]


def test_status_is_shown():
    bench = Bench()

    async def story(ctx):
        for name, path, value in SHOWN:
            member, _, part = path.partition(".")
            signal = getattr(bench.block.tl_status, member)
            signal = Value.cast(getattr(signal, part) if part else signal)
            ctx.set(signal, value)
            for register in ("status", "errors", "counts"):
                word, error = await bench.master.read(ctx, MAP[register].offset)
                owner, field = name.split(".")
                assert (word, error) == (value << MAP[register][field].low if owner == register else 0, 0), name
            ctx.set(signal, 0)

    bench.run(story)


@pytest.mark.req("RAS-110")
def test_each_event_is_seen_again_after_it_was_cleared():
    bench = Bench()

    async def story(ctx):
        for event, member in (
            ("drop_mode", "dropping"),
            ("receive_error", "receive_error_valid"),
            ("transmit_error", "transmit_error"),
            ("cache_error", "cache_error"),
        ):
            level = getattr(bench.block.tl_status, member)
            for _ in range(2):
                assert await bench.get(ctx, f"events.{event}") == 0
                ctx.set(level, 1)
                await ctx.tick().repeat(2)
                # What lasts is one event, and what is over is still told.
                for name in EVENTS:
                    assert await bench.get(ctx, f"events.{name}") == (name == event)
                assert await bench.put(ctx, "events", **{event: 1}) == 0
                assert await bench.get(ctx, f"events.{event}") == 0
                ctx.set(level, 0)
                await ctx.tick().repeat(2)
            ctx.set(level, 1)
            await ctx.tick()
            ctx.set(level, 0)
            await ctx.tick().repeat(2)
            assert await bench.get(ctx, f"events.{event}") == 1
            assert await bench.put(ctx, "events", **{event: 1}) == 0

    bench.run(story)


def test_capabilities_tell_what_was_built():
    config = TLConfig(
        tx_cache=AddressCacheConfig(rows=0), rx_cache=AddressCacheConfig(rows=16), shared_data_buffer=True
    )
    fields = {field.name: field.reset for field in tl_registers(config)["capabilities"].fields}
    assert fields == {"map_version": 1, "tx_rows": 0, "rx_rows": 16, "authentication": 1, "shared_data": 1}
