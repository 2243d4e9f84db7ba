"""Packer against the executable model: offsets, short halves, messages, carry-over, NOP flits, stalls, throughput."""

import random

import pytest
from amaranth.sim import Simulator

from support.dl.packing_bench import BEATS, PackerRun, compare, flit_payload, random_flits
from ualink.dl.flit.packer import Packer
from ualink_sim.model.dl import packing as dl_packing
from ualink_sim.model.dl.flit import DLFlit


@pytest.mark.req("DL-001", "DL-009", "DL-010", "DL-011", "DL-019", "DL-021", "DL-023", "DL-026", "DL-029", "DL-031")
def test_saturated_throughput_is_157_sectors_a_flit():
    run = PackerRun(random_flits(random.Random(1), 160), dl_flits=16)
    results = compare(run)
    assert sum(tick["taken"] for tick in run.ticks[: 16 * BEATS]) == 157
    assert {carry for _, carry in results} == set(range(16))
    assert run.beat_cycles == list(range(1, 1 + 16 * BEATS))


@pytest.mark.req("DL-001", "DL-016", "DL-019", "DL-020", "DL-021", "DL-023", "DL-029", "DL-031")
def test_saturated_throughput_with_a_message_in_every_segment():
    rng = random.Random(2)
    messages = [rng.getrandbits(32) for _ in range(81)]
    run = PackerRun(random_flits(rng, 155), messages, dl_flits=16)
    results = compare(run)
    assert sum(tick["taken"] for tick in run.ticks[: 16 * BEATS]) == 152
    assert all(header & 1 for packed, _ in results for header in packed.segment_headers)
    sent = [DLFlit.decode(flit["data"]).sectors[start] for flit in run.flits for start in (0, 32, 64, 96, 127)]
    assert sent == messages[:80]


@pytest.mark.req(
    "DL-001", "DL-013", "DL-014", "DL-015", "DL-016", "DL-017", "DL-018", "DL-019", "DL-020", "DL-021", "DL-022",
    "DL-023", "DL-024", "DL-025", "DL-026", "DL-027", "DL-028", "DL-029", "DL-030", "DL-031"
)  # fmt: skip
@pytest.mark.parametrize(
    ("load", "message_load", "accept", "online", "ready"),
    [(0.8, 0.3, 1, 1, 1), (0.5, 0.8, 0.8, 1, 0.7), (0.95, 0.5, 0.9, 0.9, 1), (0.1, 0.05, 1, 1, 0.9)],
)
def test_random_traffic_agrees_with_model(load, message_load, accept, online, ready):
    rng = random.Random(f"{load} {message_load}")
    dl_flits = 60
    run = PackerRun(
        random_flits(rng, 10 * dl_flits),
        [rng.getrandbits(32) for _ in range(5 * dl_flits)],
        dl_flits=dl_flits,
        offer_flit=lambda cycle: rng.random() < load,
        offer_message=lambda cycle: rng.random() < message_load / 2,
        accept=lambda cycle: rng.random() < accept,
        online=lambda cycle: rng.random() < online,
        ready=lambda cycle: rng.random() < ready,
    )
    results = compare(run)
    assert any(packed.payload for packed, _ in results)
    if accept < 1:
        assert any(carry and not packed.payload for packed, carry in results), "no carry-over met a NOP flit"


def run_ticks(pattern, *, carry=0, messages=(), dl_flits=2, seed=5):
    """Saturate DL flits until the next begins with ``carry``; in that offer on the ticks of ``pattern`` only."""
    lead = next(n for n in range(16) if -157 * n % 16 == carry)
    taken_in_lead = -(-157 * lead // 16)
    offers = iter(range(taken_in_lead))
    rng = random.Random(seed)
    first = lead * BEATS
    return lead, PackerRun(
        random_flits(rng, 10 * (lead + dl_flits)),
        messages,
        dl_flits=lead + dl_flits,
        offer_flit=lambda cycle: next(offers, None) is not None or cycle - first in pattern,
        offer_message=lambda cycle: cycle >= first,
    )


@pytest.mark.req("DL-020", "DL-022", "DL-023", "DL-027", "DL-028", "DL-030")
@pytest.mark.parametrize("pattern", [(), (0,), (1,), (0, 1)], ids=["none", "first", "second", "both"])
@pytest.mark.parametrize("carry", [0, 1, 7, 14, 15])
@pytest.mark.parametrize("message", [False, True])
def test_each_tick_of_a_segment_after_each_carry_over(pattern, carry, message):
    lead, run = run_ticks(pattern, carry=carry, messages=[0xC0DE_F00D] if message else (), dl_flits=1)
    packed, begun = compare(run)[lead]
    assert begun == carry
    header = packed.segment_headers[0]
    full = message and carry == 15
    assert bool(header & 0x10) == bool(0 in pattern or (full and pattern)) and bool(header & 1) == message
    assert bool(header & 0x80) == (1 in pattern and not full)


@pytest.mark.req("DL-028")
def test_full_first_half_of_segment_4_makes_the_flit_tl_flit_0():
    """The worked example: message and 15 sectors fill S127..S142, 14 sectors follow and 2 are carried over."""
    rng = random.Random(8)
    run = None
    for lead in range(16):
        # A message in segment 4 only; ``lead`` DL flits before set the carry-over that segment 4 begins with.
        run = PackerRun(
            random_flits(rng, 200),
            [0x1234_5678],
            dl_flits=lead + 2,
            offer_message=lambda cycle, start=lead * BEATS + 8: cycle >= start,
        )
        results = compare(run)
        if results[lead][0].segment_headers[4] & 1 and not run.ticks[lead * BEATS + 8]["taken"]:
            break
    else:
        pytest.fail("no lead gave the worked example")
    flit = DLFlit.decode(run.flits[lead]["data"])
    tick = run.ticks[lead * BEATS + 9]
    assert tick["taken"] and flit.segment_headers[4] == 0x11 | tick["flit"][1] << 2
    sectors = [int.from_bytes(tick["flit"][0][4 * n : 4 * n + 4], "little") for n in range(16)]
    assert flit.sectors[127] == 0x1234_5678
    assert flit.sectors[143:157] == sectors[:14]
    assert DLFlit.decode(run.flits[lead + 1]["data"]).sectors[:2] == sectors[14:]


@pytest.mark.req("DL-024", "DL-030")
def test_nothing_to_send_makes_nop_flits_of_zeros():
    run = PackerRun([], dl_flits=3)
    assert [flit["data"] for flit in run.flits] == [bytes(640)] * 3
    assert not any(flit["payload"] or flit["error"] for flit in run.flits)


@pytest.mark.req("DL-023")
def test_carry_over_crosses_nop_flits():
    flits = random_flits(random.Random(9), 10)
    run = PackerRun(flits, dl_flits=4, accept=lambda cycle: cycle not in (10, 20))
    compare(run)
    assert [flit["payload"] for flit in run.flits] == [True, False, False, True]
    assert run.flits[1]["data"] == run.flits[2]["data"] == bytes(640)
    third = DLFlit.decode(run.flits[3]["data"])
    assert b"".join(s.to_bytes(4, "little") for s in third.sectors[:3]) == flits[9][0][52:]
    assert third.segment_headers == [0] * 5


@pytest.mark.req("DL-157")
@pytest.mark.parametrize("slots", [range(10), [0], [8], [9]], ids=["all", "first", "last but one", "last"])
@pytest.mark.parametrize("stall", [0, 1, 5])
def test_one_place_is_for_the_flit_in_hand_if_that_has_payload(slots, stall):
    """Room for one at any time: after a payload flit comes a NOP flit, whichever beat made it one, and however long its
    last beat waits; after a NOP flit comes one that may have payload."""
    dut = Packer()
    made: list[bool] = []

    async def bench(ctx):
        ctx.set(dut.accept_one, 1)
        ctx.set(dut.channel_online, 1)
        ctx.set(dut.flit.p, flit_payload(random_flits(random.Random(16), 1)[0]))
        await ctx.tick()
        for _ in range(7):
            for beat in range(BEATS):
                ctx.set(dut.flit.valid, beat in slots)
                ctx.set(dut.beat.ready, 1)
                await ctx.tick()
                ctx.set(dut.beat.ready, 0)
                ctx.set(dut.flit.valid, 0)
                assert ctx.get(dut.beat.p.first) == (beat == 0)
                for _ in range(stall if beat in (8, 9) else 0):
                    await ctx.tick()
            made.append(bool(ctx.get(dut.beat.p.payload)))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    assert made == [True, False, True, False, True, False, True]


@pytest.mark.req("DL-157")
@pytest.mark.parametrize("cycles", range(5))
def test_place_that_becomes_free_while_the_last_beat_waits(cycles):
    """It counts from the cycle after on."""
    dut = Packer()

    async def bench(ctx):
        ctx.set(dut.accept_one, 1)
        ctx.set(dut.channel_online, 1)
        ctx.set(dut.flit.valid, 1)
        ctx.set(dut.flit.p, flit_payload(random_flits(random.Random(17), 1)[0]))
        ctx.set(dut.beat.ready, 1)
        await ctx.tick().repeat(1 + BEATS)
        assert ctx.get(dut.beat.p.last)
        # Beat 9 is on offer for three cycles more, and gone in the one after.
        for cycle in range(4):
            ctx.set(dut.accept_two, cycle >= cycles)
            ctx.set(dut.beat.ready, cycle == 3)
            assert ctx.get(dut.flit.ready) == (cycle == 3 and cycles < 3)
            await ctx.tick()
        assert ctx.get(dut.beat.p.first)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def test_offline_channel_stops_tl_flits_and_nothing_else():
    rng = random.Random(10)
    flits = random_flits(rng, 12)
    run = PackerRun(flits, [0xAAAA_5555, 0x1111_2222], dl_flits=2, online=lambda cycle: cycle < 2)
    compare(run)
    assert sum(tick["taken"] for tick in run.ticks) == 2
    flit = DLFlit.decode(run.flits[0]["data"])
    assert (flit.sectors[0], flit.sectors[32]) == (0xAAAA_5555, 0x1111_2222)
    assert flit.sectors[33] == int.from_bytes(flits[1][0][60:], "little")
    assert flit.sectors[34:] == [0] * 123


@pytest.mark.req("DL-001")
def test_flit_leaves_in_the_beat_of_its_slot():
    for slot in range(10):
        run = PackerRun(random_flits(random.Random(slot), 1), dl_flits=2, offer_flit=lambda c, slot=slot: c == slot)
        tick = run.ticks[slot]
        assert tick["taken"] and tick["cycle"] == slot
        beat = run.beats[slot].data.to_bytes(64, "little")
        # Fourteen dwords at least are on the wire one cycle after the slot.
        dwords = {beat[n : n + 4] for n in range(0, 64, 4)}
        wanted = [tick["flit"][0][n : n + 4] for n in range(0, 64, 4)]
        assert sum(dword in dwords for dword in wanted) >= 13
        assert run.beat_cycles[slot] == slot + 1


def test_error_is_reported_with_every_dl_flit_that_holds_bytes_of_the_marked_flit():
    run = PackerRun(random_flits(random.Random(12), 40), dl_flits=4, errors={9, 25})
    compare(run)
    # TL flit 9 begins in DL flit 0 and ends in DL flit 1; TL flit 25 lies within DL flit 2.
    assert [flit["error"] for flit in run.flits] == [True, True, True, False]


def test_flush_starts_again_without_carry_over():
    dut = Packer()
    rng = random.Random(14)
    flits = random_flits(rng, 40)

    async def bench(ctx):
        ctx.set(dut.accept_one, 1)
        ctx.set(dut.accept_two, 1)
        ctx.set(dut.channel_online, 1)
        await ctx.tick()
        ctx.set(dut.flit.valid, 1)
        ctx.set(dut.beat.ready, 1)
        for stop in (1, 7, 10, 13):
            for n in range(stop):
                ctx.set(dut.flit.p, flit_payload(flits[n], error=True))
                await ctx.tick()
            ctx.set(dut.flush, 1)
            ctx.set(dut.beat.ready, 0)
            assert not ctx.get(dut.flit.ready)
            assert not ctx.get(dut.message.ready)
            await ctx.tick()
            assert not ctx.get(dut.beat.valid)
            await ctx.tick()
            assert not ctx.get(dut.beat.valid)
            ctx.set(dut.flush, 0)
            ctx.set(dut.beat.ready, 1)
            ctx.set(dut.flit.p, flit_payload(flits[20]))
            assert not ctx.get(dut.flit.ready)
            assert not ctx.get(dut.message.ready)
            await ctx.tick()
            assert not ctx.get(dut.beat.valid)
            await ctx.tick()
            wire = b""
            ctx.set(dut.flit.valid, 0)
            for n in range(10):
                assert ctx.get(dut.beat.valid)
                beat = ctx.get(dut.beat.p)
                assert (beat.first, beat.last) == (n == 0, n == 9)
                wire += beat.data.to_bytes(64, "little")
                if beat.last:
                    assert beat.payload and not beat.error
                await ctx.tick()
            packed = dl_packing.Packer().pack([flits[20]] + [None] * 9)
            assert wire == packed.flit().encode()[:636] + bytes(4)
            # The eleventh tick began another DL flit.
            ctx.set(dut.flush, 1)
            await ctx.tick()
            ctx.set(dut.flush, 0)
            ctx.set(dut.flit.valid, 1)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
