"""How each strike of ``support.faults.strikes`` is done in the bench."""

from functools import singledispatch

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge

from support.controller_pair_side import PORTS
from support.controller_pair_top import CABLE_LAYOUT
from support.faults.strikes import HERE, Act, Injection, Level, UPLIStrike, WireStrike, word_of
from ualink.phy.interface import TX_BEAT_LAYOUT, TxKind

__all__ = ["strike"]

PATIENCE = 4_000
"""Cycles in which what is waited for happens, under traffic."""
SLOT = 10 * PORTS


@singledispatch
async def strike(kind, campaign, here, there, port, rng) -> str | None:
    """Strike; what was done, in words; None: nothing, because what was waited for did not come."""
    raise TypeError(f"nobody knows how to strike {kind}")


async def _once(dut, prefix: str, care: int, value: int, mask: int) -> bool:
    for name, word in (("care", care), ("value", value), ("mask", mask)):
        getattr(dut, f"{prefix}__{name}").value = word
    armed, hit = getattr(dut, f"{prefix}__armed"), getattr(dut, f"{prefix}__hit")
    armed.value = 1
    for _ in range(PATIENCE):
        await FallingEdge(dut.clk)
        if int(hit.value):
            break
    done = bool(int(hit.value))
    armed.value = 0
    return done


@strike.register
async def _(kind: UPLIStrike, campaign, here, there, port, rng):
    care, value = word_of(kind.at, kind.when, port, rng)
    flips = rng.choice(kind.flips)
    _, mask = word_of(kind.at, flips, port, rng)
    done = await _once(campaign.dut, f"{here.name}_{kind.at}", care, value, mask)
    return f"{here.name} {kind.at} {dict(flips)} mask {mask:#x}" if done else None


@strike.register
async def _(kind: WireStrike, campaign, here, there, port, rng):
    count = rng.randint(*kind.bits)
    if kind.burst:
        first = rng.randrange(512 - count)
        bits = 1 << first | 1 << first + count - 1 | rng.getrandbits(count) << first
    else:
        bits = sum(1 << bit for bit in rng.sample(range(512), count))
    beat = CABLE_LAYOUT["beat"].offset
    fields = {name: (beat + TX_BEAT_LAYOUT[name].offset, TX_BEAT_LAYOUT[name].width) for name, _ in TX_BEAT_LAYOUT}
    wanted = {"port": port, "kind": TxKind.DATA.value}
    care = value = 1 << CABLE_LAYOUT["valid"].offset
    for name, number in wanted.items():
        low, width = fields[name]
        care |= (1 << width) - 1 << low
        value |= number << low
    done = await _once(campaign.dut, f"{there.name}_wire", care, value, bits << fields["data"][0])
    return f"{count} bits of what {there.name} sends" if done else None


@strike.register
async def _(kind: Level, campaign, here, there, port, rng):
    slots = rng.randint(*kind.slots)
    signal = {"cut": "cut", "deaf": f"{here.name}_deaf"}.get(kind.what, f"{there.name}_{kind.what}")
    level = getattr(campaign.dut, signal)
    level.value = 1 << port
    await ClockCycles(campaign.dut.clk, slots * SLOT)
    level.value = 0
    return f"{signal} for {slots} slots"


@strike.register
async def _(kind: Injection, campaign, here, there, port, rng):
    end = here if kind.end == HERE else there
    bus = end.firmware.windows[f"dl_{port}"]
    await bus.write("inject", enable=1, select=kind.point)
    await bus.write("inject", start=1)
    await ClockCycles(campaign.dut.clk, 3 * SLOT)
    await bus.write("inject", enable=0)
    return f"{end.name} injects {kind.point}"


@strike.register
async def _(kind: Act, campaign, here, there, port, rng):
    return await _ACTS[kind.name](campaign, here, port, rng)


async def _drop(campaign, here, port, rng):
    await here.firmware.enter_drop_mode([port])
    return f"{here.name} drops"


async def _isolate(campaign, here, port, rng):
    await here.firmware.enter_isolation()
    return f"{here.name} is isolated"


async def _stall(campaign, here, port, rng):
    from support.faults.bench import WATCHDOG

    here.latency = 2 * WATCHDOG + rng.randrange(WATCHDOG)
    await ClockCycles(campaign.dut.clk, 8 * SLOT)

    async def end():
        await ClockCycles(campaign.dut.clk, 6 * SLOT)
        here.latency = 1

    cocotb.start_soon(end())
    return f"{here.name} answers after {here.latency} cycles"


async def _reset(campaign, here, port, rng):
    await campaign.hold(here, rng.randrange(2, 200))
    return f"{here.name} is reset"


async def _offline(campaign, here, port, rng):
    bus = here.firmware.windows[f"dl_{port}"]
    await bus.write("link_control", channel_0_online=0)
    await here.firmware.wait_for_link_down([port])
    await bus.write("link_control", channel_0_online=1)
    return f"{here.name} takes channel 0 offline"


_ACTS = {"drop": _drop, "isolate": _isolate, "stall": _stall, "reset": _reset, "offline": _offline}
