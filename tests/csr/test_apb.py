"""APB4 before a register bus."""

from random import Random

import pytest
from amaranth.sim import Simulator

from support.csr.target import Target
from ualink.csr.apb import APBRegisters

FAULTY = {3, 17}


@pytest.mark.parametrize("idle", [0, 3])
def test_every_transfer_is_made_once(idle):
    """Back to back, and with pauses in which the other wires say anything."""
    random = Random(idle)
    dut = APBRegisters(5)
    apb, target = dut.apb, Target(dut.bus, 2, FAULTY)
    seen, expected, made = [], [], []

    async def requester(ctx):
        for _ in range(200):
            for _ in range(random.randrange(idle + 1)):
                ctx.set(apb.psel, 0)
                ctx.set(apb.penable, random.getrandbits(1))
                ctx.set(apb.pwrite, random.getrandbits(1))
                await ctx.tick()
            address, word, write = random.randrange(128), random.getrandbits(32), random.getrandbits(1)
            strobes = random.choice((15, 15, 15, random.randrange(16)))
            for signal, value in (
                (apb.psel, 1),
                (apb.penable, 0),
                (apb.paddr, address),
                (apb.pwrite, write),
                (apb.pwdata, word),
                (apb.pstrb, strobes),
            ):
                ctx.set(signal, value)
            _, _, ready = await ctx.tick().sample(apb.pready)
            assert not ready, "ready in the setup phase"
            ctx.set(apb.penable, 1)
            for _ in range(10):
                _, _, ready, data, error = await ctx.tick().sample(apb.pready, apb.prdata, apb.pslverr)
                if ready:
                    break
            assert ready, "the transfer does not end"
            at, whole = address // 4, strobes == 15 or not write
            fails = at in FAULTY or not whole
            seen.append((data, error))
            expected.append((0 if write or fails else target.word_at(at), fails))
            if whole:
                made.append((at, word if write else None))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(target.run, background=True)
    simulator.add_testbench(requester)
    simulator.run()
    assert seen == expected
    assert target.log == made
