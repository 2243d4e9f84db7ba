"""Events that meet a replay, or the end of the link, in every cycle of a slot: narrow beats, one after the other."""

import functools
from itertools import pairwise

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.sim import Simulator

from support.dl.mutant_modules import load
from ualink.config import DLConfig
from ualink.lib.parity import byte_parity, even_parity
from ualink.phy.interface import TxKind
from ualink_sim.model.dl.header import ExplicitHeader, decode_header

BEATS = 10
DATA_BITS = 48
HELD = 4
MEETINGS = [(phase, offset) for phase in range(BEATS) for offset in range(1, 9)] + [(5, n) for n in range(8, 27)]
"""Beats of a slot in which a replay is asked for, and cycles from there to the second event: all while the pointer of
the replay moves, then all phases of the slots that follow."""
SETTLED = 5
"""A slot that begins so many cycles after an Ack, or later still, knows of it."""


class Bench:
    """Slots between a source of numbered flits, of which the first ``HELD`` have payload, and a wire; ``run`` starts
    from reset."""

    def __init__(self):
        self.dut = dut = load(beats=BEATS, data_bits=DATA_BITS).replay_transmit.ReplayTransmit(DLConfig(replay_depth=8))
        m = Module()
        m.submodules.dut = dut
        p = dut.packed.p
        self.made = made = Signal(range(BEATS))
        self.number, self.payload, self.spoil = Signal(16), Signal(), Signal(BEATS)
        m.d.comb += [
            dut.packed.valid.eq(1),
            p.data[24:40].eq(self.number),
            p.data[40:].eq(made),
            p.parity.eq(byte_parity(p.data) ^ (self.spoil.bit_select(made, 1) << 5)),
            p.first.eq(made == 0),
            p.last.eq(made == BEATS - 1),
            p.payload.eq(self.payload),
            p.control_parity.eq(even_parity(p.first, p.last, p.payload, p.error)),
        ]
        with m.If(dut.packed.ready):
            m.d.sync += made.eq(made + 1)
            with m.If(made == BEATS - 1):
                m.d.sync += [made.eq(0), self.number.eq(self.number + 1)]
                accept = Mux(self.payload, dut.accept_two, dut.accept_one)
                m.d.sync += self.payload.eq(accept & (self.number < HELD))
        self.simulator = Simulator(m)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self._drive)
        self.used = False

    def run(self, cycles: int, drive) -> list[tuple[object, int, bool, int]]:
        """``drive(ctx, cycle)`` sets inputs before each tick. Returns header, number in the content, inverted CRC and
        cycle of the last beat of each DL flit sent."""
        if self.used:
            self.simulator.reset()
        self.used = True
        self.cycles, self.drive, self.flits = cycles, drive, []
        self.simulator.run()
        return self.flits

    async def _drive(self, ctx):
        dut = self.dut
        ctx.set(dut.next_kind, TxKind.DATA)
        ctx.set(dut.up, 1)
        ctx.set(dut.beat.ready, 1)
        awaiting, number = None, -1
        for cycle in range(self.cycles):
            self.drive(ctx, cycle)
            p = dut.beat.p
            taken = ctx.get(dut.beat.valid) and ctx.get(dut.beat.ready)
            if taken:
                if awaiting:
                    self.flits.append(
                        (decode_header(awaiting[0] & 0xFFFFFF), number, bool(ctx.get(dut.invert)), awaiting[1])
                    )
                    awaiting = None
                beat = ctx.get(p.data)
                if ctx.get(p.kind) == TxKind.DATA:
                    number = beat >> 24 & 0xFFFF if ctx.get(p.first) else number
                    assert number == beat >> 24 & 0xFFFF, f"a flit of two numbers in cycle {cycle}"
                    if ctx.get(p.last):
                        awaiting = beat, cycle
            await ctx.tick()


@functools.cache
def bench():
    return Bench()


def slot_of_interest():
    """The cycle in which the first slot begins whose predecessors are the ``HELD`` payload flits, all stored."""
    flits = bench().run(100, lambda ctx, cycle: None)
    payloads = [cycle for header, _, _, cycle in flits if header.payload]
    assert len(payloads) == HELD
    return payloads[-1] + 1


def replay_of(flits):
    """Headers and numbers of the flits of a replay: from its first on, up to the next NOP flit, and what follows."""
    first = next(n for n, (header, *_) in enumerate(flits) if isinstance(header, ExplicitHeader) and header.replay)
    end = next(n for n, (header, *_) in enumerate(flits) if n > first and not header.payload)
    return flits[first:end], flits[end:]


@pytest.mark.req("DL-126", "DL-140", "DL-148", "DL-160", "DL-183")
@pytest.mark.parametrize("second", [2, 3])
def test_further_replay_request_during_a_replay(second):
    """In every cycle around the begin of a replay: it restarts at the number asked for last, with an explicit flit, and
    nothing new goes out before its end."""
    dut, begin = bench().dut, slot_of_interest()
    for phase, offset in MEETINGS:
        asked, again = begin + phase, begin + phase + offset
        numbers = {asked: 1, again: second}

        def drive(ctx, cycle, numbers=numbers):
            ctx.set(dut.replay, cycle in numbers)
            ctx.set(dut.replay_from, numbers.get(cycle, 0))

        where = f"asked in beat {phase}, again {offset} cycles later"
        replayed, rest = replay_of(bench().run(begin + 100, drive))
        assert not any(header.payload for header, *_ in rest), where
        restarted = replayed[-(HELD - second + 1) :]
        assert [number for _, number, *_ in restarted] == list(range(second, HELD + 1)), where
        header = restarted[0][0]
        assert isinstance(header, ExplicitHeader) and header.replay and header.flit_seq_no == second, where
        assert restarted[0][3] - BEATS + 1 <= again + 5 + BEATS, where


@pytest.mark.req("DL-125", "DL-126", "DL-183")
@pytest.mark.parametrize("acked", [1, 2, HELD])
def test_ack_in_each_cycle_around_the_begin_of_a_replay(acked):
    """The replay goes on with a flit that is still held, if it has not sent it yet, and goes up to the newest; no new
    flit is among them."""
    dut, begin = bench().dut, slot_of_interest()
    for phase, offset in MEETINGS:
        asked, ack = begin + phase, begin + phase + offset

        def drive(ctx, cycle, asked=asked, ack=ack):
            ctx.set(dut.replay, cycle == asked)
            ctx.set(dut.replay_from, 1)
            ctx.set(dut.rx_last_ack, acked if cycle >= ack else 511)

        flits = bench().run(begin + 80, drive)
        where = f"asked in beat {phase}, acknowledged {offset} cycles later"
        # Slots that began before the Ack, or soon after it, may carry what it frees.
        again = [(number, at - BEATS + 1) for header, number, _, at in flits if header.payload and at > begin]
        assert all(number > acked for number, at in again if at > ack + SETTLED), where
        # From the oldest that is held on nothing is left out, nothing comes twice, and nothing else comes between.
        numbers = [number for number, _ in again]
        assert numbers == sorted(set(numbers)) and set(range(acked + 1, HELD + 1)) <= set(numbers), where
        starts = [at for _, at in again]
        assert all(after - before == BEATS for before, after in pairwise(starts)), where


@pytest.mark.req("DL-181", "DL-182")
@pytest.mark.parametrize("stalled", range(4))
def test_link_goes_down_with_a_spoilt_flit(stalled):
    """Whatever beat spoils the last flit before the link goes down, its CRC is inverted, stalls at its end or not."""
    dut, begin = bench().dut, slot_of_interest()
    for beat in range(BEATS):
        ended: list[int] = []

        def drive(ctx, cycle, beat=beat, ended=ended):
            in_slot = cycle >= begin - BEATS - 1
            ctx.set(bench().spoil, 1 << beat if in_slot and not ended else 0)
            # As the link does: IDLE from the end of this slot on, and a flush for all of the slot after it.
            ctx.set(dut.next_kind, TxKind.IDLE if in_slot else TxKind.DATA)
            ctx.set(dut.flush, bool(ended))
            ctx.set(dut.beat.ready, not ended or cycle > ended[0] + stalled)
            if in_slot and not ended and ctx.get(dut.slot_end):
                ended.append(cycle)

        *good, (_, _, inverted, _) = bench().run(begin + 40, drive)
        assert len(good) == HELD and not any(inverted for _, _, inverted, _ in good), f"beat {beat}"
        assert inverted, f"beat {beat}"


@pytest.mark.parametrize("before", range(4))
def test_commands_that_meet_a_flush_are_forgotten(before):
    """A flush of one cycle, an Ack and a Replay Request in that cycle or up to three before it: with the numbers of a
    receiver that starts anew nothing is held, nothing is replayed, and no number has been given out."""
    dut, begin = bench().dut, slot_of_interest()
    flushed = begin + BEATS
    seen: list[tuple[int, int, int]] = []

    def drive(ctx, cycle):
        # The flush comes in a slot without a DL flit, as that of a link does.
        ctx.set(dut.next_kind, TxKind.IDLE if begin - 2 <= cycle <= flushed + BEATS else TxKind.DATA)
        ctx.set(dut.flush, cycle == flushed)
        ctx.set(dut.rx_last_ack, 2 if flushed - before <= cycle <= flushed else 511)
        ctx.set(dut.replay, cycle == flushed - before)
        ctx.set(dut.replay_from, 3)
        if cycle > flushed:
            seen.append((ctx.get(dut.held), ctx.get(dut.tx_replay), ctx.get(dut.tx_last_seq)))

    assert not [flit for flit in bench().run(flushed + 3 * BEATS, drive) if flit[3] > flushed and flit[0].payload]
    assert set(seen) == {(0, 0, 511)}
