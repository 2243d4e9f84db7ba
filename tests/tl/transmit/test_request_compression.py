"""Compression of Requests against the model's conditions, cache policy and encodings."""

import random
from dataclasses import replace

import pytest

from support.tl.address import TxReference, flip, job_of, random_request, set_request, shared, simulate
from ualink.config import AddressCacheConfig, TLConfig
from ualink.tl.transmit.request_compression import RequestCompression
from ualink_sim.model.tl.compression import REGION_BITS, compress_request, is_compressible
from ualink_sim.model.tl.fields import READ, WRITE, WRITE_FULL, UncompressedRequest

BASE = UncompressedRequest(cmd=READ, attr=0xFF, len=0x0F, addr=5 << 18, src_acc_id=1, dst_acc_id=2)


def config(rows, ways=4, device="accelerator"):
    return TLConfig(device=device, tx_cache=AddressCacheConfig(rows=rows, ways=ways))


def output_of(ctx, dut):
    """What is offered: whether it is compressed, the field, tag and job."""
    payload = ctx.get(dut.o.p)
    field = payload.field & ((1 << 64) - 1) if payload.compressed else payload.field
    job = {name: payload.job[name] for name in ("half_flits", "num_beats", "slot")}
    return payload.compressed, field, payload.auth_tag, job


async def send(ctx, dut, request):
    """One Request through an idle block with a cache: whether it was compressed, and its field."""
    set_request(ctx, dut.i.p, request)
    ctx.set(dut.i.valid, 1)
    ctx.set(dut.o.ready, 1)
    while not ctx.get(dut.i.ready):
        await ctx.tick()
    await ctx.tick()
    ctx.set(dut.i.valid, 0)
    await ctx.tick()
    assert ctx.get(dut.o.valid)
    compressed, field, _, job = output_of(ctx, dut)
    assert job == job_of(request)
    await ctx.tick()
    return compressed, field


def long_form(request, load_way=None):
    return 0, replace(request, cload=load_way is not None, cway=load_way or 0).encode()


class Reference(TxReference):
    """What ``RequestCompression`` must send."""

    def __init__(self, rows, ways, device):
        super().__init__(rows, ways)
        self.row_member = "dst_acc_id" if device == "accelerator" else "src_acc_id"
        self.behind = self.expected = None

    def step(self, request, tag, inputs, accepted, taken):
        row = getattr(request, self.row_member)
        candidate = is_compressible(request) and row < self.policy.rows and not inputs["disable"]
        exists = inputs["invalidate_row"] < self.policy.rows and inputs["invalidate_way"] < self.policy.ways
        invalidate = inputs["invalidate_entry"] and exists
        region = request.byte_address >> REGION_BITS
        moves = self.coming is not None and (taken or self.waiting is None)
        self.cycle(
            inputs | {"row": row, "region": region, "candidate": candidate, "invalidate": invalidate}, accepted, taken
        )
        if moves:
            answer, (moved, of_moved) = self.waiting, self.behind
            if answer.hit:
                form = 1, compress_request(moved, answer.way).encode()
            else:
                form = long_form(moved, answer.way if answer.load else None)
            self.expected = *form, of_moved, job_of(moved)
        if accepted:
            self.behind = request, tag


@pytest.mark.req("TL-091", "TL-092", "TL-094", "TL-095", "TL-109", "TL-110", "TL-112", "TL-116", "TL-117", "TL-118")
@pytest.mark.req("TL-119", "TL-122", "TL-124", "TL-183", "TL-184", "TL-186", "TL-187", "TL-206")
@pytest.mark.parametrize("contexts", [1, 2, 4])
@pytest.mark.parametrize(
    "device",
    [
        pytest.param("accelerator", marks=pytest.mark.req("TL-114")),
        pytest.param("switch", marks=pytest.mark.req("TL-115")),
    ],
)
def test_random_requests(device, contexts):
    """Stalls, clears, invalidations and the disabled mode included; IDs also beyond the rows."""
    rows, ways = 3, 4 if contexts == 1 else 2
    built = "either" if contexts == 2 else device
    dut = RequestCompression(config(rows, ways, built))
    design, turn = shared(dut, contexts)
    rng = random.Random(contexts)
    references = [Reference(rows, ways, device) for _ in range(contexts)]

    async def bench(ctx):
        pauses = [0] * contexts
        # Where the device is built for both ends, this tells which it is; else it says nothing.
        ctx.set(dut.is_switch, (device == "switch") == (built == "either"))
        stall, blank, rare = 0.0, 0.0, 0.0
        for cycle in range(800 if contexts == 1 else 350 * contexts):
            if cycle % 150 == 0:
                stall, blank = rng.choice(((0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)))
                rare = rng.choice((0, 0.02))
            context = ctx.get(turn) if contexts > 1 else 0
            reference = references[context]
            pauses[context] = max(pauses[context] - 1, 0)
            request, tag = random_request(rng, [1 << 36, 1, 2, 3, 4], rows + 2), rng.getrandbits(64)
            inputs = {
                "disable": rng.random() < rare,
                "clear": rng.random() < rare / 2,
                "invalidate_entry": not pauses[context] and rng.random() < 5 * rare,
                "invalidate_row": rng.randrange(rows + 3),
                "invalidate_way": rng.randrange(4),
            }
            if inputs["invalidate_entry"]:
                pauses[context] = 4
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            set_request(ctx, dut.i.p, request, tag)
            ctx.set(dut.i.valid, rng.random() >= blank)
            ctx.set(dut.o.ready, rng.random() >= stall)
            assert ctx.get(dut.o.valid) == (reference.waiting is not None)
            if reference.waiting is not None:
                assert output_of(ctx, dut) == reference.expected, f"cycle {cycle}"
            accepted = bool(ctx.get(dut.i.valid & dut.i.ready))
            if not stall and not pauses[context]:
                assert ctx.get(dut.i.ready)
            reference.step(request, tag, inputs, accepted, bool(ctx.get(dut.o.valid & dut.o.ready)))
            await ctx.tick()
        assert not ctx.get(dut.error)

    simulate(design, bench)
    for reference in references:
        assert min(reference.answers.values()) > 8


def near_misses():
    """Requests that fail exactly one condition of UALink_200 §5.9.3, with the requirement."""
    write = replace(BASE, cmd=WRITE, attr=0)
    for cmd in set(range(64)) - {READ, WRITE, WRITE_FULL}:
        for attr in (0, 0xFF):
            yield "TL-187", replace(BASE, cmd=cmd, attr=attr)
    for bit in range(8):
        yield "TL-188", replace(BASE, attr=0xFF ^ 1 << bit)
        yield "TL-188", replace(write, attr=1 << bit)
        yield "TL-188", replace(write, cmd=WRITE_FULL, attr=1 << bit)
    yield "TL-188", replace(BASE, attr=0)
    yield "TL-188", replace(write, attr=0xFF)
    for length in set(range(64)) - {15, 31, 47, 63}:
        yield "TL-189", replace(BASE, len=length)
    for bit in range(4):
        yield "TL-190", replace(BASE, addr=BASE.addr | 1 << bit)
    for block in range(4):
        for blocks in range(4 - block, 4):
            yield "TL-190", replace(BASE, addr=BASE.addr | block << 4, len=blocks << 4 | 15)
    for bit in range(2, 8):
        yield "TL-191", replace(BASE, meta_data=1 << bit)


@pytest.mark.req("TL-187", "TL-188", "TL-189", "TL-190", "TL-191", "TL-183", "TL-092")
def test_each_condition_alone_keeps_the_long_form():
    dut = RequestCompression(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)
        seen = set()
        for requirement, request in near_misses():
            assert await send(ctx, dut, request) == long_form(request), f"{requirement}: {request}"
            assert not is_compressible(request)
            seen.add(requirement)
        assert seen == {"TL-187", "TL-188", "TL-189", "TL-190", "TL-191"}
        assert await send(ctx, dut, BASE) == (1, compress_request(BASE, 0).encode())

    simulate(dut, bench)


@pytest.mark.req("TL-091", "TL-186", "TL-187", "TL-189", "TL-190", "TL-191")
def test_all_that_can_be_compressed():
    """Every command, length, place in its 256 bytes and value of the metadata that is sent."""
    dut = RequestCompression(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)
        for cmd in (READ, WRITE, WRITE_FULL):
            for block in range(4):
                for blocks in range(4 - block):
                    for meta_data in range(4):
                        request = replace(
                            BASE,
                            cmd=cmd,
                            attr=0xFF if cmd == READ else 0,
                            len=blocks << 4 | 15,
                            num_beats=0 if cmd == READ else blocks,
                            addr=BASE.addr | 0x2A5 << 6 | block << 4,
                            meta_data=meta_data,
                            tag=0x400 + block,
                        )
                        assert await send(ctx, dut, request) == (1, compress_request(request, 0).encode())

    simulate(dut, bench)


def test_a_write_whose_beats_do_not_fit_its_length_keeps_the_long_form():
    """The partner would expect other data half-flits."""
    dut = RequestCompression(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)
        write = replace(BASE, cmd=WRITE, attr=0, len=0x1F, num_beats=1)
        assert (await send(ctx, dut, write))[0] == 1
        for beats in (0, 2, 3):
            wrong = replace(write, num_beats=beats)
            assert await send(ctx, dut, wrong) == long_form(wrong)

    simulate(dut, bench)


@pytest.mark.req("TL-106", "TL-108", "TL-111", "TL-114")
def test_the_row_is_the_whole_destination_id():
    """1024 rows: all IDs have one. With fewer, IDs beyond them take the long form and hurt nobody."""
    for rows, ids in ((1024, (0, 1, 512, 1023)), (512, (0, 1, 511))):
        dut = RequestCompression(config(rows, 1))

        async def bench(ctx, dut=dut, rows=rows, ids=ids):
            await ctx.tick().repeat(rows)
            requests = [replace(BASE, dst_acc_id=n, addr=(1 << 36 | n) << 18) for n in ids]
            for request in requests:
                assert await send(ctx, dut, request) == long_form(request, 0)
            for request in requests if rows < 1024 else ():
                beyond = replace(request, dst_acc_id=request.dst_acc_id + rows)
                for _ in range(2):
                    assert await send(ctx, dut, beyond) == long_form(beyond)
            for request in requests:
                assert await send(ctx, dut, request) == (1, compress_request(request, 0).encode())

        simulate(dut, bench)


@pytest.mark.req("TL-089", "TL-090", "TL-122")
def test_without_a_cache_requests_pass_as_they_come():
    dut = RequestCompression(config(0))
    rng = random.Random(3)

    async def bench(ctx):
        for _ in range(150):
            request, tag = random_request(rng, [1, 2], 1024, odd=0.5), rng.getrandbits(64)
            set_request(ctx, dut.i.p, request, tag)
            valid, ready = rng.randrange(2), rng.randrange(2)
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.o.ready, ready)
            assert (ctx.get(dut.o.valid), ctx.get(dut.i.ready)) == (valid, ready)
            assert output_of(ctx, dut) == (*long_form(request), tag, job_of(request))
            await ctx.delay(1e-9)

    from amaranth.sim import Simulator

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.req("TL-206", "TL-122")
def test_disabled_it_sends_hits_and_misses_alike():
    dut = RequestCompression(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)
        ctx.set(dut.disable, 1)
        for request in (BASE, replace(BASE, addr=6 << 18)):
            assert await send(ctx, dut, request) == long_form(request)
        ctx.set(dut.disable, 0)
        assert (await send(ctx, dut, BASE))[0] == 1

    simulate(dut, bench)


@pytest.mark.req("TL-094")
def test_nothing_is_compressed_while_the_cache_is_cleared():
    dut = RequestCompression(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)
        assert (await send(ctx, dut, BASE))[0] == 1
        ctx.set(dut.clear, 1)
        for _ in range(5):
            assert await send(ctx, dut, BASE) == long_form(BASE)
        ctx.set(dut.clear, 0)
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)

    simulate(dut, bench)


@pytest.mark.req("TL-113")
def test_an_upset_stays_known():
    dut = RequestCompression(config(4))

    async def bench(ctx):
        await ctx.tick().repeat(4)
        assert await send(ctx, dut, BASE) == long_form(BASE, 0)
        cache = caches[0]
        flip(ctx, cache.storage, 2, 5)
        assert not ctx.get(dut.error)
        assert await send(ctx, dut, BASE) == long_form(BASE)
        assert ctx.get(dut.error)
        assert (await send(ctx, dut, replace(BASE, dst_acc_id=1)))[0] == 0
        await ctx.tick().repeat(5)
        assert ctx.get(dut.error)

    caches = []
    elaborate = dut.elaborate

    def remember(platform):
        module = elaborate(platform)
        caches.append(module.submodules.cache)
        return module

    dut.elaborate = remember
    simulate(dut, bench)
