"""A whole agent breaks no rule of UPLI, whatever its partner drives and whoever takes what it received."""

import os

import pytest
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal

from support.formal import BITWUZLA, prove
from support.upli.offer import Offer
from support.upli.pair import members
from ualink.config import CheckerConfig, Credits, UPLIConfig
from ualink.upli.calendar import Calendar
from ualink.upli.checker.checker import UPLIChecker
from ualink.upli.checker.rules import RULES
from ualink.upli.checker.watched import watch
from ualink.upli.commands import ReqCmd, has_orig_data
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

AGENTS = {"orig": Originator, "comp": Completer}

DEPTH = 11
"""Cycles from reset. A first beat is on the interface in cycle 5 at the earliest, and judged three cycles later."""

WHOLE = [(1, 15), (2, 13)]
"""Ports and cycles of the long proofs (``make soak``)."""

LENGTHS = [(1, DEPTH), *WHOLE] if os.environ.get("UALINK_SOAK") else [(1, DEPTH)]

SMALL = UPLIConfig(**{name: Credits(pool=4) for name in ("req", "orig_data", "rd_rsp", "wr_rsp")})


def owed(agent) -> list[str]:
    """Rules of the checker that ``agent`` alone can break: those of beats that it sends and of credits that it returns.

    Those of the handshake and of the first cycle are of both sides; the bench has them by side.
    """
    return [
        rule.name
        for rule in RULES
        if any(rule.name.startswith(f"{name}_") and not _of_returns(rule.name, name) for name in agent.sends)
        or any(_of_returns(rule.name, name) for name in agent.receives)
    ]


def _of_returns(rule: str, channel: str) -> bool:
    return rule.startswith(f"{channel}_credit_")


class OneAgent(Elaboratable):
    """One agent with a checker; its partner, its users and what they want are free."""

    def __init__(self, own, ports, *, cover=False):
        self.ports, self.cover = ports, cover
        self.agent = agent = AGENTS[own](SMALL, ports)
        driven = (*agent.sends, f"{own}_clk_req", f"{own}_clk_ack")
        self.own = [signal for path, signal in members(agent.upli) if (path[0] in driven) != ("credit" in path)]
        self.first = [
            signal
            for path, signal in members(agent.upli)
            if (path[0] in driven) != ("credit" in path) and path[-1] in ("vld", "init_done", *driven)
        ]
        self.handshake = [getattr(agent.upli, name) for name in driven[-2:]]
        peer = "comp" if own == "orig" else "orig"
        self.granted = [getattr(agent.upli, f"{peer}_clk_{what}") for what in ("req", "ack")]
        mine = {id(signal) for signal in self.own}
        self.free = [signal for _, signal in members(agent.upli) if id(signal) not in mine]
        self.free += [agent.connect, agent.drop, agent.clear_errors]
        self.free += [stream.ready for name in agent.receives for stream in getattr(agent, name)]
        self.offers = {
            name: [Offer(stream, f"{name}_{port}") for port, stream in enumerate(getattr(agent, name))]
            for name in agent.sends
        }
        self.free += [signal for offers in self.offers.values() for offer in offers for signal in offer.inputs]
        self.writes = [Signal(name=f"writes_{port}") for port in range(ports)]
        self.free += self.writes if own == "orig" else []

    def elaborate(self, platform):
        m = Module()
        m.submodules.agent = agent = self.agent
        m.submodules.calendar = calendar = Calendar(self.ports)
        m.d.comb += agent.slot.eq(calendar.slot)
        for port in range(self.ports):
            if "req" in agent.sends:
                self._requests(m, port)
            else:
                self._responses(m, port)
        m.submodules.checker = checker = UPLIChecker(CheckerConfig(ports=self.ports, tracked=0))
        watch(m, checker.upli, agent.upli)
        if self.cover:
            name = "orig_data" if "orig_data" in agent.sends else "rd_rsp"
            sent = getattr(agent.upli, name)
            m.d.comb += Cover(sent.vld & sent.last & (sent.offset == 3))
            return m
        started, fell = Signal(), Signal()
        before, grants = Signal(2), Signal(2)
        m.d.sync += [
            started.eq(1),
            before.eq(Cat(self.handshake)),
            grants.eq(grants | Cat(self.granted)),
            fell.eq(fell | (grants & ~Cat(self.granted)).any()),
        ]
        m.d.comb += [
            Assert(started | ~Cat(self.first).any()),
            Assert(~(before & ~Cat(self.handshake)).any()),
        ]
        # A partner that takes back what it granted has no rights.
        m.d.comb += [Assert(fell | ~checker.violations[name]) for name in owed(agent)]
        return m

    def _requests(self, m, port):
        """Reads and WriteFulls of any length; one with data when those of the last one are taken."""
        req, data, writes = self.offers["req"][port], self.offers["orig_data"][port], self.writes[port]
        num, vc, place = Signal(2, name=f"num_{port}"), Signal(2, name=f"vc_{port}"), Signal(2, name=f"place_{port}")
        busy, begun, gone = Signal(name=f"busy_{port}"), Signal(name=f"begun_{port}"), Signal(name=f"gone_{port}")
        starts, ends = Signal(name=f"starts_{port}"), Signal(name=f"ends_{port}")
        beats = req.free.num_beats
        lawful = {"addr": 0, "len": (beats << 4) | 0xF, "attr": 0, "meta_data": 0, "asi": 0}
        lawful |= {"cmd": Mux(writes, ReqCmd.WRITE_FULL, ReqCmd.READ), "num_beats": Mux(writes, beats, 0)}
        req.say(m, ~writes | ~busy, lawful)
        m.d.comb += starts.eq(req.valid & ~req.held & writes)
        of_now = {"num": Mux(starts, beats, num), "vc": Mux(starts, req.free.vc, vc), "place": Mux(starts, 0, place)}
        last = of_now["place"] == of_now["num"]
        data.say(
            m,
            starts | busy,
            {"byte_en": (1 << 64) - 1, "offset": of_now["place"], "last": last, "vc": of_now["vc"]},
        )
        with m.If(begun & gone):
            m.d.comb += data.valid.eq(1)
        m.d.comb += ends.eq(data.taken & last)
        with_data = has_orig_data(req.payload.cmd)
        m.d.sync += [
            num.eq(of_now["num"]),
            vc.eq(of_now["vc"]),
            place.eq(of_now["place"] + data.taken),
            busy.eq((busy | starts) & ~ends),
            begun.eq((begun | data.taken) & ~ends),
            gone.eq((gone | (req.taken & with_data)) & (busy | starts) & ~ends),
        ]

    def _responses(self, m, port):
        """Responses of any length; the rest of a Read Response from the cycle after its first beat is taken on."""
        read = self.offers["rd_rsp"][port]
        self.offers["wr_rsp"][port].say(m, 1)
        begun, place = Signal(read.payload.shape(), name=f"begun_{port}"), Signal(2, name=f"place_{port}")
        same = {
            name: Mux(place == 0, read.free[name], begun[name])
            for name in ("num_beats", "tag", "src_phys_acc_id", "dst_phys_acc_id", "vc", "status")
        }
        read.say(m, 1, same | {"offset": place, "last": place == same["num_beats"]})
        with m.If(place != 0):
            m.d.comb += read.valid.eq(1)
        with m.If(read.taken):
            m.d.sync += [begun.eq(read.payload), place.eq(Mux(read.payload.last, 0, place + 1))]


RULES_SHOWN = ("UPLI-051", "UPLI-093", "UPLI-115", "UPLI-119", "UPLI-120", "UPLI-299", "UPLI-310", "RST-042")


@pytest.mark.soak
@pytest.mark.req(*RULES_SHOWN)
@pytest.mark.parametrize(("ports", "depth"), LENGTHS)
@pytest.mark.parametrize("own", AGENTS)
def test_an_agent_breaks_no_rule(own, ports, depth):
    bench = OneAgent(own, ports)
    prove(bench, mode="bmc", depth=depth, engine=BITWUZLA, ports=bench.free)


@pytest.mark.parametrize("own", AGENTS)
def test_the_proof_sees_whole_transfers(own):
    bench = OneAgent(own, 1, cover=True)
    prove(bench, mode="cover", depth=14, engine=BITWUZLA, ports=bench.free)
