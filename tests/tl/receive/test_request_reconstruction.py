"""Requests rebuilt from their fields, against the model's cache; what must be noticed."""

import random
from contextlib import suppress
from dataclasses import replace

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from support.tl.address import flip, random_request, shared, simulate
from support.tl.named_reconstruction import NamedReconstruction
from ualink.config import AddressCacheConfig, TLConfig
from ualink_sim.model.tl.compression import AddressCache, compress_request, expand_request, is_compressible
from ualink_sim.model.tl.fields import READ, FieldError, UncompressedRequest

BASE = UncompressedRequest(cmd=READ, attr=0xFF, len=0x3F, addr=0x1_2345_6789 << 18 | 0x2AF0 << 4, src_acc_id=1)
BASE = replace(BASE, dst_acc_id=2, tag=0x155, vchan=2, asi=1)
RANDOM_FIELD = random.Random(9)


def config(rows, ways=4, device="accelerator"):
    return TLConfig(device=device, rx_cache=AddressCacheConfig(rows=rows, ways=ways))


def in_catch_buffer(request) -> int:
    """``request`` as the catch buffer holds it: a short one in the upper half, anything below."""
    short = request.sectors == 2
    return request.encode() << 64 | RANDOM_FIELD.getrandbits(64) if short else request.encode()


def offer(ctx, dut, request, following, tag=0, consume=1):
    """What ``field`` has in this cycle and in the next; None for no Request."""
    ctx.set(dut.field.valid, request is not None)
    ctx.set(dut.field.p.field, RANDOM_FIELD.getrandbits(128) if request is None else in_catch_buffer(request))
    ctx.set(dut.field.p.auth_tag, tag)
    ctx.set(dut.following, RANDOM_FIELD.getrandbits(128) if following is None else in_catch_buffer(following))
    ctx.set(dut.consume, consume)


def complaints(ctx, dut):
    return {name for name in ("missing", "load_outside", "cache_error") if ctx.get(getattr(dut, name))}


def request_of(ctx, dut):
    """The rebuilt Request as the model has it, and its tag."""
    if not ctx.get(dut.request.valid):
        return None
    entry = ctx.get(dut.request.p)
    beat = entry.beat
    rebuilt = UncompressedRequest(
        cmd=beat.cmd,
        vchan=beat.vc,
        asi=beat.asi,
        tag=beat.tag,
        pool=entry.pool,
        attr=beat.attr,
        len=beat.len,
        meta_data=beat.meta_data,
        addr=beat.addr >> 2,
        src_acc_id=beat.src_phys_acc_id,
        dst_acc_id=beat.dst_phys_acc_id,
        num_beats=beat.num_beats,
    )
    assert beat.addr % 4 == 0
    return rebuilt, beat.auth_tag


def plain(request):
    """What UPLI sees of a field: nothing of the cache, no beats of a Read (ruling D05)."""
    return replace(request, cload=0, cway=0, num_beats=0 if request.cmd == READ else request.num_beats)


class Reference:
    """One receiver: what the field in this cycle must become, and what it leaves behind."""

    def __init__(self, rows, ways, device):
        self.cache = AddressCache("src_acc_id" if device == "accelerator" else "dst_acc_id", rows, ways)

    def expect(self, field, disable):
        """(Request or None, complaints)."""
        if isinstance(field, UncompressedRequest):
            try:
                if field.cload and not disable:
                    self.cache._key(field, field.cway)
            except FieldError:
                return None, {"load_outside"}
            return plain(field), set()
        if disable:
            return None, {"missing"}
        try:
            return self.cache.receive(field), set()
        except FieldError:
            return None, {"missing"}

    def consume(self, field):
        """A load counts while the cache is disabled, too: later it has what the partner believes."""
        if isinstance(field, UncompressedRequest) and field.cload:
            with suppress(FieldError):
                self.cache.load(field, field.cway)


@pytest.mark.req("TL-096", "TL-099", "TL-100", "TL-105", "TL-109", "TL-110", "TL-116", "TL-117", "TL-118", "TL-119")
@pytest.mark.req("TL-120", "TL-121", "TL-127", "TL-128", "TL-129", "TL-143", "TL-186", "TL-192", "TL-212", "TL-220")
@pytest.mark.parametrize("contexts", [1, 2, 4])
@pytest.mark.parametrize(
    "device",
    [
        pytest.param("accelerator", marks=pytest.mark.req("TL-115")),
        pytest.param("switch", marks=pytest.mark.req("TL-114")),
    ],
)
def test_random_fields(device, contexts):
    """A field in almost every cycle; entries that do not exist or were never loaded, and stops, included."""
    rows, ways = 3, 3
    built = "either" if contexts == 2 else device
    dut = NamedReconstruction(config(rows, ways, built))
    design, turn = shared(dut, contexts)
    rng = random.Random(contexts)
    counts = {"rebuilt": 0, "missing": 0, "load_outside": 0}

    def any_field():
        if rng.random() < 0.1:
            return None
        request = random_request(rng, [rng.getrandbits(37)], rows + rng.choice((0, 0, 0, 1)), odd=0.4)
        way = rng.randrange(ways + rng.choice((0, 0, 0, 1)))
        if is_compressible(request) and rng.random() < 0.6:
            # METADATA has three bits; what the sender's side never does is passed on (ruling D02).
            return replace(compress_request(request, way), meta_data=rng.randrange(8))
        return replace(request, cload=rng.randrange(2), cway=way, num_beats=rng.randrange(4))

    async def bench(ctx):
        references = [Reference(rows, ways, device) for _ in range(contexts)]
        fields = [None] * contexts
        # Where the device is built for both ends, this tells which it is; else it says nothing.
        ctx.set(dut.is_switch, (device == "switch") == (built == "either"))
        for cycle in range(1500 if contexts == 1 else 700 * contexts):
            context = ctx.get(turn) if contexts > 1 else 0
            reference, field = references[context], fields[context]
            following = any_field() if cycle // contexts > rows + 1 else None
            consume, tag = rng.random() < 0.9, rng.getrandbits(64)
            disable = cycle % 400 < 40
            ctx.set(dut.disable, disable)
            offer(ctx, dut, field, following, tag, consume)
            assert ctx.get(dut.ready) == (cycle // contexts > rows)
            if field is None:
                assert request_of(ctx, dut) is None and not complaints(ctx, dut)
            else:
                request, wrong = reference.expect(field, disable)
                assert request_of(ctx, dut) == (None if request is None else (request, tag)), f"cycle {cycle}"
                assert complaints(ctx, dut) == wrong
                for name in wrong:
                    counts[name] += 1
                counts["rebuilt"] += not wrong and not isinstance(field, UncompressedRequest)
                if consume:
                    reference.consume(field)
            fields[context] = following
            await ctx.tick()

    simulate(design, bench)
    assert min(counts.values()) > 20, counts


async def run(ctx, dut, fields):
    """Fields one after the other without a pause; what each became, with its complaints."""
    results = []
    offer(ctx, dut, None, fields[0])
    await ctx.tick()
    for n, field in enumerate(fields):
        offer(ctx, dut, field, fields[n + 1] if n + 1 < len(fields) else None)
        request = request_of(ctx, dut)
        results.append((request[0] if request else None, complaints(ctx, dut)))
        await ctx.tick()
    offer(ctx, dut, None, None)
    return results


@pytest.mark.req("TL-121", "TL-128", "TL-143")
def test_table_5_23():
    """Req0 loads; Req1 and Req2 of the same Control half-flit and Req3 of the next flit use it, one cycle each."""
    dut = NamedReconstruction(config(4))
    loads = replace(BASE, cload=1, cway=2)
    other = replace(BASE, addr=BASE.addr ^ 1 << 40, cload=1, cway=2)
    short = compress_request(BASE, 2)

    async def bench(ctx):
        await ctx.tick().repeat(5)
        for gap in range(4):
            fields = [other, loads, short, short, *[None] * gap, short]
            # A pause is a field that changes nothing.
            fields = [replace(BASE, cload=0) if field is None else field for field in fields]
            results = await run(ctx, dut, fields)
            assert results == [(plain(other), set())] + [(plain(BASE), set())] * (len(fields) - 1)
        # Overwritten at once, and used at once.
        results = await run(ctx, dut, [loads, short, other, short, loads, other, short])
        assert [request.addr >> 18 == BASE.addr >> 18 for request, _ in results] == [1, 1, 0, 0, 1, 0, 0]

    simulate(dut, bench)


@pytest.mark.req("TL-192", "TL-100", "TL-186")
def test_every_address_bit_comes_from_where_it_must():
    dut = NamedReconstruction(config(2, 1))

    async def bench(ctx):
        await ctx.tick().repeat(3)
        for bit in range(4, 55):
            request = replace(BASE, len=0x0F, addr=1 << bit)
            loads = replace(request, cload=1, addr=request.addr ^ 0x3FFF << 4)
            results = await run(ctx, dut, [loads, compress_request(request, 0)])
            assert results[1] == (plain(request), set())

    simulate(dut, bench)


@pytest.mark.req("TL-220")
def test_an_entry_that_was_never_loaded():
    dut = NamedReconstruction(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(5)
        for way in range(4):
            assert await run(ctx, dut, [compress_request(BASE, way)]) == [(None, {"missing"})]
        # CLOAD 0 and a load of another row or way do not make it known.
        for load in (
            replace(BASE, cload=0, cway=1),
            replace(BASE, cload=1, cway=2),
            replace(BASE, cload=1, cway=1, src_acc_id=2),
        ):
            results = await run(ctx, dut, [load, compress_request(BASE, 1)])
            assert results[1] == (None, {"missing"})
        assert (await run(ctx, dut, [replace(BASE, cload=1, cway=1), compress_request(BASE, 1)]))[1][1] == set()

    simulate(dut, bench)


@pytest.mark.req("TL-220")
@pytest.mark.parametrize("change", [{"src_acc_id": 4}, {"src_acc_id": 1023}, {"cway": 3}])
def test_an_entry_that_does_not_exist(change):
    dut = NamedReconstruction(config(4, 3))

    async def bench(ctx):
        await ctx.tick().repeat(5)
        # All entries that exist are known.
        for row in range(4):
            for way in range(3):
                await run(ctx, dut, [replace(BASE, src_acc_id=row, cload=1, cway=way)])
        assert await run(ctx, dut, [replace(compress_request(BASE, 0), **change)]) == [(None, {"missing"})]
        outside = replace(BASE, addr=1 << 54, cload=1, **change)
        assert await run(ctx, dut, [outside]) == [(None, {"load_outside"})]
        assert await run(ctx, dut, [replace(outside, cload=0)]) == [(plain(outside), set())]

    simulate(dut, bench)


@pytest.mark.req("TL-207", "TL-089", "TL-090")
@pytest.mark.parametrize("rows", [0, 4])
def test_without_the_cache_loads_are_ignored_and_short_forms_are_wrong(rows):
    """Left out, or disabled: then what was loaded before is not used."""
    dut = NamedReconstruction(config(rows))

    async def bench(ctx):
        await ctx.tick().repeat(5)
        assert ctx.get(dut.ready)
        loads = replace(BASE, cload=1, cway=1)
        if rows:
            assert (await run(ctx, dut, [loads, compress_request(BASE, 1)]))[1] == (plain(BASE), set())
        ctx.set(dut.disable, 1)
        for load in (loads, replace(loads, src_acc_id=1000), replace(BASE, cload=0)):
            results = await run(ctx, dut, [load, compress_request(BASE, 1)])
            assert results == [(plain(load), set()), (None, {"missing"})]

    simulate_with_clock(dut, bench)


def simulate_with_clock(dut, bench):
    """``simulate`` for a component that may have no registers."""
    m = Module()
    m.submodules.dut = dut
    m.d.sync += Signal(name="clocked").eq(1)
    simulate(m, bench)


def test_a_receiver_that_has_stopped_loads_nothing():
    dut = NamedReconstruction(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(5)
        await run(ctx, dut, [replace(BASE, cload=1, cway=1)])
        other = replace(BASE, addr=0, cload=1, cway=1)
        offer(ctx, dut, None, other)
        await ctx.tick()
        offer(ctx, dut, other, compress_request(BASE, 1), consume=0)
        await ctx.tick()
        offer(ctx, dut, compress_request(BASE, 1), None)
        assert request_of(ctx, dut) == (plain(BASE), 0)

    simulate(dut, bench)


@pytest.mark.req("TL-113")
def test_an_upset_is_told_apart():
    dut = NamedReconstruction(config(2, 2))
    caches = []
    elaborate = dut.inner.elaborate

    def remember(platform):
        module = elaborate(platform)
        caches.append(module.submodules.cache)
        return module

    dut.inner.elaborate = remember

    async def bench(ctx):
        await ctx.tick().repeat(3)
        await run(ctx, dut, [replace(BASE, cload=1, cway=0), replace(BASE, src_acc_id=0, cload=1, cway=1)])
        for bit in range(2 * 39):
            flip(ctx, caches[0].storage, 1, bit)
            wrong = (None, {"cache_error"})
            results = await run(ctx, dut, [compress_request(BASE, 0), BASE])
            assert results == [wrong if bit < 39 else (plain(BASE), set()), (plain(BASE), set())]
            flip(ctx, caches[0].storage, 1, bit)

    simulate(dut, bench)


@pytest.mark.req("TL-221")
def test_a_restart_forgets_everything_before_it_is_ready():
    """The memory keeps what it holds; a Request that comes too early is refused."""
    dut = NamedReconstruction(config(4))
    restart = Signal()
    m = Module()
    m.submodules.dut = ResetInserter(restart)(dut)

    async def bench(ctx):
        await ctx.tick().repeat(5)
        loads, short = replace(BASE, cload=1, cway=3), compress_request(BASE, 3)
        assert (await run(ctx, dut, [loads, short]))[1] == (plain(BASE), set())
        ctx.set(restart, 1)
        await ctx.tick()
        ctx.set(restart, 0)
        assert not ctx.get(dut.ready)
        assert await run(ctx, dut, [short, loads]) == [(None, {"missing"}), (None, {"load_outside"})]
        cycles = 3
        while not ctx.get(dut.ready):
            await ctx.tick()
            cycles += 1
        assert cycles == 5
        assert await run(ctx, dut, [short]) == [(None, {"missing"})]

    simulate(m, bench)


def test_model_and_test_agree_on_what_upli_sees():
    """``plain`` is not a rule of its own: for what can be compressed it is what the model rebuilds."""
    rng = random.Random(5)
    for _ in range(300):
        request = random_request(rng, [rng.getrandbits(37)], 4, odd=0)
        assert expand_request(compress_request(request, 1), request.byte_address >> 20) == plain(request)
