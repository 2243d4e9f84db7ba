"""Originator and Completer back to back, with random beats per port and channel."""

import random
from collections import deque

from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.sim import Simulator

from support.upli.wire import WireRules, sample
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.upli.calendar import Calendar
from ualink.upli.channels import CHANNEL_LAYOUTS, UPLISignature
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

CHANNELS = tuple(CHANNEL_LAYOUTS)
POISON = {"orig_data": "error", "rd_rsp": "data_error"}


def pack(channel: str, **fields: int) -> int:
    """A beat of ``channel`` as the number on a stream's payload."""
    layout = CHANNEL_LAYOUTS[channel]
    return sum(value << layout[name].offset for name, value in fields.items())


def field(channel: str, beat: int, name: str) -> int:
    place = CHANNEL_LAYOUTS[channel][name]
    return beat >> place.offset & (1 << place.width) - 1


def members(interface, path=()):
    """Every signal of an interface with its path, ``("req", "credit", "port_num", 2)`` and the like."""
    for name in interface.signature.members:
        part = getattr(interface, name)
        member = interface.signature.members[name]
        if member.is_signature:
            yield from members(part, (*path, name))
        elif member.dimensions:
            yield from (((*path, name, n), part[n]) for n in range(member.dimensions[0]))
        else:
            yield (*path, name), part


class Pair(Elaboratable):
    """Both agents with a reset; ``upli`` is the interface as its receivers see it, with ``faults[path]`` flipped."""

    def __init__(self, config, ports, faults=()):
        self.ports = ports
        self.originator = Originator(config, ports)
        self.completer = Completer(config, ports)
        self.upli = UPLISignature().create()
        self.faults = {path: Signal(576, name="_".join(map(str, path))) for path in faults}
        self.reset = Signal()
        self.skew = Signal(2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.originator = ResetInserter(self.reset)(self.originator)
        m.submodules.completer = ResetInserter(self.reset)(self.completer)
        m.submodules.calendar = calendar = Calendar(self.ports)
        m.d.comb += [
            self.originator.slot.eq(calendar.slot),
            # The groups of the other side may have any phase.
            self.completer.slot.eq((calendar.slot + self.skew) & (self.ports - 1)),
        ]
        own = dict(members(self.originator.upli))
        theirs = dict(members(self.completer.upli))
        for path, seen in members(self.upli):
            from_originator = self.driven_by_originator(path)
            driver, sink = (own, theirs) if from_originator else (theirs, own)
            flips = self.faults[path][: len(seen)] if path in self.faults else 0
            m.d.comb += [seen.eq(driver[path] ^ flips), sink[path].eq(seen)]
        return m

    async def settle(self, ctx) -> None:
        """A reset in which all copies of how many ports are used come to agree."""
        ctx.set(self.reset, 1)
        await ctx.tick().repeat(RESTART_CYCLES)
        ctx.set(self.reset, 0)

    @staticmethod
    def driven_by_originator(path):
        if len(path) == 1:
            return path[0].startswith("orig")
        return (path[0] in ("req", "orig_data")) != ("credit" in path)


class Traffic:
    """Random beats in both directions over a ``Pair``; ``run`` steps cycles and judges the wire."""

    def __init__(self, pair, config, seed, *, offer=0.8, take=0.7, vcs=(0, 1, 2, 3), judge=True):
        self.pair = pair
        self.config = config
        self.rng = random.Random(seed)
        self.offer, self.take, self.vcs = offer, take, vcs
        self.judge = judge
        self.senders = {
            "req": pair.originator.req,
            "orig_data": pair.originator.orig_data,
            "rd_rsp": pair.completer.rd_rsp,
            "wr_rsp": pair.completer.wr_rsp,
        }
        self.receivers = {
            "req": pair.completer.req,
            "orig_data": pair.completer.orig_data,
            "rd_rsp": pair.originator.rd_rsp,
            "wr_rsp": pair.originator.wr_rsp,
        }
        self.restart()

    def restart(self):
        ports = range(self.pair.ports)
        self.rules = WireRules(self.pair.ports, {name: getattr(self.config, name) for name in CHANNELS})
        self.pending = {(channel, port): deque() for channel in CHANNELS for port in ports}
        self.offered = dict.fromkeys(self.pending, False)
        self.data_left = dict.fromkeys(ports, 0)
        self.data_owed = dict.fromkeys(ports, 0)
        self.response_left = dict.fromkeys(ports, 0)
        self.accepted = {key: [] for key in self.pending}
        self.received = {key: [] for key in self.pending}

    async def reset(self, ctx):
        """Reset both agents and forget everything."""
        for channel, port in self.pending:
            ctx.set(self.senders[channel][port].valid, 0)
        ctx.set(self.pair.reset, 1)
        await ctx.tick()
        ctx.set(self.pair.reset, 0)
        self.restart()

    def bits(self, width):
        return self.rng.getrandbits(width)

    def _response(self, **more):
        return dict(
            auth_tag=self.bits(64),
            src_phys_acc_id=self.bits(10),
            dst_phys_acc_id=self.bits(10),
            tag=self.bits(11),
            status=self.rng.choice((0, 2, 3, 6, 8)),
            **more,
        )

    def refill(self, port):
        """Keep something to send on every channel of ``port``."""
        rng = self.rng
        if not self.pending["req", port]:
            with_data = rng.random() < 0.5
            cmd = rng.choice((0x28, 0x29, 0x2A, 0x2D, 0x30, 0x3C) if with_data else (0x03, 0x08))
            num_beats, vc = (rng.randrange(4) if with_data else 0), rng.choice(self.vcs)
            request = {name: self.bits(place.width) for name, place in CHANNEL_LAYOUTS["req"]}
            request.update(cmd=cmd, num_beats=num_beats, vc=vc)
            self.pending["req", port].append(pack("req", **request))
            for offset in range(num_beats + 1 if with_data else 0):
                error = rng.random() < 0.1
                beat = dict(data=self.bits(512), byte_en=self.bits(64), offset=offset, last=offset == num_beats)
                self.pending["orig_data", port].append(pack("orig_data", **beat, error=error, vc=vc))
        if not self.pending["rd_rsp", port]:
            num_beats, vc = rng.randrange(4), rng.choice(self.vcs)
            single = rng.random() < 0.3
            response = self._response(num_beats=0 if single else num_beats, vc=vc)
            for offset in range(num_beats + 1):
                more = dict(data=self.bits(512), offset=offset, last=offset == num_beats, data_error=rng.random() < 0.1)
                self.pending["rd_rsp", port].append(pack("rd_rsp", **response, **more))
        if not self.pending["wr_rsp", port]:
            self.pending["wr_rsp", port].append(pack("wr_rsp", **self._response(vc=rng.choice(self.vcs))))

    def _must_offer(self, channel, port):
        """Beats that their producer offers without a gap once their transfer has begun, or its Request is offered."""
        if channel == "orig_data":
            return self.data_left[port] > 0 or (self.offered["req", port] and self._with_data(port))
        return channel == "rd_rsp" and self.response_left[port] > 0

    def _with_data(self, port):
        return field("req", self.pending["req", port][0], "cmd") >> 5 & 1

    def drive(self, ctx, *, more=True):
        for port in range(self.pair.ports):
            if more:
                self.refill(port)
            for channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
                key = channel, port
                stream = self.senders[channel][port]
                wanted = bool(self.pending[key]) and (
                    self._must_offer(channel, port) or (channel != "orig_data" and self.rng.random() < self.offer)
                )
                if wanted and not self.offered[key]:
                    ctx.set(Value.cast(stream.payload), self.pending[key][0])
                    ctx.set(stream.valid, 1)
                    self.offered[key] = True
                ctx.set(self.receivers[channel][port].ready, self.rng.random() < self.take)

    def collect(self, ctx):
        for channel, port in self.pending:
            key = channel, port
            stream = self.senders[channel][port]
            if self.offered[key] and ctx.get(stream.ready):
                beat = self.pending[key].popleft()
                self.accepted[key].append(beat)
                self.offered[key] = False
                if channel == "req" and field("req", beat, "cmd") >> 5 & 1:
                    self.data_left[port] += field("req", beat, "num_beats") + 1
                if channel == "orig_data":
                    self.data_left[port] -= 1
                if channel == "rd_rsp":
                    left = self.response_left[port]
                    self.response_left[port] = left - 1 if left else field("rd_rsp", beat, "num_beats")
            stream = self.receivers[channel][port]
            if ctx.get(stream.valid) and ctx.get(stream.ready):
                self.received[key].append(ctx.get(Value.cast(stream.payload)))

    async def run(self, ctx, cycles, *, more=True):
        for _ in range(cycles):
            self.drive(ctx, more=more)
            if self.judge:
                self.rules.step(sample(ctx, self.pair.upli))
            await self.finish(ctx)

    async def finish(self, ctx):
        """End a cycle that ``drive`` began."""
        self.collect(ctx)
        await ctx.tick()
        for (channel, port), offered in self.offered.items():
            if not offered:
                ctx.set(self.senders[channel][port].valid, 0)

    def check_order(self, *, complete):
        for (channel, port), sent in self.accepted.items():
            expected = [arrives_as(channel, beat) for beat in sent]
            received = self.received[channel, port]
            if complete:
                assert received == expected, f"{channel} of port {port}"
            assert received == expected[: len(received)], f"{channel} of port {port}"


def arrives_as(channel, beat):
    """What arrives of a sent beat: the data of a poisoned one is 0."""
    if channel in POISON and field(channel, beat, POISON[channel]):
        place = CHANNEL_LAYOUTS[channel]["data"]
        return beat & ~((1 << place.width) - 1 << place.offset)
    return beat


def simulate(dut, bench, *, clock=True):
    """Run ``bench`` on ``dut``; without ``clock`` for a block that has no registers."""
    simulator = Simulator(dut)
    if clock:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
