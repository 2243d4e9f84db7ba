"""Grants of the egresses proved: transfers stay whole, nobody starves."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.switch.request_egress import RequestEgress
from ualink.switch.response_egress import ResponseEgress
from ualink.upli.commands import ReqCmd

COUNT = 3


def fair(m, *, waiting, started, mine, name):
    """While ``waiting``, each of the others starts (bits ``started``) once at most; ``mine``: who waits starts."""
    served = Signal(COUNT, name=f"served_{name}")
    with m.If(~waiting | mine):
        m.d.sync += served.eq(0)
    with m.Else():
        m.d.sync += served.eq(served | started)
        m.d.comb += Assert((served & started) == 0)


def stays(m, offered, taken, *values):
    """What queues offer stays until it is taken."""
    before_offered, before_taken = Signal.like(offered), Signal.like(taken)
    m.d.sync += [before_offered.eq(offered), before_taken.eq(taken)]
    m.d.comb += Assume((before_offered & ~before_taken & ~offered) == 0)
    for value in values:
        before = Signal.like(value)
        m.d.sync += before.eq(value)
        m.d.comb += Assume((before_offered & ~before_taken & (before ^ value)) == 0)


class ResponseBench(wiring.Component):
    def __init__(self):
        super().__init__({"valid": In(COUNT), "end": In(COUNT), "ready": In(1), "who": In(range(COUNT))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.egress = egress = ResponseEgress("wr_rsp", COUNT)
        m.d.comb += egress.rsp.ready.eq(self.ready)
        for n, queue in enumerate(egress.queues):
            m.d.comb += [queue.valid.eq(self.valid[n]), queue.payload.end.eq(self.end[n])]
        taken = Signal(COUNT)
        m.d.comb += taken.eq(Cat(queue.valid & queue.ready for queue in egress.queues))
        stays(m, self.valid, taken, self.end)

        owner = Signal(COUNT)  # of the transfer that is being sent
        with m.If(taken.any()):
            m.d.comb += Assert((taken & (taken - 1)) == 0)
            m.d.comb += Assert(~owner.any() | (taken == owner))
            m.d.sync += owner.eq(Mux((taken & self.end).any(), 0, taken))
        # A transfer is offered once it is whole.
        m.d.comb += Assume((owner & ~self.valid) == 0)

        who, begun = Signal(range(COUNT)), Signal()
        m.d.sync += begun.eq(1)
        with m.If(~begun):
            m.d.sync += who.eq(self.who)
        m.d.comb += Assume(self.who < COUNT)
        fair(
            m,
            waiting=begun & self.valid.bit_select(who, 1) & ~owner.bit_select(who, 1),
            started=Mux(owner.any(), 0, taken),
            mine=taken.bit_select(who, 1),
            name="transfers",
        )
        # Who can be served is: no slot is lost.
        with m.If(self.ready & self.valid.any()):
            m.d.comb += Assert(taken.any())
        return m


class RequestBench(wiring.Component):
    def __init__(self):
        super().__init__(
            {
                "valid": In(COUNT),
                "bears": In(COUNT),
                "end": In(COUNT),
                "req_ready": In(1),
                "orig_data_ready": In(1),
                "who": In(range(COUNT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.egress = egress = RequestEgress(COUNT)
        m.d.comb += [egress.req.ready.eq(self.req_ready), egress.orig_data.ready.eq(self.orig_data_ready)]
        owner = Signal(COUNT)  # of the transfer on the data channel
        for n in range(COUNT):
            m.d.comb += [
                egress.queues_req[n].valid.eq(self.valid[n]),
                egress.queues_req[n].payload.cmd.eq(
                    Mux(self.bears[n], ReqCmd.WRITE.value, ReqCmd.READ.value),
                ),
                egress.queues_orig_data[n].valid.eq(self.valid[n] & self.bears[n] | owner[n]),
                egress.queues_orig_data[n].payload.end.eq(self.end[n]),
            ]
        taken, taken_data, bearing = Signal(COUNT), Signal(COUNT), Signal(COUNT)
        m.d.comb += [
            taken.eq(Cat(queue.valid & queue.ready for queue in egress.queues_req)),
            taken_data.eq(Cat(queue.valid & queue.ready for queue in egress.queues_orig_data)),
            bearing.eq(taken & self.bears),
        ]
        stays(m, self.valid, taken, self.bears)

        m.d.comb += [
            Assert((taken & (taken - 1)) == 0),
            Assert(taken_data == Mux(owner.any(), taken_data & owner, bearing)),
            Assert(~owner.any() | ~bearing.any()),
        ]
        with m.If(taken_data.any()):
            m.d.sync += owner.eq(Mux((taken_data & self.end).any(), 0, taken_data))

        who, begun = Signal(range(COUNT)), Signal()
        m.d.sync += begun.eq(1)
        with m.If(~begun):
            m.d.sync += who.eq(self.who)
        m.d.comb += Assume(self.who < COUNT)
        mine = taken.bit_select(who, 1)
        waiting = begun & self.valid.bit_select(who, 1)
        bears = self.bears.bit_select(who, 1)
        fair(m, waiting=waiting & bears, started=bearing, mine=mine, name="bearing")
        fair(m, waiting=waiting & ~bears, started=taken & ~self.bears, mine=mine, name="others")

        # With the slot and the data channel free the two kinds take turns.
        both_free = ~owner.any() & (self.req_ready & self.orig_data_ready)
        both_wait = (self.valid & self.bears).any() & (self.valid & ~self.bears).any()
        started_before, bearing_before = Signal(), Signal()
        with m.If(taken.any()):
            m.d.sync += [started_before.eq(1), bearing_before.eq(bearing.any())]
        with m.If(both_free & both_wait):
            m.d.comb += Assert(taken.any() & (~started_before | (bearing.any() != bearing_before)))
        # Requests without data pass while the beats of another are sent.
        with m.If(self.req_ready & (self.valid & ~self.bears).any()):
            m.d.comb += Assert(taken.any())
        return m


@pytest.mark.req("SW-039", "SW-040", "SW-041", "UPLI-302")
@pytest.mark.parametrize("bench", [ResponseBench, RequestBench])
def test_transfers_stay_whole_and_nobody_starves(bench):
    prove(bench(), mode="bmc", depth=8)
