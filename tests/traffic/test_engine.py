"""Two traffic engines back to back: they fill, use and check each other's memory over UPLI, told by registers."""

from collections import Counter
from dataclasses import replace

import pytest
from amaranth.hdl import Module, Shape
from amaranth.lib.wiring import connect

from support.traffic.engines import SMALL, Pair
from support.upli.wire import CHANNELS
from ualink.config import ConfigError, StationConfig
from ualink.station import Station
from ualink.traffic.config import TrafficConfig
from ualink.traffic.engine import TrafficEngine
from ualink.traffic.interface import ErrorKind, SettingsSignature
from ualink.traffic.register_map import traffic_registers
from ualink_sim.model.traffic import Command, Settings, bin_of, plans
from ualink_sim.model.upli.transactions import Status

LINES = SMALL.memory_lines
REGION = 3
"""Blocks of the memory, as a power of two."""
BINS = bin_of(255) + 1
"""More than are used here."""


async def set_up(ctx, firmware, own: int, other: int) -> None:
    await firmware.put(ctx, "identity", own=own)
    await firmware.put(ctx, "destination", first=other)
    await firmware.put(ctx, "region", region=REGION, hot_region=1, hot_share=128)
    await firmware.put(ctx, "time_out", time_out=2_000)


async def fill(ctx, firmware, seed: int) -> None:
    """Write the whole region with the data of ``seed``."""
    await firmware.put(ctx, "mix", read=0)
    await firmware.put(ctx, "mode", pattern=0, size=3)
    await firmware.put(ctx, "requests", requests=1 << REGION)
    await firmware.put(ctx, "new_seed", new_seed=seed)
    await firmware.run(ctx)


MIX = {"read": 100, "write": 60, "atomic": 40}


async def mixed(ctx, firmware, requests: int, verify: bool) -> None:
    await firmware.put(ctx, "mix", **MIX)
    await firmware.put(ctx, "mode", pattern=3, random_size=1, sparse=1, verify=int(verify))
    await firmware.put(ctx, "requests", requests=requests)
    await firmware.put(ctx, "new_seed", new_seed=8)
    await firmware.put(ctx, "old_seed", old_seed=7)
    await firmware.run(ctx)


def errors_of(counters: dict[str, int]) -> dict[str, int]:
    names = [name for name in counters if name.endswith(("_responses", "_tags", "_channels", "_errors", "time_outs"))]
    return {name: counters[name] for name in (*names, "poisoned_beats", "wrong_bytes") if counters[name]}


async def hostile_wire(ctx, pair, firmware):
    """A bit that changes on the wire breaks parity: the Originator poisons the beats, the checker counts them."""
    await firmware.clear(ctx)
    await firmware.put(ctx, "mix", read=256)
    await firmware.put(ctx, "mode", size=0)
    await firmware.put(ctx, "requests", requests=5)
    ctx.set(pair.flip, 1)
    await firmware.run(ctx)
    ctx.set(pair.flip, 0)
    assert errors_of(await firmware.counters(ctx)) == {"poisoned_beats": 5}
    assert await firmware.get(ctx, "first_error.kind") == ErrorKind.POISON.value
    assert await firmware.get(ctx, "events.originator_data") == 1
    assert await firmware.get(ctx, "events.originator_control") == 0


async def answer_at_once(ctx, first, second):
    """Both engines ask and answer at the same time, and an address beyond the memory is refused if that is wanted."""
    for firmware in (first, second):
        await firmware.clear(ctx)
        await firmware.put(ctx, "mix", read=128)
        await firmware.put(ctx, "mode", pattern=2, size=3)
        await firmware.put(ctx, "requests", requests=16)
        await firmware.put(ctx, "old_seed", old_seed=7)
        await firmware.put(ctx, "new_seed", new_seed=8)
    # The second engine's memory is filled with 7, and here and there with 8; the first one's is to be filled.
    await fill(ctx, second, 7)
    await second.put(ctx, "mix", read=128)
    await second.put(ctx, "mode", pattern=2, size=3)
    await second.put(ctx, "requests", requests=16)
    await second.put(ctx, "new_seed", new_seed=8)
    await second.put(ctx, "run", start=1)
    await first.run(ctx)
    await second.wait(ctx, "run", 1_000)
    for firmware in (first, second):
        assert not errors_of(await firmware.counters(ctx))
    await first.clear(ctx)
    await second.put(ctx, "responder", decode=1)
    await first.put(ctx, "base_low", address=LINES * 64 >> 8)
    await first.put(ctx, "requests", requests=4)
    await first.run(ctx)
    assert errors_of(await first.counters(ctx)) == {"status_errors": 4}
    assert await first.get(ctx, "first_error.status") == Status.DECODE_ERROR
    assert await first.get(ctx, "first_error_line_low") >> 5 == 1
    await first.put(ctx, "base_low", address=0)


@pytest.mark.req("UPLI-039", "UPLI-142", "UPLI-153", "UPLI-154", "UPLI-186", "UPLI-223")
def test_fill_use_and_verify():
    pair = Pair()
    asked = 40
    planned = [
        plan for plan, _ in zip(plans(Settings(**MIX, pattern=3, random_size=True, region=REGION)), range(asked))
    ]

    async def story(ctx):
        for firmware, own in zip(pair.firmware, (3, 9)):
            await set_up(ctx, firmware, own, 12 - own)
        first, second = pair.firmware
        await first.put(ctx, "run", start=1)
        await first.put(ctx, "run", start=0)
        await fill(ctx, first, 7)
        await first.clear(ctx)
        await mixed(ctx, first, asked, False)
        counters = await first.counters(ctx)
        assert not errors_of(counters)
        assert counters["requests"] == counters["responses"] == asked
        written = [plan for plan in planned if plan.command != Command.READ]
        back = [plan for plan in planned if plan.command in (Command.READ, Command.ATOMIC)]
        assert counters["bytes_sent"] == 64 * sum(plan.beats for plan in written)
        assert counters["bytes_received"] == 64 * sum(plan.beats for plan in back)
        served = await second.counters(ctx)
        assert served["served_requests"] - (1 << REGION) in (asked, asked + 1)
        assert not served["refused_requests"] and not served["foreign_requests"]

        counts = {}
        for index in (*range(BINS), *range(128, 128 + BINS)):
            await first.put(ctx, "histogram_index", index=index)
            counts[index] = await first.get(ctx, "histogram_count")
        assert sum(counts[n] for n in range(BINS)) == len(back)
        assert sum(counts.values()) == asked
        for kind, start in (("read", 0), ("write", 128)):
            used = [n for n in range(BINS) if counts[start + n]]
            assert used[0] == bin_of(counters[f"{kind}_latency_min"])
            assert used[-1] == bin_of(counters[f"{kind}_latency_max"])
        least, total = counters["read_latency_min"], counters["read_latency_sum"]
        assert least * len(back) <= total <= counters["read_latency_max"] * len(back)

        await mixed(ctx, first, asked, True)
        assert not errors_of(await first.counters(ctx))
        assert await first.get(ctx, "first_error.kind") == 0
        assert await first.get(ctx, "events.config_error") == 0
        await answer_at_once(ctx, first, second)
        await hostile_wire(ctx, pair, first)

    pair.simulate(story)
    assert all(pair.rules.beats[channel][0] for channel in CHANNELS)
    assert not any(pair.rules.in_use.values())
    assert pair.broken[0].keys() == {"rd_rsp_data_parity"} and not pair.broken[1], "but for the hostile wire"


@pytest.mark.req("UPLI-033", "UPLI-074", "UPLI-325")
def test_one_port_of_two():
    """Beats are of the chosen port, in its slots, and what is written is read. Every Request has both IDs, and every
    Response goes to who asked, on the port on which the Request came, whatever the address."""
    pair, port = Pair(replace(SMALL, ports=2)), 1

    async def story(ctx):
        for firmware, own in zip(pair.firmware, (3, 9)):
            await set_up(ctx, firmware, own, 12 - own)
            await firmware.put(ctx, "identity", own=own, port=port)
        first = pair.firmware[0]
        await fill(ctx, first, 7)
        await first.put(ctx, "mix", read=256)
        await first.put(ctx, "requests", requests=4)
        await first.put(ctx, "old_seed", old_seed=7)
        await first.run(ctx)
        counters = await first.counters(ctx)
        assert not errors_of(counters) and counters["responses"] == (1 << REGION) + 4

    pair.simulate(story)
    assert pair.broken == (Counter(), Counter())
    for channel in CHANNELS:
        assert pair.rules.beats[channel][port] and not pair.rules.beats[channel][1 - port]
    assert len({beat.addr for beat in pair.rules.beats["req"][port]}) >= 1 << REGION
    assert {(beat.src_phys_acc_id, beat.dst_phys_acc_id) for beat in pair.rules.beats["req"][port]} == {(3, 9)}
    for channel in ("rd_rsp", "wr_rsp"):
        assert {beat.dst_phys_acc_id for beat in pair.rules.beats[channel][port]} == {3}


def test_engine_fits_a_station():
    module = Module()
    station, engine = Station(StationConfig()), TrafficEngine()
    connect(module, engine.originator, station.upli_completer)
    connect(module, station.upli_originator, engine.completer)


@pytest.mark.parametrize(
    ("key", "value"),
    [("tags", 48), ("tags", 1), ("tags", 4096), ("memory_lines", 2), ("memory_lines", True), ("ports", 3)],
)
def test_what_cannot_be_built_is_named(key, value):
    with pytest.raises(ConfigError, match=rf"traffic\.{key} is {value}"):
        TrafficConfig(**{key: value})


def test_every_setting_has_a_register():
    """Fields, widths and reset values of the map and of ``SettingsSignature`` are the same."""
    fields = {
        field.name: field for register in traffic_registers(SMALL) for field in register.fields if field.access == "rw"
    }
    split = {"base": ("base_low.address", "base_high.address"), "seed": ("seed_low.seed", "seed_high.seed")}
    registers = traffic_registers(SMALL)
    for name, member in SettingsSignature().members.items():
        width, reset = Shape.cast(member.shape).width, member.init or 0
        if name in split:
            low, high = (registers[place.split(".")[0]].fields[0] for place in split[name])
            assert (low.width + high.width, high.reset << low.width | low.reset) == (width, reset)
        else:
            assert (fields[name].width, fields[name].reset) == (width, reset), name
