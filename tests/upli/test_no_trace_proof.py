"""A beat with wrong control parity leaves no trace in a whole agent but the error that tells of it."""

import os
from functools import reduce
from operator import xor

import pytest
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Signal, Value

from support.formal import BITWUZLA, prove
from support.upli.pair import members
from ualink.config import Credits, UPLIConfig
from ualink.upli.calendar import Calendar
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

AGENTS = {"orig": (Originator, "wr_rsp"), "comp": (Completer, "req")}

COVERED = {
    "wr_rsp": {"parity": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "port_id", "vc")},
    "req": {
        "addr_parity": ("addr",),
        "parity": (
            *("tag", "len", "attr", "cmd", "meta_data", "vc", "src_phys_acc_id", "dst_phys_acc_id", "port_id"),
            "num_beats",
        ),
    },
}
"""What the control parity of these channels covers (UALink_200 Tables 2-2 and 2-11)."""

DEPTH = 8
"""Cycles from reset. A beat can be taken from cycle 4 on; what it leaves would show in the three after it."""

WHOLE = [(1, 13), (2, 12)]
"""Ports and cycles of the long proofs (``make soak``)."""

LENGTHS = [(1, DEPTH), *WHOLE] if os.environ.get("UALINK_SOAK") else [(1, DEPTH)]

SMALL = UPLIConfig(**{name: Credits(pool=4) for name in ("req", "orig_data", "rd_rsp", "wr_rsp")})


def _of_users(agent) -> list[Value]:
    """What the users of ``agent`` drive: beats to send, places for those received, connection and Drop Mode."""
    streams = [stream for name in agent.sends for stream in getattr(agent, name)]
    places = [stream.ready for name in agent.receives for stream in getattr(agent, name)]
    offered = [signal for stream in streams for signal in (stream.valid, stream.p.as_value())]
    return [*offered, *places, agent.connect, agent.drop, agent.clear_errors]


class Twice(Elaboratable):
    """Two agents that are driven alike, but that the second sees no beat where the first sees one of wrong parity.

    Of what the partner drives, data and AuthTags are 0: nothing is decided by them.
    """

    def __init__(self, own, ports, *, cover=False):
        self.ports, self.cover = ports, cover
        kind, self.channel = AGENTS[own]
        self.agents = [kind(SMALL, ports) for _ in range(2)]
        agent = self.agents[0]
        driven = (*agent.sends, f"{own}_clk_req", f"{own}_clk_ack")
        self.own = [path for path, _ in members(agent.upli) if (path[0] in driven) != ("credit" in path)]
        self.users = [_of_users(agent) for agent in self.agents]
        self.free = [
            signal
            for path, signal in members(agent.upli)
            if path not in self.own and path[-1] not in ("data", "auth_tag")
        ]
        self.free += self.users[0]

    def elaborate(self, platform):
        m = Module()
        seen, other = self.agents
        m.submodules.calendar = calendar = Calendar(self.ports)
        m.submodules.seen, m.submodules.other = seen, other
        m.d.comb += [agent.slot.eq(calendar.slot) for agent in self.agents]
        on, off = (dict(members(agent.upli)) for agent in self.agents)
        m.d.comb += [there.eq(here) for here, there in zip(*self.users)]
        bus, wrong = getattr(seen.upli, self.channel), Signal()
        differs = Cat(
            reduce(xor, (getattr(bus, field).xor() for field in fields)) ^ getattr(bus, parity)
            for parity, fields in COVERED[self.channel].items()
        )
        m.d.comb += wrong.eq(bus.vld & bus.vld_parity & differs.any())
        for path, signal in on.items():
            if path not in self.own:
                gone = path in ((self.channel, "vld"), (self.channel, "vld_parity"))
                m.d.comb += off[path].eq(signal & ~wrong if gone else signal)
        if self.cover:
            # A beat of wrong parity that an agent would have taken, and after it one that it took.
            hit = Signal()
            m.d.sync += hit.eq(hit | (wrong & seen.connected))
            m.d.comb += Cover(hit & getattr(seen, self.channel)[0].valid & seen.control_error & ~other.control_error)
            return m
        for path, signal in on.items():
            if path in self.own:
                m.d.comb += Assert(signal == off[path])
        for name in seen.sends:
            m.d.comb += [Assert(a.ready == b.ready) for a, b in zip(getattr(seen, name), getattr(other, name))]
        for name in seen.receives:
            for a, b in zip(getattr(seen, name), getattr(other, name)):
                m.d.comb += [
                    Assert(a.valid == b.valid),
                    Assert(~a.valid | (a.p.as_value() == b.p.as_value())),
                ]
        m.d.comb += Assert(seen.connected == other.connected)
        return m


@pytest.mark.soak
@pytest.mark.req("RAS-083", "RAS-109")
@pytest.mark.parametrize(("ports", "depth"), LENGTHS)
@pytest.mark.parametrize("own", AGENTS)
def test_a_beat_of_wrong_parity_leaves_no_trace(own, ports, depth):
    bench = Twice(own, ports)
    prove(bench, mode="bmc", depth=depth, engine=BITWUZLA, ports=bench.free)


@pytest.mark.parametrize("own", AGENTS)
def test_the_proof_sees_beats_of_wrong_parity(own):
    bench = Twice(own, 1, cover=True)
    prove(bench, mode="cover", depth=DEPTH, engine=BITWUZLA, ports=bench.free)
