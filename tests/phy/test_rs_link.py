"""Two reconciliation sublayers on a wire that matches rates: alone, under data links, and several ports in one."""

import random
from collections import deque

import pytest
from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.sim import Simulator

from support.link_bench import Bench
from support.phy.rs_stream import Beats, hostile, packed, unpacked
from support.phy.rs_wire import Wire
from ualink.config import PhyConfig
from ualink.dl.interface import LinkState
from ualink.phy.interface import TxKind
from ualink.phy.link_fault import LinkFault
from ualink.phy.reconciliation import Reconciliation
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rs_receive import Heard

CONFIG = PhyConfig(rate=400, marker_interval=32, idle_interval=8)


class Link:
    """Two reconciliation sublayers, each with a wire towards the other; call ``move`` in every cycle."""

    def __init__(self, m, rng, *, ready=1.0, fate=lambda number: None, size=8):
        self.rng, self.ready, self.size = rng, ready, size
        self.ends = [Reconciliation(CONFIG.replace(blocks_per_word=size)) for _ in range(2)]
        self.wires = [Wire(rng, CONFIG.rate, 24, fate), Wire(rng, CONFIG.rate, 24)]
        m.submodules.rs_a, m.submodules.rs_b = self.ends

    def move(self, ctx):
        """What goes over the interfaces to the PCS in this cycle."""
        for n, end in enumerate(self.ends):
            ready = self.rng.random() < self.ready
            ctx.set(end.pcs.tx.ready, ready)
            if ready and ctx.get(end.pcs.tx.valid):
                self.wires[n].send(unpacked(ctx.get(end.pcs.tx.p.blocks.as_value()), self.size))
            beat = self.wires[1 - n].receive(self.size)
            ctx.set(end.pcs.rx.valid, beat is not None)
            if beat:
                ctx.set(end.pcs.rx.p.blocks.as_value(), packed(beat))


@pytest.mark.req(
    "PHY-013", "PHY-014", "PHY-015", "PHY-018", "PHY-031", "PHY-045", "PHY-047", "PHY-048", "PHY-052", "PHY-109"
)
@pytest.mark.parametrize("size", [8, 2])
def test_every_flit_arrives_in_order(size):
    """Over four marker periods, both ways at once; the marker slots are where the PCS can tell them."""
    rng = random.Random(5)
    m = Module()
    link = Link(m, rng, ready=0.95, size=size)
    sent: list[list[bytes]] = [[], []]
    got = [Beats(), Beats()]
    markers = [0, 0]

    async def testbench(ctx):
        flits, number = [rng.randbytes(640), rng.randbytes(640)], [0, 0]
        taken = [-8, -8]
        for cycle in range(1500 * 8 // size):
            for n, end in enumerate(link.ends):
                beat = end.dl.tx.p
                ctx.set(end.dl.tx.valid, 1)
                ctx.set(beat.first, number[n] == 0)
                ctx.set(beat.last, number[n] == 9)
                ctx.set(beat.data, int.from_bytes(flits[n][64 * number[n] : 64 * number[n] + 64], "little"))
            link.move(ctx)
            for n, end in enumerate(link.ends):
                if ctx.get(end.dl.tx.ready):
                    assert cycle - taken[n] >= 8 // size
                    taken[n] = cycle
                    number[n] = (number[n] + 1) % 10
                    if number[n] == 0:
                        sent[n].append(flits[n])
                        flits[n] = rng.randbytes(640)
                if ctx.get(end.dl.rx.valid):
                    got[n].take(ctx.get(end.dl.rx.p), cycle)
                markers[n] += ctx.get(end.status[0].received_marker)
                assert ctx.get(end.status[0].fault) == LinkFault.OK
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    for n in range(2):
        heard = [slot.flit for slot in got[n].slots if slot.heard is Heard.GOOD]
        assert min(got[n].since_beat) == 8 // size
        assert Heard.BAD not in {slot.heard for slot in got[n].slots}
        # What is still under way has not arrived.
        assert len(heard) > 120 and heard == sent[1 - n][: len(heard)]
        assert len(sent[1 - n]) - len(heard) < 5
        assert markers[n] == 5


class LinkBench(Bench):
    """As ``Bench``, with reconciliation sublayers below the two data links."""

    def __init__(self, *, size=8, **options):
        super().__init__(latency=0, **options)
        self.size = size
        self.lost: set[int] = set()

    def run(self, story):
        m = Module()
        self.link = Link(
            m, self.rng, ready=0.97, fate=lambda number: "lost" if number in self.lost else None, size=self.size
        )
        for end, rs in zip(self.ends, self.link.ends):
            m.submodules[end.name] = end.link
            m.d.comb += [
                rs.dl.tx.valid.eq(end.link.tx.valid),
                rs.dl.tx.p.eq(end.link.tx.p),
                end.link.tx.ready.eq(rs.dl.tx.ready),
                end.link.rx.valid.eq(rs.dl.rx.valid),
                end.link.rx.p.eq(rs.dl.rx.p),
                end.link.local_fault.eq(rs.dl.local_fault[0]),
                end.link.remote_fault.eq(rs.dl.remote_fault[0]),
            ]
        simulator = Simulator(m)
        simulator.add_clock(1e-6)

        async def bench(ctx):
            for end in self.ends:
                for name, value in self.control.items():
                    ctx.set(getattr(end.link.config, name), value)
            await story(self, ctx)

        simulator.add_testbench(bench)
        simulator.run()

    async def step(self, ctx, cycles=1):
        for _ in range(cycles):
            self.link.move(ctx)
            # Once the first beats are out of reset, there is always one.
            assert self.cycle < 10 or not any(ctx.get(rs.status[0].starved) for rs in self.link.ends)
            for end in self.ends:
                self._offer(ctx, end)
                self._watch(ctx, end)
            await ctx.tick()
            self.cycle += 1

    def _send(self, ctx, end):
        """The wires carry what was sent."""


@pytest.mark.req("PHY-016", "PHY-020", "PHY-024", "PHY-038", "PHY-039", "PHY-040")
def test_data_links_come_up_and_down_and_up_again():
    """Bring-up, TL flits both ways over lost slots, a Local Fault at one end, and bring-up again."""

    async def story(bench, ctx):
        states = lambda: [end.status(ctx, "link_state") for end in bench.ends]  # noqa: E731
        await bench.bring_up(ctx)
        bench.lost = {bench.link.wires[0].slots + n for n in (2, 3, 9)}
        await bench.exchange(ctx, 40)
        assert bench.a.status(ctx, "lost_flits") + bench.b.status(ctx, "lost_flits") > 1
        # The receiver of wire 0 is end b.
        bench.link.wires[0].cut = True
        await bench.until(ctx, lambda: states() == [LinkState.FAULT, LinkState.FAULT], 400)
        local = [ctx.get(rs.dl.local_fault) for rs in bench.link.ends]
        remote = [ctx.get(rs.dl.remote_fault) for rs in bench.link.ends]
        assert (local, remote) == ([0, 1], [1, 0])
        bench.link.wires[0].cut = False
        await bench.bring_up(ctx)

    LinkBench(seed=3).run(story)


@pytest.mark.req("PHY-016", "PHY-020", "PHY-024")
def test_data_links_come_up_over_words_of_two_blocks():
    """And bring TL flits both ways over a lost slot."""

    async def story(bench, ctx):
        await bench.bring_up(ctx)
        bench.lost = {bench.link.wires[0].slots + 2}
        await bench.exchange(ctx, 8)
        assert bench.b.status(ctx, "lost_flits") == 1

    LinkBench(seed=3, size=2).run(story)


@pytest.mark.req("PHY-008", "PHY-009")
@pytest.mark.parametrize("ports", [2, 4])
def test_ports_on_one_data_path_are_as_many_of_their_own(ports):
    rng = random.Random(ports)
    m = Module()
    slot = Signal(range(ports))
    m.d.sync += slot.eq(slot + 1)
    m.submodules.shared = shared = Reconciliation(CONFIG, ports)
    m.d.comb += shared.slot.eq(slot)
    copies = [Reconciliation(CONFIG) for _ in range(ports)]
    for n, copy in enumerate(copies):
        m.submodules[f"copy_{n}"] = EnableInserter(slot == n)(copy)
        m.d.comb += [
            copy.dl.tx.valid.eq(shared.dl.tx.valid),
            copy.dl.tx.p.eq(shared.dl.tx.p),
            copy.pcs.tx.ready.eq(shared.pcs.tx.ready),
            copy.pcs.rx.valid.eq(shared.pcs.rx.valid & (shared.pcs.rx.p.port == n)),
            copy.pcs.rx.p.blocks.eq(shared.pcs.rx.p.blocks),
        ]
    faults = [codes.LOCAL_FAULT] * 8 + [codes.IDLE] * 130 + [codes.REMOTE_FAULT] * 8
    am_flit = codes.alignment_flit([codes.IDLE] * 80, 400)
    streams = [deque(am_flit + faults + [*hostile(random.Random(ports + n), 1600)]) for n in range(ports)]
    seen = set()

    async def testbench(ctx):
        names = list(shared.status[0].signature.members)
        before = [None] * ports
        beats = [0] * ports
        for cycle in range(400):
            n = cycle % ports
            copy = copies[n]
            ctx.set(shared.dl.tx.valid, 1)
            ctx.set(shared.dl.tx.p.first, beats[n] == 0)
            ctx.set(shared.dl.tx.p.last, beats[n] == 9)
            ctx.set(shared.dl.tx.p.kind, TxKind.IDLE if cycle // 100 % 4 == 3 else TxKind.DATA)
            ctx.set(shared.dl.tx.p.data, rng.getrandbits(512))
            ctx.set(shared.pcs.tx.ready, rng.random() < 0.9)
            # A beat that names another port is none in this cycle.
            here = rng.random() < 0.9
            ctx.set(shared.pcs.rx.valid, rng.random() < 0.95)
            ctx.set(shared.pcs.rx.p.port, n if here else (n + 1) % ports)
            ctx.set(shared.pcs.rx.p.blocks.as_value(), packed([streams[n].popleft() for _ in range(8)]))
            pairs = [
                (shared.dl.tx.ready, copy.dl.tx.ready),
                (shared.dl.local_fault[n], copy.dl.local_fault[0]),
                (shared.dl.remote_fault[n], copy.dl.remote_fault[0]),
                (shared.pcs.tx.valid, copy.pcs.tx.valid),
                (shared.dl.rx.valid, copy.dl.rx.valid),
            ]
            if ctx.get(copy.dl.rx.valid):
                for name in ("data", "first", "last", "status"):
                    pairs.append((getattr(shared.dl.rx.p, name), getattr(copy.dl.rx.p, name)))
                assert ctx.get(shared.dl.rx.p.port) == n
            if ctx.get(copy.pcs.tx.valid):
                pairs.append((shared.pcs.tx.p.blocks.as_value(), copy.pcs.tx.p.blocks.as_value()))
                assert ctx.get(shared.pcs.tx.p.port) == n
            for k, (one, other) in enumerate(pairs):
                assert ctx.get(one) == ctx.get(other), (cycle, k)
                seen.add((k, ctx.get(one)))
            for port in range(ports):
                shown = [ctx.get(getattr(shared.status[port], name)) for name in names]
                assert before[port] is None or shown == before[port]
            before[n] = [ctx.get(getattr(copy.status[0], name)) for name in names]
            seen.update(("status", name, value) for name, value in zip(names, map(str, before[n])))
            if ctx.get(shared.dl.tx.ready):
                beats[n] = (beats[n] + 1) % 10
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert {(k, value) for k in range(5) for value in (0, 1)} <= {one for one in seen if len(one) == 2}
    assert len([one for one in seen if one[0] == "status"]) >= 20
