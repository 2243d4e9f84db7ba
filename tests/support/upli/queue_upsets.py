"""Every bit of what a queue of received beats remembers, flipped, and what then comes out of it."""

import random
from collections import Counter

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from support.upsets import collect
from ualink.upli.channels import CODED_LAYOUTS
from ualink.upli.code import control_wrong, data_wrong

__all__ = ["QueueUpsets"]

PHASES = ((1.0, 1.0), (1.0, 0.0), (0.3, 0.3), (0.0, 1.0), (0.6, 0.6), (1.0, 0.6), (0.0, 0.6), (0.2, 1.0), (1.0, 1.0))
"""Shares of the cycles in which a beat comes and one may leave: what goes through, fills, holds and drains."""

AFTER = 8
"""Beats that come at the end, when all have left, one in every other cycle."""

LAST = 2 * AFTER + 8
"""So many cycles of the end."""


class QueueUpsets:
    """A queue and the same traffic in each run.

    ``play`` strikes once. A beat is good when the code of its control is right. It has come, in its order, or the queue
    has said by then that it was ``upset``. It says so in the cycle after that in which a beat leaves with the credit of
    another, or does not come out though it has to, and at the end at the latest if one is inside for good. A good beat
    with other data has a wrong code of data.
    """

    def __init__(self, channel, make, depth, seed, *, told=True):
        shape = data.StructLayout({"beat": CODED_LAYOUTS[channel], "pool": 1, "void": 1, "credit": 1})
        self.dut, self.channel, self.depth = make(shape, depth), channel, depth
        self._upset = self.dut.upset if told else Signal()
        rng = random.Random(seed)
        each = max(8, depth + 2)
        self.plan = [(rng.random() < come, rng.random() < go) for come, go in PHASES for _ in range(each)]
        self.struck = len(self.plan)
        self.plan += [(0, 1)] * (depth + 8) + [(1, 1), (0, 1)] * AFTER + [(0, 1)] * 8
        self.marks = [(rng.random() < 0.5, rng.random() < 0.2, rng.random() < 0.9) for _ in self.plan]
        m = Module()
        m.submodules.dut = self.dut
        beat = self.dut.output.p.beat
        self._control_wrong, self._data_wrong, self._wide = Signal(), Signal(), Signal(64)
        wide = [getattr(beat, name) for name in ("data", "byte_en") if name in CODED_LAYOUTS[channel].members]
        m.d.comb += [
            self._control_wrong.eq(control_wrong(channel, beat, beat.code)),
            self._data_wrong.eq(data_wrong(channel, beat, beat.code)),
            self._wide.eq(Cat(wide)),
        ]
        design, registers, self._memories = collect(m)
        self.registers = [place for place in registers if place.path[0] == "dut"]
        self._has_data = "data" in CODED_LAYOUTS[channel].members
        self._simulator = Simulator(design)
        self._simulator.add_clock(1e-9)

    def run(self, story) -> None:
        self._simulator.add_testbench(story)
        self._simulator.run()

    def _control(self, number) -> dict[str, int]:
        """Fields of control of beat ``number``."""
        own = {"tag": number} if "tag" in CODED_LAYOUTS[self.channel].members else {"offset": number >> 2 & 3}
        return {"vc": number & 3, **own}

    def _offer(self, ctx, number, marks):
        """Beat ``number``, with right codes: its control is made of its number, and so are its data."""
        payload = self.dut.input.p
        for name, value in zip(("pool", "void", "credit"), marks):
            ctx.set(payload[name], value)
        control = self._control(number)
        for name, value in control.items():
            ctx.set(payload.beat[name], value)
        ctx.set(payload.beat.code.control, sum(value.bit_count() for value in control.values()) & 1)
        if self._has_data:
            ctx.set(payload.beat.data, number)
            ctx.set(payload.beat.code.data, number.bit_count() & 1)

    def _leaves(self, ctx, came):
        """What is wrong of the beat that leaves, if it is to be the one that ``came``, its number and marks."""
        payload = self.dut.output.p
        beat, (number, (pool, void, credit)) = payload.beat, came or (None, (None, None, None))
        if ctx.get(payload.void) != void:
            return "void", 1
        if not void and not ctx.get(self._control_wrong):
            if number is None or any(ctx.get(beat[name]) != value for name, value in self._control(number).items()):
                return "beat", 0
            if self._has_data and not ctx.get(self._data_wrong) and ctx.get(self._wide) != number:
                return "data", 0
        if ctx.get(payload.credit) != credit or (credit and ctx.get(payload.pool) != pool):
            return "credit", 1
        return None

    async def play(self, ctx, strike=None):
        """What was wrong first, and the cycle in which that has to be told; the cycle in which it was told; and whether
        beats come right again at the end."""
        dut, registers = self.dut, [place.signal for place in self.registers]
        for signal in registers:
            ctx.set(Value.cast(signal), signal.init)
        # No row from the run before, in which numbers may be those of this one.
        for memory in self._memories:
            for row in range(memory.depth):
                ctx.set(Value.cast(memory.rows[row]), 0)
        inside, wrong, told, number, right = [], None, None, 0, 0
        for cycle, ((comes, goes), marks) in enumerate(zip(self.plan, self.marks)):
            if strike is not None and strike[2] == cycle:
                signal = Value.cast(registers[strike[0]])
                ctx.set(signal, ctx.get(signal) ^ 1 << strike[1])
            last = cycle >= len(self.plan) - LAST
            if cycle == len(self.plan) - LAST:
                wrong = wrong or (("lost", cycle) if inside else None)
                inside = []
            # What stands there while nothing comes is a good beat, too: the last one.
            comes = comes and len(inside) < self.depth
            ctx.set(dut.input.valid, comes)
            if comes:
                number += 1
                self._offer(ctx, number, marks)
            if told is None and ctx.get(self._upset):
                told = cycle
            valid, void = ctx.get(dut.output.valid), ctx.get(dut.output.p.void)
            ctx.set(dut.output.ready, goes | void)
            if valid and (goes or void):
                found = self._leaves(ctx, inside.pop(0) if inside else None)
                if found and not wrong:
                    wrong = found[0], cycle + found[1]
                right += last and not found and not ctx.get(self._control_wrong)
            if comes:
                inside.append((number, marks))
            await ctx.tick()
        if inside and not wrong:
            wrong = "lost", len(self.plan)
        return wrong, told, right == AFTER

    async def strikes(self, ctx, cycles, bits):
        """What fails: by kind of state and of failure, each the bit, the cycle of the strike, that in which it has to
        be told, and that in which it was; the kinds after which beats do not come right again; those that are told."""
        assert await self.play(ctx) == (None, None, True)
        failed, dead, seen = {}, Counter(), set()
        for n, place in enumerate(self.registers):
            for bit in bits(place):
                for cycle in cycles(self.struck):
                    wrong, told, alive = await self.play(ctx, (n, bit, cycle))
                    name = ".".join(place.path[1:])
                    seen |= {place.path[-1]} if told is not None else set()
                    if wrong is not None and (told is None or told > wrong[1]):
                        failed.setdefault((name, wrong[0]), []).append((bit, cycle, wrong[1], told))
                    if not alive:
                        dead[name] += 1
        return failed, dead, seen
