"""Sequence numbers against their definition as a circle of 511: the RTL by solver, the model by trying all."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.dl.replay.sequence import ack_in_range, follows, is_held, next_seq, reconstruct_seq, seq_distance
from ualink_sim.model.dl import sequence as model

CIRCLE = list(range(1, 512))


class Windows(wiring.Component):
    """``held`` flits (up to 255) after number ``last_ack``; another number, ``step`` steps after ``last_ack``."""

    last_ack: In(9)
    held: In(8)
    step: In(9)
    lost: In(3)

    def elaborate(self, platform):
        m = Module()

        def after(count):
            total = self.last_ack + count
            return Mux(total > 511, total - 511, total)[:9]

        newest, named = after(self.held), after(self.step)
        following = after(self.lost + 1)
        distance, held = seq_distance(self.last_ack, named), seq_distance(self.last_ack, newest)
        m.d.comb += [
            Assume((self.last_ack != 0) & (self.step <= 510)),
            # An Ack may name the newest acknowledged again and all that are held, a Replay Request one that is held.
            Assert(ack_in_range(distance, held) == (self.step <= self.held)),
            Assert(is_held(distance, held) == ((self.step != 0) & (self.step <= self.held))),
            Assert(follows(named, self.last_ack, newest) == ((self.step != 0) & (self.step <= self.held))),
            # With up to six flits lost, a payload flit looks like the next one only if it is, and like itself always.
            Assume(self.lost <= 6),
            Assert(reconstruct_seq(self.last_ack, following[:3], 1) == following),
            Assert((following == next_seq(self.last_ack)) == (self.lost == 0)),
        ]
        return m


@pytest.mark.req("DL-136", "DL-143", "DL-148", "DL-149", "DL-150")
def test_windows_hold_exactly_what_they_should():
    prove(Windows(), mode="bmc", depth=1)


@pytest.mark.req("DL-136", "DL-143")
def test_model_for_all_numbers():
    """Walked along the circle, step by step."""
    for place, start in enumerate(CIRCLE):
        assert model.next_seq(start) == CIRCLE[(place + 1) % 511]
        assert model.previous_seq(model.next_seq(start)) == start
        for steps in range(511):
            assert model.seq_distance(start, CIRCLE[(place + steps) % 511]) == steps
        for steps in range(1, 8):
            seq = CIRCLE[(place + steps) % 511]
            assert model.reconstruct_seq(start, seq & 7, True) == seq
        for steps in range(7):
            seq = CIRCLE[(place + steps) % 511]
            assert model.reconstruct_seq(start, seq & 7, False) == seq
