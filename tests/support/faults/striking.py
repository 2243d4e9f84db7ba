"""How each strike of ``support.faults.strikes`` is done in the bench."""

from functools import singledispatch

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge

from support.controller_pair_side import PORTS
from support.controller_pair_top import CABLE_LAYOUT
from support.faults.end import SLOT, WATCHDOG
from support.faults.forgery import FORGERIES, forge, header_bits, last_beat_of
from support.faults.strikes import HERE, Act, Forgery, HeaderStrike, Injection, Level, UPLIStrike, WireStrike, word_of
from ualink.phy.interface import TX_BEAT_LAYOUT, TxKind

__all__ = ["strike"]

PATIENCE = 4_000
"""Cycles in which what is waited for happens, under traffic."""


@singledispatch
async def strike(kind, campaign, here, there, port, rng) -> str | None:
    """Strike; what was done, in words; None: nothing, because what was waited for did not come."""
    raise TypeError(f"nobody knows how to strike {kind}")


async def _once(dut, prefix: str, care: int, value: int, mask: int, *, patience: int = PATIENCE) -> bool:
    for name, word in (("care", care), ("value", value), ("mask", mask)):
        getattr(dut, f"{prefix}__{name}").value = word
    armed, hit = getattr(dut, f"{prefix}__armed"), getattr(dut, f"{prefix}__hit")
    armed.value = 1
    for _ in range(patience):
        await FallingEdge(dut.clk)
        if int(hit.value):
            break
    done = bool(int(hit.value))
    armed.value = 0
    await FallingEdge(dut.clk)
    return done


@strike.register
async def _(kind: UPLIStrike, campaign, here, there, port, rng):
    care, value = word_of(kind.at, kind.when, port, rng)
    flips = rng.choice(kind.flips)
    _, mask = word_of(kind.at, flips, port, rng)
    done = await _once(campaign.dut, f"{here.name}_{kind.at}", care, value, mask)
    return f"{here.name} {kind.at} {dict(flips)} mask {mask:#x}" if done else None


def _on_cable(port: int, mask: int, **shown: int) -> tuple[int, int, int]:
    """A beat of a DL flit of ``port`` that shows this: which wires of the cable to look at, what they show, and which
    to flip of its data."""
    beat = CABLE_LAYOUT["beat"].offset
    care = value = 1 << CABLE_LAYOUT["valid"].offset
    for name, number in {"port": port, "kind": TxKind.DATA.value, **shown}.items():
        place = TX_BEAT_LAYOUT[name]
        care |= (1 << place.width) - 1 << beat + place.offset
        value |= number << beat + place.offset
    return care, value, mask << beat + TX_BEAT_LAYOUT["data"].offset


def _last_beat(port: int, shown: tuple[int, int], mask: int) -> tuple[int, int, int]:
    """The last beat of such a flit with these bits in its data, which have these values."""
    care, value, flips = _on_cable(port, mask, last=1)
    data = CABLE_LAYOUT["beat"].offset + TX_BEAT_LAYOUT["data"].offset
    return care | shown[0] << data, value | shown[1] << data, flips


@strike.register
async def _(kind: WireStrike, campaign, here, there, port, rng):
    count = rng.randint(*kind.bits)
    if kind.burst:
        first = rng.randrange(512 - count)
        bits = 1 << first | 1 << first + count - 1 | rng.getrandbits(count) << first
    else:
        bits = sum(1 << bit for bit in rng.sample(range(512), count))
    done = await _once(campaign.dut, f"{there.name}_wire", *_on_cable(port, bits))
    return f"{count} bits of what {there.name} sends" if done else None


@strike.register
async def _(kind: HeaderStrike, campaign, here, there, port, rng):
    flips = rng.choice(kind.flips)
    shown = header_bits(kind.care)[1], header_bits(kind.value)[1]
    done = await _once(campaign.dut, f"{there.name}_wire", *_last_beat(port, shown, header_bits(flips, crc=True)[1]))
    return f"header {flips:#08x} of what {there.name} sends" if done else None


@strike.register
async def _(kind: Forgery, campaign, here, there, port, rng):
    dut, wire = campaign.dut, f"{there.name}_wire"
    flit = FORGERIES[kind.name](rng)
    await campaign.fall_silent()
    for _ in range(40):
        sequence = await _sequence(campaign, there, port)
        # The number 0 is left out: what follows 511 is 1.
        if sequence not in (None, 7) and await _forge(dut, wire, port, forge(sequence, *flit), last_beat_of(sequence)):
            return f"{kind.name} from {there.name}: {flit[0].hex()}"
        if sequence == 7:
            there.write(port)
        await ClockCycles(dut.clk, 20 * SLOT)
    return None


async def _sequence(campaign, there, port) -> int | None:
    """The low bits of the number of the flit that ``there`` has sent last; it sends no payload."""
    for sequence in range(8):
        strike_at = _last_beat(port, last_beat_of(sequence), 0)
        if await _once(campaign.dut, f"{there.name}_wire", *strike_at, patience=3 * SLOT):
            return sequence
    return None


async def _forge(dut, wire, port, mask, last) -> bool:
    """Strike the two last beats of one and the same flit; False: it was another kind of flit."""
    if not await _once(dut, wire, *_on_cable(port, 0, first=1)):
        return False
    await FallingEdge(dut.clk)
    for name, word in zip(("care", "value", "mask"), _last_beat(port, last, mask.last)):
        getattr(dut, f"{wire.removesuffix('wire')}tail__{name}").value = word
    tail, hit = (getattr(dut, f"{wire.removesuffix('wire')}tail__{name}") for name in ("armed", "hit"))
    # One cycle after its first beat, and one more.
    await ClockCycles(dut.clk, 8 * PORTS - 3)
    await FallingEdge(dut.clk)
    care, value, flips = _on_cable(port, mask.before, first=0, last=0)
    for name, word in (("care", care), ("value", value), ("mask", flips), ("armed", 1)):
        getattr(dut, f"{wire}__{name}").value = word
    tail.value = 1
    for _ in range(2 * PORTS):
        await FallingEdge(dut.clk)
    done = bool(int(hit.value))
    tail.value = 0
    getattr(dut, f"{wire}__armed").value = 0
    await FallingEdge(dut.clk)
    return done


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
