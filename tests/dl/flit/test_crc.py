"""CRC generator and checker: vectors of the standard's formula, the model, bit errors, stalls."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.dl.flit.crc import CRC_STAGES, FROM_ROOT, CrcAccumulator, crc_field_map
from ualink.dl.flit.crc_checker import CrcChecker
from ualink.dl.flit.crc_generator import CrcGenerator
from ualink.lib.gf2 import LinearMap, crc_advance
from ualink_sim.model.dl.flit import crc_bytes, crc_ok

POLYNOMIAL = 0x04C11DB7
ZEROS = bytes(636)
RAMP = bytes(n % 256 for n in range(636))


def with_header(header: str) -> bytes:
    return bytes(624) + bytes.fromhex(header) + bytes(9)


# First 636 bytes, CRC with the zero field covered and without.
VECTORS = [
    (ZEROS, "d2ee685b", "3aff2e61"),
    (RAMP, "f2b7e5f8", "9f93b127"),
    (with_header("00ff01"), "53d47864", "95603148"),
    (with_header("00ff4f"), "02903dea", "94aedd80"),
    (with_header("000110"), "297c8f7a", "5dfb5475"),
]

UNHURRIED = pytest.mark.parametrize("unhurried", [False, True])


def beats_of(flit: bytes):
    for n in range(10):
        yield {
            "data": int.from_bytes(flit[64 * n : 64 * n + 64].ljust(64, b"\0"), "little"),
            "first": n == 0,
            "last": n == 9,
        }


def generate(flits, *, covers_zero_field=True, stages=2, invert=(), seed=None, n=1, unhurried=False):
    """Run 636-byte bodies through the generator; returns the flits and the cycle in which each beat left."""
    dut = CrcGenerator(covers_zero_field, stages, n, unhurried=unhurried)
    sent, cycles = [], []
    rng = random.Random(seed)
    beats = [(beat, beat["last"] and k in invert) for k, flit in enumerate(flits) for beat in beats_of(flit)]

    async def source(ctx):
        for beat, inverts in beats:
            while seed is not None and rng.random() < 0.3:
                await ctx.tick()
            ctx.set(dut.beats_in.valid, 1)
            ctx.set(dut.beats_in.p, beat)
            await ctx.tick().until(dut.beats_in.ready)
            ctx.set(dut.beats_in.valid, 0)
            ctx.set(dut.beats_in.p.data, rng.getrandbits(512))
            ctx.set(dut.invert, inverts)

    async def sink(ctx):
        cycle, waits = 0, None
        while len(sent) < len(beats):
            ready = seed is None or rng.random() < 0.7
            ctx.set(dut.beats_out.ready, ready)
            *_, valid, beat = await ctx.tick().sample(dut.beats_out.valid, dut.beats_out.p)
            if n > 1:
                assert waits is None or (valid and beat == waits), "an offered beat changed"
                waits = beat if valid and not ready else None
            if ready and valid:
                assert (beat.first, beat.last) == (len(sent) % 10 == 0, len(sent) % 10 == 9)
                sent.append(beat.data)
                cycles.append(cycle)
            cycle += 1

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(source)
    sim.add_testbench(sink)
    sim.run()
    wire = b"".join(beat.to_bytes(64, "little") for beat in sent)
    return [wire[n : n + 640] for n in range(0, len(wire), 640)], cycles


def check(flits, *, covers_zero_field=True, stages=2, gaps=None, n=1, hurry=False):
    """Verdicts of the checker on 640-byte flits, and the cycle in which each came; beats ``n`` cycles apart or more."""
    dut = CrcChecker(covers_zero_field, stages, n)
    rng = random.Random(gaps)
    verdicts = []

    async def bench(ctx):
        cycle = 0

        async def step():
            nonlocal cycle
            *_, done, good = await ctx.tick().sample(dut.done, dut.good)
            if done:
                verdicts.append((bool(good), cycle))
            cycle += 1

        async def gap():
            ctx.set(dut.beat.valid, 0)
            ctx.set(dut.beat.p, {"data": rng.getrandbits(512), "first": 1, "last": 1})
            await step()

        for flit in flits:
            for beat in beats_of(flit):
                while gaps is not None and rng.random() < 0.3:
                    await gap()
                ctx.set(dut.beat.valid, 1)
                ctx.set(dut.beat.p, beat)
                await step()
                for _ in range(n - 1 - hurry):
                    await gap()
        ctx.set(dut.beat.valid, 0)
        for _ in range(stages + n + 2):
            await step()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    return verdicts


@pytest.mark.req("DL-004", "DL-012", "DL-033", "DL-034", "DL-035")
@pytest.mark.parametrize("stages", CRC_STAGES)
@pytest.mark.parametrize("covers_zero_field", [True, False])
@UNHURRIED
def test_vectors(covers_zero_field, stages, unhurried):
    """One beat a cycle, the first after ``stages`` cycles; verdicts ``stages`` cycles after the last beats."""
    bodies = [body for body, *_ in VECTORS]
    flits, cycles = generate(bodies, covers_zero_field=covers_zero_field, stages=stages, unhurried=unhurried)
    for flit, (body, covering, not_covering) in zip(flits, VECTORS, strict=True):
        assert flit[:636] == body
        assert flit[636:].hex() == (covering if covers_zero_field else not_covering)
    assert cycles == list(range(stages, stages + 10 * len(VECTORS)))
    verdicts = check(flits, covers_zero_field=covers_zero_field, stages=stages)
    assert verdicts == [(True, 10 * k + 9 + stages) for k in range(len(VECTORS))]


@pytest.mark.req("DL-004", "DL-012", "DL-033", "DL-034", "DL-035")
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("covers_zero_field", [True, False])
def test_vectors_in_steps(covers_zero_field, n):
    """A beat every ``n`` cycles, the first after ``n`` - 1; verdicts ``n`` + 1 cycles after the last beats."""
    bodies = [body for body, *_ in VECTORS]
    flits, cycles = generate(bodies, covers_zero_field=covers_zero_field, n=n)
    for flit, (body, covering, not_covering) in zip(flits, VECTORS, strict=True):
        assert flit[:636] == body
        assert flit[636:].hex() == (covering if covers_zero_field else not_covering)
    assert cycles == [n - 1 + n * k for k in range(10 * len(VECTORS))]
    verdicts = check(flits, covers_zero_field=covers_zero_field, n=n)
    assert verdicts == [(True, n * (10 * k + 9) + n + 1) for k in range(len(VECTORS))]


@pytest.mark.req("DL-004", "DL-012", "DL-034", "DL-035")
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("seed", [11, 12])
def test_generator_in_steps_under_stalls_agrees_with_model(n, seed):
    """Some CRCs inverted, which is told in the cycle after the last beat was taken."""
    rng = random.Random(seed)
    bodies = [rng.randbytes(636) for _ in range(10)]
    flits, _ = generate(bodies, seed=seed, n=n, invert={2, 5})
    expected = [body + crc_bytes(body) for body in bodies]
    for k in (2, 5):
        expected[k] = expected[k][:636] + bytes(byte ^ 0xFF for byte in expected[k][636:])
    assert flits == expected


@pytest.mark.req("DL-004", "DL-012", "DL-034", "DL-035")
@pytest.mark.parametrize("stages", CRC_STAGES)
@UNHURRIED
def test_generator_under_stalls_agrees_with_model(stages, unhurried):
    rng = random.Random(7)
    bodies = [rng.randbytes(636) for _ in range(12)]
    flits, _ = generate(bodies, stages=stages, seed=11, unhurried=unhurried)
    assert flits == [body + crc_bytes(body) for body in bodies]


@pytest.mark.parametrize("stages", CRC_STAGES)
def test_old_content_of_the_crc_field_is_ignored(stages):
    flits, _ = generate([RAMP + b"\xff\x12\x34\x56", RAMP + bytes(4)], stages=stages)
    assert flits[0] == flits[1] == RAMP + crc_bytes(RAMP)


@pytest.mark.parametrize("stages", CRC_STAGES)
def test_inverted_crc_is_rejected(stages):
    flits, _ = generate([ZEROS, RAMP, RAMP], stages=stages, invert={0, 1})
    assert [flit[636:].hex() for flit in flits] == ["2d1197a4", "0d481a07", "f2b7e5f8"]
    assert [good for good, _ in check(flits, stages=stages)] == [False, False, True]


@pytest.mark.req("DL-004", "DL-012")
@pytest.mark.parametrize(
    ("covers_zero_field", "stages", "n"),
    [(True, n, 1) for n in CRC_STAGES] + [(False, 2, 1), (False, 4, 1), (True, 2, 2), (True, 2, 4), (False, 2, 4)],
)
def test_single_and_double_bit_errors_are_found(covers_zero_field, stages, n):
    rng = random.Random(13)
    good = RAMP + crc_bytes(RAMP, covers_zero_field)
    flits = []
    for k in range(60):
        value = int.from_bytes(good, "little")
        # Every bit of the CRC field first, then bits from anywhere; every third flit is left whole.
        errors = [] if k % 3 == 2 else [5088 + k % 32] if k < 32 else rng.sample(range(5120), 1 + k % 2)
        for bit in errors:
            value ^= 1 << bit
        flits.append(value.to_bytes(640, "little"))
    found = check(flits, covers_zero_field=covers_zero_field, stages=stages, gaps=17, n=n)
    verdicts = [verdict for verdict, _ in found]
    assert verdicts == [flit == good for flit in flits]
    assert verdicts == [crc_ok(flit, covers_zero_field) for flit in flits]


@pytest.mark.parametrize("stages", CRC_STAGES)
@UNHURRIED
def test_generator_flush_drops_what_is_inside(stages, unhurried):
    """Also while the output stalls."""
    dut = CrcGenerator(stages=stages, unhurried=unhurried)
    out = []

    async def bench(ctx):
        for n, beat in enumerate([*list(beats_of(ZEROS))[:4], None, *beats_of(RAMP), *[None] * stages]):
            ctx.set(dut.beats_out.ready, n != 4)
            ctx.set(dut.beats_in.valid, beat is not None)
            ctx.set(dut.flush, n == 4)
            if beat:
                ctx.set(dut.beats_in.p, beat)
            *_, valid, leaving = await ctx.tick().sample(dut.beats_out.valid, dut.beats_out.p)
            if valid and n > 4:
                out.append(leaving.data.to_bytes(64, "little"))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    assert b"".join(out) == RAMP + crc_bytes(RAMP)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("cycle", range(6))
def test_flush_of_a_generator_in_steps(n, cycle):
    """``cycle`` cycles after beat 3 of a flit was offered, in every step of it: nothing of that flit comes any more."""
    dut = CrcGenerator(cycles_per_beat=n)
    out = []

    async def bench(ctx):
        async def send(beats):
            for beat in beats:
                ctx.set(dut.beats_in.valid, 1)
                ctx.set(dut.beats_in.p, beat)
                await ctx.tick().until(dut.beats_in.ready)
            ctx.set(dut.beats_in.valid, 0)

        ctx.set(dut.beats_out.ready, 1)
        await send(list(beats_of(ZEROS))[:4])
        ctx.set(dut.beats_out.ready, 0)
        for _ in range(cycle):
            await ctx.tick()
        ctx.set(dut.flush, 1)
        await ctx.tick()
        ctx.set(dut.flush, 0)
        assert not ctx.get(dut.beats_out.valid) and ctx.get(dut.beats_in.ready)
        ctx.set(dut.beats_out.ready, 1)
        out.clear()
        await send(beats_of(RAMP))
        await ctx.tick().repeat(n)

    async def watch(ctx):
        async for _, _, valid, ready, beat in ctx.tick().sample(
            dut.beats_out.valid, dut.beats_out.ready, dut.beats_out.p
        ):
            if valid and ready:
                out.append(beat.data.to_bytes(64, "little"))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.add_testbench(watch, background=True)
    sim.run()
    assert b"".join(out) == RAMP + crc_bytes(RAMP)


@pytest.mark.parametrize("n", [2, 4])
def test_beats_too_near_to_each_other_break_the_contract(n):
    with pytest.raises(AssertionError, match=f"are {n} cycles or more"):
        check([ZEROS + bytes(4)], n=n, hurry=True)


def test_a_beat_advances_the_root_by_one_step():
    step, beat = (crc_advance(POLYNOMIAL, 32, bits) for bits in (1, 512))
    assert FROM_ROOT @ step == beat @ FROM_ROOT
    assert max(row.bit_count() for row in step.rows) == 2


def test_parameters_are_validated():
    with pytest.raises(ConfigError, match="'yes'"):
        crc_field_map("yes")
    for stages in (0, 5, True, "2"):
        for component in (CrcGenerator, CrcChecker):
            with pytest.raises(ConfigError, match=f"stages is {stages!r}"):
                component(True, stages)
    for n in (0, 3, 8, True, "2"):
        for component in (CrcGenerator, CrcChecker):
            with pytest.raises(ConfigError, match=f"cycles_per_beat is {n!r}"):
                component(True, 2, n)
    with pytest.raises(ConfigError, match="latency is 4"):
        CrcAccumulator(LinearMap.identity(32), 4)
