"""``ualink bench tl`` and ``wire``: limits, traffic, and what counts it; the pair itself for a few hundred cycles."""

import itertools
from fractions import Fraction

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.tl.flits import tl_flit
from ualink.config import AddressCacheConfig, TLConfig
from ualink.presets import station_preset
from ualink.tl.control import LIMITS_LAYOUT
from ualink_sim.bench import presets, tl_cache, tl_efficiency, tl_pair, tl_pair_bench, wire
from ualink_sim.bench.registry import run, select
from ualink_sim.bench.rows import Options, Unavailable
from ualink_sim.bench.tl_pair_meter import COUNTS, Meter
from ualink_sim.bench.tl_pair_requests import RequestGenerator
from ualink_sim.bench.tl_pair_responder import Responder
from ualink_sim.bench.tl_pair_source import TrafficSource
from ualink_sim.bench.tl_pair_top import PairTop
from ualink_sim.bench.tl_pair_wire import FlitWire
from ualink_sim.bench.tl_patterns import READ, TABLES, WRITE, WRITE_FULL, Kind, Pattern, efficiency
from ualink_sim.model.tl.fields import CompressedRequest, CompressedResponse, Credit, FlowControl, UncompressedRequest
from ualink_sim.model.tl.sequence import Issue, TransmitSequence

ATOMIC_R = 0x30


def limits(benches):
    return {row.name: row.limit for bench in benches for row in bench.rows}


def simulate(component, body):
    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    simulator.add_testbench(body)
    simulator.run()


def drive(ctx, top, levels):
    """Set members by the names of their ports; those of structs by their bits."""
    for name, value in levels.items():
        member = top
        for part in name.split("__"):
            member = member[int(part)] if part.isdecimal() else getattr(member, part)
        ctx.set(getattr(member, "as_value", lambda member=member: member)(), value)


def test_tables_have_the_efficiencies_of_the_standard():
    """UALink_200 §5.4, in percent."""
    percent = [f"{float(table.efficiency):.2%}" for table in TABLES]
    assert percent == ["88.89%", "92.31%", "94.12%", "95.24%", "88.89%", "95.24%", "88.89%", "95.24%"]
    on_wire = limits(wire.benches(Options()))
    for table in TABLES:
        assert on_wire[f"wire.efficiency.table_{table.number}"] == pytest.approx(table.efficiency * 157 / 160)


@pytest.mark.parametrize("bytes_", [64, 128, 192, 256])
def test_limits_of_other_sizes(bytes_):
    found = limits(tl_efficiency.benches())
    d = bytes_
    for name in ("write_full", "read"):
        assert found[f"tl.efficiency.symmetric.{name}.{d}"] == pytest.approx(d / (d + 64 / 5))
        assert found[f"tl.efficiency.authenticated.{name}.{d}"] == pytest.approx(2 * d / (2 * d + 64))
    # An FC field returns seven command credits, so that every second Control half-flit of four Requests has one.
    assert found[f"tl.efficiency.one_way.write_full.{d}"] == pytest.approx(7 * d / (7 * d + 64))
    assert found[f"tl.efficiency.one_way.read.{d}"] == pytest.approx(7 * d / (7 * d + 32))


def test_limits_with_byte_enables_and_several_kinds():
    assert efficiency((Kind(WRITE, 1),), Fraction(4)) == Fraction(64, 64 + 32 + 16)
    assert efficiency((Kind(ATOMIC_R, 1),), Fraction(8)) == Fraction(128, 128 + 32 + 32)
    assert efficiency((Kind(WRITE, 2), Kind(READ, 4)), Fraction(8)) == Fraction(384, 384 + 32 + 64)


def test_limits_of_cache_patterns_go_with_their_hit_rates():
    found = limits(tl_cache.benches())
    assert found["tl.cache.hit_rate.streaming"] == 1 - 2**-12
    assert found["tl.cache.hit_rate.strided_64k"] == 15 / 16
    assert found["tl.cache.hit_rate.streams_8"] == 1 / 2
    assert found["tl.cache.hit_rate.random"] == 4 / 2**18
    assert found["tl.cache.efficiency.streaming"] == pytest.approx(20 / 21, abs=1e-5)
    assert found["tl.cache.efficiency.random"] == pytest.approx(256 / (256 + 4 * 5.2), abs=1e-5)


@pytest.mark.parametrize("limit", [Fraction(20, 21), Fraction(8, 9), Fraction(1999, 2001)])
def test_a_window_repeats_the_traffic_whole(limit):
    window = tl_efficiency.window_for(limit)
    assert window % limit.denominator == 0
    assert 2000 <= window < 2000 + limit.denominator


def test_only_saturated_traffic_has_an_efficiency():
    assert tl_efficiency.saturated_efficiency({"flits": 21, "cycles": 21, "data": 40}) == 20 / 21
    with pytest.raises(Unavailable, match=r"sends 0\.8750 flits a cycle"):
        tl_efficiency.saturated_efficiency({"flits": 21, "cycles": 24, "data": 40})


def test_only_what_lasts_is_measured():
    def end(requests, responses, cycles=1000):
        return {"requests": requests, "responses": responses, "cycles": cycles}

    steady = [end(200, 100), end(101, 203)]
    assert tl_efficiency.check_steady(steady) is steady
    assert tl_efficiency.check_steady([end(200, 0), end(0, 240, cycles=1200)])
    for unsteady in ([end(200, 100), end(100, 180)], [end(200, 90), end(100, 200)]):
        with pytest.raises(Unavailable, match="this does not last"):
            tl_efficiency.check_steady(unsteady)


def test_control_levels_are_those_of_the_signature():
    levels = tl_pair.control_levels({"authentication": 1, "limits.compressed_requests": 2})
    assert levels["control__authentication"] == 1
    assert levels["control__disable_tx_cache"] == 0
    assert LIMITS_LAYOUT.from_bits(levels["control__limits"]).compressed_requests == 2
    assert LIMITS_LAYOUT.from_bits(levels["control__limits"]).flow_control == 0
    with pytest.raises(ValueError, match="no such members of TLControlSignature: turbo"):
        tl_pair.control_levels({"turbo": 1})


def test_both_sides_of_the_simulator_count_the_same():
    assert tl_pair_bench.COUNTS == COUNTS


def generated(end, pattern, count):
    """The first ``count`` Requests of a generator."""
    generator = RequestGenerator(end)
    requests = []

    async def body(ctx):
        drive(ctx, generator, pattern.levels())
        ctx.set(generator.advance, 1)
        for _ in range(count):
            requests.append(ctx.get(generator.req))
            await ctx.tick()

    simulate(generator, body)
    return requests


def test_kinds_come_in_turn():
    kinds = (Kind(READ, 4), Kind(WRITE_FULL, 3), Kind(WRITE, 1))
    requests = generated(0, Pattern(kinds=kinds), 7)
    assert [req.cmd for req in requests] == [READ, WRITE_FULL, WRITE] * 2 + [READ]
    assert [req.len for req in requests[:3]] == [63, 47, 15]
    assert [req.num_beats for req in requests[:3]] == [0, 2, 0]
    assert [req.attr for req in requests[:3]] == [0xFF, 0, 0]
    assert [req.tag for req in requests] == list(range(7))


def test_kinds_come_in_changing_order():
    kinds = (Kind(READ, 1), Kind(WRITE_FULL, 2), Kind(WRITE, 3), Kind(ATOMIC_R, 1))
    commands = [req.cmd for req in generated(1, Pattern(kinds=kinds, shuffle=True), 200)]
    rounds = [tuple(commands[n : n + 4]) for n in range(0, 200, 4)]
    assert all(sorted(turn) == sorted(kind.cmd for kind in kinds) for turn in rounds)
    assert len(set(rounds)) == 8


@pytest.mark.parametrize("end", [0, 1])
def test_streams_take_turns(end):
    """Each begins in a region of its own, and with ``spread`` belongs to a row of its own."""
    stride = 1 << 16
    pattern = Pattern(kinds=(Kind(WRITE_FULL),), streams=3, stride=stride, stay=False, spread=True)
    requests = generated(end, pattern, 60)
    starts = [req.addr for req in requests[:3]]
    assert len({start >> 20 for start in starts}) == 3
    assert [req.addr for req in requests] == [starts[n % 3] + n // 3 * stride for n in range(60)]
    rows = [req.src_phys_acc_id if end else req.dst_phys_acc_id for req in requests]
    assert rows == [1, 2, 3] * 20
    assert {req.dst_phys_acc_id if end else req.src_phys_acc_id for req in requests} == {0}


def test_a_stream_can_stay_in_its_region():
    requests = generated(0, Pattern(kinds=(Kind(READ),), stride=1 << 18), 9)
    assert [req.addr & 0xFFFFF for req in requests] == [n % 4 << 18 for n in range(9)]
    assert len({req.addr >> 20 for req in requests}) == 1


def test_random_addresses_are_aligned_and_everywhere():
    requests = generated(0, Pattern(kinds=(Kind(READ),), random=4, stay=False), 400)
    far = [req.addr for req in requests if req.addr < 1 << 38]
    assert 150 < len(far) < 250
    assert all(address % 256 == 0 for address in far)
    assert len({address >> 20 for address in far}) > 0.95 * len(far)


def beats_of(count):
    return bytes(64 * count)


def flits_of_table_5_18(rounds):
    """Five Compressed WriteFull of 256 bytes, five Write Responses and one FC field in two Control half-flits."""
    write, response = CompressedRequest(cmd=4 | 2, len=3), CompressedResponse()
    credits = FlowControl(req_cmd=Credit(5), rsp_cmd=Credit(5), req_data=Credit(20))
    first = [Issue(sector, write, beats_of(4)) for sector in (0, 4, 6)]
    first += [Issue(2, response), Issue(3, response)]
    second = [Issue(sector, write, beats_of(4)) for sector in (4, 6)]
    second += [Issue(0, credits), *(Issue(sector, response) for sector in (1, 2, 3))]
    return first, second, rounds


def measured(flits, window, stalls=False, authentication=0):
    """What a meter counts when ``flits`` pass, the first of which opens the window."""
    meter = Meter(TLConfig())
    found = {}

    async def body(ctx):
        ctx.set(meter.window, window)
        ctx.set(meter.authentication, authentication)
        ctx.set(meter.start, 1)
        await ctx.tick()
        ctx.set(meter.start, 0)
        for n, (half_flits, message) in enumerate(flits):
            ctx.set(meter.flit, tl_flit(int.from_bytes(half_flits, "little"), message))
            if stalls and n % 3 == 0:
                ctx.set(meter.passes, 0)
                await ctx.tick()
            ctx.set(meter.passes, 1)
            await ctx.tick()
        found.update({name: ctx.get(getattr(meter, name)) for name in (*COUNTS, "done", "broken")})

    simulate(meter, body)
    return found


def test_a_meter_counts_what_a_window_holds():
    sequence = TransmitSequence()
    first, second, rounds = flits_of_table_5_18(3)
    flits = []
    turn = itertools.cycle((first, second))
    while len(flits) < 21 * rounds + 1:
        flits.append(sequence.send(next(turn) if sequence.control_slot else ()))
    assert measured(flits, 21 * rounds) == {
        "cycles": 63,
        "flits": 63,
        "controls": 6,
        "data": 120,
        "byte_enables": 0,
        "requests": 15,
        "compressed": 15,
        "responses": 15,
        "credits": 3,
        "done": 1,
        "broken": 0,
    }
    stalled = measured(flits, 21 * rounds, stalls=True)
    assert (stalled["flits"], stalled["cycles"], stalled["data"]) == (63, 84, 120)


def test_a_meter_tells_data_from_byte_enables_and_tags():
    """An uncompressed Write of 64 bytes with its tag: Control and AuthTags, data, byte enables and an empty swap."""
    sequence = TransmitSequence(authentication=True)
    write = UncompressedRequest(cmd=WRITE)
    flits = [sequence.send()]
    flits.append(sequence.send([Issue(0, write, beats_of(1), b"\xff" * 32, tag=5)]))
    flits += [sequence.send(), sequence.send()]
    found = measured(flits, 3, authentication=1)
    assert [found[name] for name in ("data", "byte_enables", "requests", "compressed", "controls")] == [2, 1, 1, 0, 2]
    assert (found["done"], found["broken"]) == (1, 0)
    assert measured(flits, 3)["broken"] == 1


def test_a_source_keeps_to_its_limit_and_a_responder_answers():
    """Beats of a source straight into a responder: all is right; then one bit is not."""
    pattern = Pattern(kinds=(Kind(READ, 2), Kind(WRITE_FULL, 2)))
    source, responder = TrafficSource(0), Responder(0)

    async def body(ctx):
        for part in (source, responder):
            drive(ctx, part, pattern.levels())
        ctx.set(source.limit, 3)
        taken = 0
        for cycle in range(60):
            spoilt = cycle == 50
            for sender, receiver, name in (
                *((source, responder, "req"), (source, responder, "orig_data")),
                *((responder, source, "rd_rsp"), (responder, source, "wr_rsp")),
            ):
                out, into = getattr(sender, name), getattr(receiver, name)
                payload = ctx.get(out.payload.as_value())
                if spoilt and name == "orig_data":
                    payload ^= 1
                ctx.set(into.payload.as_value(), payload)
                ctx.set(into.valid, ctx.get(out.valid))
                ctx.set(out.ready, 1)
            taken += ctx.get(source.req.valid)
            if cycle in (0, 49, 59):
                wrong = ctx.get(source.mismatches), ctx.get(responder.mismatches)
                assert wrong == (0, cycle == 59)
            await ctx.tick()
        assert taken > 12

    both = Module()
    both.submodules += source, responder
    simulate(both, body)


def test_two_layers_exchange_the_traffic_of_a_pattern():
    """Every fifth flit and more is full of data, and all beats come right, some stalls included."""
    small = AddressCacheConfig(rows=4, ways=2)
    top = PairTop(TLConfig(tx_cache=small, rx_cache=small, authentication=False), FlitWire())
    pattern = Pattern(kinds=(Kind(READ, 4), Kind(WRITE_FULL, 4), Kind(WRITE, 2)), limits=(32, 32))

    async def body(ctx):
        drive(ctx, top, {**pattern.levels(), **tl_pair.control_levels({}), "latency": 2, "window": 100})
        for end, limit in zip(top.ends, pattern.limits):
            ctx.set(end.limit, limit)
        await ctx.tick().repeat(80)
        ctx.set(top.ends[1].stall, 1)
        await ctx.tick().repeat(5)
        ctx.set(top.ends[1].stall, 0)
        ctx.set(top.start, 1)
        await ctx.tick()
        ctx.set(top.start, 0)
        await ctx.tick().repeat(130)
        for end in top.ends:
            assert (ctx.get(end.mismatches), ctx.get(end.errors), ctx.get(end.done)) == (0, 0, 1)
            assert ctx.get(end.data) > 150
            assert min(ctx.get(end.requests), ctx.get(end.responses), ctx.get(end.credits)) > 1

    simulate(top, body)


def test_what_a_station_of_a_named_size_carries_is_measured_and_what_it_costs_only_when_asked(monkeypatch):
    asked = []

    def counted(pattern, window, *, pair, settle):
        assert settle > tl_pair.SETTLE
        asked.append((pattern.kinds, pair.config))
        return [{"cycles": 4000, "flits": 2000, "data": 6000, "requests": 100, "responses": 100}] * 2

    monkeypatch.setattr(presets, "count", counted)
    chosen = select(["preset"], Options())
    assert {row.name: row.value for row in run(chosen)} == {
        f"preset.{name}.carried.{kind}.{size}": 0.75
        for name in ("full", "balanced", "compact")
        for kind in ("write_full", "read")
        for size in (64, 256)
    }
    assert asked[-1] == ((Kind(READ, 4),), station_preset("compact").tl)
    costs = [row.name for bench in select(["preset.compact.ecp5"], Options()) for row in bench.rows]
    assert costs == [f"preset.compact.ecp5.{kind}" for kind in ("lut4", "ff", "ebr", "depth", "fmax_mhz")]
