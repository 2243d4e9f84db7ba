"""Verdicts on received slots, against flits that the model made."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.dl.flit.check import FlitCheck
from ualink.dl.flit.crc import CRC_STAGES
from ualink.phy.interface import SlotStatus
from ualink_sim.model.dl.flit import DLFlit

GOOD, BAD, CONTROL = SlotStatus.GOOD, SlotStatus.BAD, SlotStatus.CONTROL


@pytest.mark.req("DL-004", "DL-012", "DL-123", "DL-132", "DL-133", "DL-180")
@pytest.mark.parametrize(
    ("covers_zero_field", "stages", "apart"),
    [(True, n, 1) for n in CRC_STAGES] + [(False, 2, 1), (True, 2, 2), (True, 2, 4), (False, 4, 4)],
)
def test_verdicts(covers_zero_field, stages, apart):
    """``stages`` cycles after the last beat, but two at least, and the header two before that; with beats ``apart``
    cycles or more from each other one cycle after so many."""
    dut = FlitCheck(covers_zero_field, stages, apart)
    delay = max(stages, 2) if apart == 1 else apart + 1
    rng = random.Random(3)

    async def bench(ctx):
        expected, seen, cycle = {}, 0, 0
        for n in range(40):
            header = rng.getrandbits(24)
            flit = DLFlit([rng.getrandbits(8) for _ in range(5)], [rng.getrandbits(32) for _ in range(157)], header)
            case = n % 5
            data = bytearray(flit.encode(crc_covers_zero_field=covers_zero_field, invert_crc=case == 2))
            if case == 1:
                data[rng.randrange(640)] ^= 1 << rng.randrange(8)
            status = BAD if case == 3 else CONTROL if case == 4 else GOOD
            verdict = (GOOD, BAD, BAD, BAD, CONTROL)[case]
            for beat in range(10):
                gaps = apart - 1 if n or beat else 0
                while gaps or rng.random() < (n % 2) * 0.2:
                    gaps -= gaps > 0
                    ctx.set(dut.rx.valid, 0)
                    ctx.set(dut.rx.p.data, rng.getrandbits(512))
                    await tick(ctx, cycle)
                    cycle += 1
                    seen += watch(ctx, cycle, expected)
                ctx.set(dut.rx.valid, 1)
                ctx.set(dut.rx.p.data, int.from_bytes(data[64 * beat : 64 * beat + 64], "little"))
                ctx.set(dut.rx.p.first, beat == 0)
                ctx.set(dut.rx.p.last, beat == 9)
                ctx.set(dut.rx.p.status, status)
                if beat == 9:
                    expected[cycle + delay] = (verdict, case == 3, header)
                await tick(ctx, cycle)
                cycle += 1
                seen += watch(ctx, cycle, expected)
        ctx.set(dut.rx.valid, 0)
        for _ in range(delay):
            await tick(ctx, cycle)
            cycle += 1
            seen += watch(ctx, cycle, expected)
        assert seen == 40

    headers = {}

    async def tick(ctx, cycle):
        headers[cycle] = ctx.get(dut.header)
        await ctx.tick()

    def watch(ctx, cycle, expected):
        assert ctx.get(dut.ended) == (cycle in expected)
        if cycle in expected:
            verdict, lost, header = expected[cycle]
            assert (ctx.get(dut.status), ctx.get(dut.lost)) == (verdict, lost)
            if verdict == GOOD:
                assert headers[cycle - 2] == header
        return cycle in expected

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
