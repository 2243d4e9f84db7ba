"""Words that are gathered."""

import random

from amaranth.sim import Simulator

from ualink_sim.word_recorder import WordRecorder

WIDTH, WORDS = 10, 7


def test_words_come_together_in_order_and_none_is_missing():
    dut = WordRecorder(WIDTH, WORDS)
    given = [random.Random(1).getrandbits(WIDTH) for _ in range(5 * WORDS + 3)]
    taken = []

    async def bench(ctx):
        turn = 0
        for word in given:
            ctx.set(dut.word, word)
            await ctx.tick()
            if ctx.get(dut.turn) != turn:
                turn = ctx.get(dut.turn)
                gathered = ctx.get(dut.gathered)
                taken.extend(gathered >> WIDTH * n & (1 << WIDTH) - 1 for n in range(WORDS))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert taken == given[: 5 * WORDS]
