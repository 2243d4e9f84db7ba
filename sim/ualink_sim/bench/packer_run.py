"""A Packer that never lacks anything to send."""

from amaranth.sim import Simulator

from ualink.dl.flit.packer import Packer

__all__ = ["packer_utilisation"]

SETTLE = 160


def packer_utilisation(cycles: int) -> float:
    """Share of the sectors of ``cycles`` beats that are of TL flits, with a DL message in every segment.

    A TL flit has as many sectors as a beat.
    """
    packer = Packer()
    taken = 0

    async def bench(ctx):
        nonlocal taken
        offers = (packer.flit.valid, packer.message.valid)
        for member in (*offers, packer.accept_one, packer.accept_two, packer.channel_online):
            ctx.set(member, 1)
        ctx.set(packer.beat.ready, 1)
        await ctx.tick().repeat(SETTLE)
        for _ in range(cycles):
            taken += ctx.get(packer.flit.ready)
            await ctx.tick()

    simulator = Simulator(packer)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return taken / cycles
