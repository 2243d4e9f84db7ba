"""Both Address Caches of a link: whatever is compressed on one side comes out whole on the other."""

import random
from collections import deque
from dataclasses import replace

import pytest
from amaranth.hdl import Array, Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.tl.address import random_request, set_request, simulate
from support.tl.address_proofs import KNOWN, rx_invariants, table, tx_invariants
from support.tl.named_reconstruction import NamedReconstruction
from ualink.config import AddressCacheConfig, TLConfig
from ualink.lib.interleave import Interleaver
from ualink.tl.cache.rx_address_cache import RxAddressCache
from ualink.tl.cache.tx_address_cache import TxAddressCache
from ualink.tl.transmit.request_compression import RequestCompression
from ualink_sim.bench.address_patterns import PATTERNS
from ualink_sim.model.tl.address_policy import hit_rate
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.fields import READ, CompressedRequest, UncompressedRequest

SENT = data.StructLayout({"hit": 1, "load": 1, "row": 1, "way": 1, "region": 2})


class Link(wiring.Component):
    """Tx Address Cache, a queue of fields in flight with any delay, Rx Address Cache; all inputs are free."""

    def __init__(self, depth: int = 2, broken: bool = False):
        self.depth, self.broken = depth, broken
        super().__init__(
            {
                "valid": In(1),
                "row": In(1),
                "region": In(2),
                "candidate": In(1),
                "ready": In(1),
                "clear": In(1),
                "invalidate": In(1),
                "invalidate_row": In(1),
                "invalidate_way": In(1),
                "arrives": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.tx = tx = TxAddressCache(2, 2, 2)
        m.submodules.rx = rx = RxAddressCache(2, 2, 2)
        for name in ("row", "region", "candidate"):
            m.d.comb += tx.lookup.p[name].eq(getattr(self, name))
        for name in ("clear", "invalidate", "invalidate_row", "invalidate_way"):
            m.d.comb += getattr(tx, name).eq(getattr(self, name))

        # Fields in flight, in order.
        flight = [Signal(SENT, name=f"flight_{n}") for n in range(self.depth)]
        count = Signal(range(self.depth + 1))
        kept = Signal(range(self.depth + 1))
        sent, leaves = Signal(SENT), Signal()
        m.d.comb += [
            tx.lookup.valid.eq(self.valid),
            tx.answer.ready.eq(self.ready & rx.ready & (count != self.depth)),
            Cat(sent.hit, sent.load, sent.way).eq(Cat(tx.answer.p.hit, tx.answer.p.load, tx.answer.p.way[0])),
            Cat(sent.row, sent.region).eq(Cat(tx.asked.row, tx.asked.region)),
            leaves.eq(self.arrives & count.any()),
            kept.eq(count - leaves),
        ]
        m.d.sync += count.eq(kept + (tx.answer.valid & tx.answer.ready))
        for n, place in enumerate(flight):
            with m.If(n >= kept):
                m.d.sync += place.eq(sent)
            with m.Elif(leaves & (n + 1 < self.depth)):
                m.d.sync += place.eq(flight[min(n + 1, self.depth - 1)])

        # What leaves is announced in this cycle and used in the next.
        here, field = Signal(), Signal(SENT)
        m.d.sync += [here.eq(leaves), field.eq(flight[0])]
        m.d.comb += [
            rx.following_row.eq(flight[0].row),
            rx.row.eq(field.row),
            rx.way.eq(field.way),
            rx.load.eq(here & field.load & (not self.broken or field.row)),
            rx.load_region.eq(field.region),
        ]
        with m.If(here & field.hit):
            m.d.comb += [Assert(rx.known), Assert(rx.region == field.region), Assert(~rx.mismatch)]
        m.d.comb += Assert(~tx.error)

        # What makes it inductive: the partner's table follows from what the receiver was told and what is in flight.
        partner, told = table("partner"), table("told")
        with m.If(tx.answer.valid & tx.answer.ready & sent.load):
            m.d.sync += partner[sent.row << 1 | sent.way].eq(KNOWN | sent.region)
        with m.If(here & field.load):
            m.d.sync += told[field.row << 1 | field.way].eq(KNOWN | field.region)
        tx_invariants(m, tx, partner)
        rx_invariants(m, rx, told)
        m.d.comb += [Assert(count <= self.depth), Assert(rx.ready | (~here & ~count.any()))]
        so_far = told
        for present, item in ((here, field), *((count > n, place) for n, place in enumerate(flight))):
            at = item.row << 1 | item.way
            m.d.comb += [
                Assert(~(present & item.hit) | (so_far[at] == (KNOWN | item.region))),
                Assert(~(present & item.hit & item.load)),
            ]
            after = [Mux(present & item.load & (at == n), KNOWN | item.region, so_far[n]) for n in range(4)]
            so_far = Array(after)
        m.d.comb += [Assert(partner[n] == so_far[n]) for n in range(4)]
        return m


@pytest.mark.req("TL-093", "TL-096", "TL-100", "TL-112", "TL-121", "TL-123", "TL-124", "TL-127", "TL-128", "TL-192")
def test_every_short_form_gets_its_own_region_back():
    prove(Link(), mode="prove", depth=2)


def test_the_proof_sees_a_load_that_was_not_obeyed():
    with pytest.raises(AssertionError):
        prove(Link(broken=True), mode="bmc", depth=8)


class TwoSides(wiring.Component):
    """Sender and receiver of ``contexts`` links in turn; between them is what the test does."""

    def __init__(self, tl: TLConfig, partner: TLConfig, contexts: int):
        self.contexts = contexts
        self.compression, self.reconstruction = RequestCompression(tl), NamedReconstruction(partner)
        self.turn = Signal(range(max(contexts, 2)))
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        if self.contexts > 1:
            m.d.sync += self.turn.eq(self.turn + 1)
        m.submodules.compression = Interleaver(self.contexts, self.turn)(self.compression)
        m.submodules.reconstruction = Interleaver(self.contexts, self.turn)(self.reconstruction)
        return m


class Context:
    """One link: what was sent, what is in flight, what the model of the receiver has."""

    def __init__(self, row_member, rows, ways):
        self.model = AddressCache(row_member, rows, ways)
        self.offered = deque()
        self.flight = deque()
        self.request = self.field = None
        self.accepted = []
        self.pause = 0
        self.short = self.loads = self.sent = 0


def plain(request):
    return replace(request, num_beats=0 if request.cmd == READ else request.num_beats)


async def exchange(ctx, dut, contexts, source, rng, cycles, trouble=0.02, drain=80):
    """Requests of ``source(context)`` over each link, delayed at random; each must arrive as it was."""
    tx, rx = dut.compression, dut.reconstruction
    delay, stall = 0.0, 0.0
    for cycle in range(cycles + drain * len(contexts)):
        if cycle % 100 == 0:
            delay, stall = rng.choice(((0, 0), (0.5, 0), (0, 0.5), (0.7, 0.7)))
        number = ctx.get(dut.turn) if len(contexts) > 1 else 0
        link = contexts[number]
        link.pause = max(link.pause - 1, 0)
        running = cycle < cycles
        link.request = link.request or source(number)
        request, tag = link.request, rng.getrandbits(64)
        set_request(ctx, tx.i.p, request, tag)
        ctx.set(tx.i.valid, running and rng.random() < 0.9)
        ctx.set(tx.clear, running and rng.random() < trouble / 4)
        strikes = running and not link.pause and rng.random() < trouble
        ctx.set(tx.invalidate_entry, strikes)
        ctx.set(tx.invalidate_row, rng.randrange(4))
        ctx.set(tx.invalidate_way, rng.randrange(4))
        if strikes:
            link.pause = 3
        ctx.set(tx.o.ready, ctx.get(rx.ready) and len(link.flight) < 12 and rng.random() >= stall)

        # The receiver: the field that was announced is there, and another may be announced.
        following = link.flight.popleft() if link.flight and (not running or rng.random() >= delay) else None
        ctx.set(rx.consume, 1)
        ctx.set(rx.field.valid, link.field is not None)
        ctx.set(rx.field.p.field, link.field[0] if link.field else rng.getrandbits(128))
        ctx.set(rx.field.p.auth_tag, link.field[1] if link.field else 0)
        ctx.set(rx.following, following[0] if following else rng.getrandbits(128))
        assert not ctx.get(rx.missing | rx.load_outside | rx.cache_error | tx.error)
        assert ctx.get(rx.request.valid) == (link.field is not None)
        if link.field is not None:
            _, _, sent = link.field
            entry = ctx.get(rx.request.p)
            beat = entry.beat
            seen = (beat.cmd, beat.vc, beat.asi, beat.tag, entry.pool, beat.attr, beat.len, beat.meta_data)
            assert seen == tuple(
                getattr(sent[0], name) for name in ("cmd", "vchan", "asi", "tag", "pool", "attr", "len", "meta_data")
            )
            assert (beat.addr, beat.src_phys_acc_id, beat.dst_phys_acc_id, beat.num_beats, beat.auth_tag) == (
                sent[0].byte_address,
                sent[0].src_acc_id,
                sent[0].dst_acc_id,
                plain(sent[0]).num_beats,
                sent[1],
            )
            link.sent += 1
        link.field = following

        if ctx.get(tx.o.valid & tx.o.ready):
            out, sent = ctx.get(tx.o.p), link.offered.popleft()
            if out.compressed:
                short = CompressedRequest.decode(out.field & (1 << 64) - 1)
                assert link.model.receive(short) == plain(sent[0])
                bits = (out.field & (1 << 64) - 1) << 64 | rng.getrandbits(64)
                link.short += 1
            else:
                long = UncompressedRequest.decode(out.field)
                assert link.model.receive(long) == long
                assert replace(long, cload=0, cway=0) == sent[0]
                bits = out.field
                link.loads += long.cload
            link.flight.append((bits, out.auth_tag, sent))
        if ctx.get(tx.i.valid & tx.i.ready):
            link.offered.append((request, tag))
            link.accepted.append(request)
            link.request = None
        await ctx.tick()
    for link in contexts:
        assert not link.offered and not link.flight and link.field is None


@pytest.mark.req("TL-091", "TL-093", "TL-096", "TL-099", "TL-100", "TL-105", "TL-112", "TL-116", "TL-117", "TL-118")
@pytest.mark.req("TL-120", "TL-121", "TL-123", "TL-124", "TL-127", "TL-128", "TL-129", "TL-184", "TL-192")
@pytest.mark.parametrize(
    "device, partner, row_member, contexts",
    [
        pytest.param("accelerator", "switch", "dst_acc_id", 1, marks=pytest.mark.req("TL-114")),
        pytest.param("accelerator", "switch", "dst_acc_id", 2, marks=pytest.mark.req("TL-114")),
        pytest.param("switch", "accelerator", "src_acc_id", 1, marks=pytest.mark.req("TL-115")),
        pytest.param("switch", "accelerator", "src_acc_id", 4, marks=pytest.mark.req("TL-115")),
    ],
)
def test_long_random_traffic(device, partner, row_member, contexts):
    """All kinds of Requests to rows that exist in both caches and to others, with clears and invalidations."""
    sender = TLConfig(device=device, tx_cache=AddressCacheConfig(rows=3, ways=3))
    receiver = TLConfig(device=partner, rx_cache=AddressCacheConfig(rows=4, ways=4))
    dut = TwoSides(sender, receiver, contexts)
    rng = random.Random(contexts)
    links = [Context(row_member, 4, 4) for _ in range(contexts)]
    regions = [[rng.getrandbits(37) for _ in range(5)] for _ in range(contexts)]

    async def bench(ctx):
        await exchange(
            ctx,
            dut,
            links,
            lambda n: random_request(rng, regions[n], 4, odd=0.15),
            rng,
            1000 if contexts == 1 else 350 * contexts,
        )

    simulate(dut, bench)
    for link in links:
        assert min(link.short, link.loads, link.sent - link.short - link.loads) > 8


@pytest.mark.req("TL-093", "TL-109", "TL-128")
@pytest.mark.parametrize("name", ["streams_8", "random_hot_4", "strided_256k"])
def test_patterns(name):
    """Four ways, one row: as many are compressed as the model of the policy says, and all arrive."""
    dut = TwoSides(
        TLConfig(tx_cache=AddressCacheConfig(rows=2)),
        TLConfig(device="switch", rx_cache=AddressCacheConfig(rows=2)),
        1,
    )
    addresses = PATTERNS[name](1_000_000)
    rng = random.Random(2)
    links = [Context("dst_acc_id", 2, 4)]

    def source(_):
        return UncompressedRequest(cmd=READ, attr=0xFF, len=0x3F, addr=next(addresses) >> 2, dst_acc_id=1)

    async def bench(ctx):
        await ctx.tick().repeat(2)
        await exchange(ctx, dut, links, source, rng, 700, trouble=0)

    simulate(dut, bench)
    link = links[0]
    assert link.sent > 250
    assert link.short == round(hit_rate(request.byte_address >> 20 for request in link.accepted) * link.sent)
