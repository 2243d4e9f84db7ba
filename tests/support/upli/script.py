"""A UPLI interface driven by hand, cycle by cycle: a script that a checker watches."""

from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.upli.wire import CHANNELS, CONTROLS, PARITY, ones
from ualink.upli.channels import CHANNEL_LAYOUTS

LATENCY = 3
"""Cycles from the interface to ``violations``."""
POOL, VC1 = 12, 2
"""Credits that ``Script.release`` gives per port and channel."""


def beat_fields(channel, beat):
    """All signals of a beat of ``channel`` with right parity."""
    fields = {"vld": 1, "vld_parity": 1, "port_id": 0, "pool": 1}
    fields |= dict.fromkeys(CHANNEL_LAYOUTS[channel].members, 0) | beat
    for name, (cover, _) in PARITY[channel].items():
        fields[name] = sum(ones(fields[part]) for part in cover.split()) & 1
    if channel in ("orig_data", "rd_rsp"):
        groups = (ones(fields["data"] >> 64 * n & (1 << 64) - 1) & 1 for n in range(8))
        fields["data_parity"] = sum(odd << n for n, odd in enumerate(groups))
    return fields


class Script:
    """Builds the cycles of an interface from the first one without reset. ``bad`` are (cycle, rule) to be reported."""

    def __init__(self, ports=1):
        self.ports = ports
        self.levels = dict.fromkeys(CONTROLS, 0)
        self.done = dict.fromkeys(CHANNELS, 0)
        self.cycles = []
        self.bad = []

    def step(self, *, returns=None, flips=None, idle=None, bad=None, **beats):
        """One cycle: beats by channel, ``returns[channel, port] = (pool, vc, number)``, flipped bits and values of
        signals by path, and the rule that it breaks."""
        values = {(name,): level for name, level in self.levels.items()}
        for channel in CHANNELS:
            if channel in beats:
                fields = beat_fields(channel, beats[channel])
                values |= {(channel, name): value for name, value in fields.items()}
            here = {port: what for (of, port), what in (returns or {}).items() if of == channel}
            vld = sum(1 << port for port in here)
            pool = sum(what[0] << port for port, what in here.items())
            total = ones(pool)
            for port, (_, vc, number) in here.items():
                values |= {(channel, "credit", "port_vc", port): vc, (channel, "credit", "port_num", port): number - 1}
                total += ones(vc) + ones(number - 1)
            credit = {"vld": vld, "pool": pool, "init_done": self.done[channel]}
            credit |= {"vld_parity": ones(vld) & 1, "parity": total & 1}
            values |= {(channel, "credit", name): value for name, value in credit.items()}
        values |= idle or {}
        for path, flip in (flips or {}).items():
            values[path] = values.get(path, 0) ^ flip
        if bad is not None:
            self.bad.append((len(self.cycles), bad))
        self.cycles.append(values)

    def rest(self, cycles=1):
        for _ in range(cycles):
            self.step()

    def open(self):
        """Both directions of the handshake."""
        self.step()
        self.levels |= {"orig_clk_req": 1, "comp_clk_req": 1}
        self.step()
        self.levels |= {"comp_clk_ack": 1, "orig_clk_ack": 1}
        self.step()

    def release(self, *, late=None):
        """The initial credits of all ports, and CreditInitDone; of channel ``late`` one cycle before the end only."""
        places = [(channel, port) for channel in CHANNELS for port in range(self.ports)]
        for _ in range(POOL // 4):
            self.step(returns=dict.fromkeys(places, (1, 0, 4)))
        self.step(returns=dict.fromkeys(places, (0, 1, VC1)))
        everyone = (1 << self.ports) - 1
        self.done |= {channel: everyone for channel in CHANNELS if channel != late}
        self.step()
        self.done |= dict.fromkeys(CHANNELS, everyone)
        self.step()
        if late is None:
            self.step()

    def tail(self):
        """The cycle after the last one: nothing but levels."""
        self.step()
        return self.cycles.pop()

    def connect(self):
        self.open()
        self.release()
        return self


def run(checker, script, *, encrypted=0, after=4):
    """What ``checker`` reports of ``script``, as (cycle on the interface, rule), and its ``first`` in the end."""
    signals = dict(_signals(checker.upli))
    found = []

    async def bench(ctx):
        ctx.set(checker.encrypted, encrypted)
        names = list(checker.violations.shape().members)
        shown = {}
        for cycle in range(len(script.cycles) + LATENCY + after):
            values = script.cycles[cycle] if cycle < len(script.cycles) else script.tail()
            for path in shown.keys() | values.keys():
                if shown.get(path, 0) != values.get(path, 0):
                    ctx.set(signals[path], values.get(path, 0))
            shown = values
            await ctx.tick()
            bits = ctx.get(Value.cast(checker.violations))
            found.extend((cycle + 1 - LATENCY, name) for n, name in enumerate(names) if bits >> n & 1)
        found.append(ctx.get(checker.first))
        found.append(ctx.get(checker.tracking))

    simulator = Simulator(checker)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    tracking, first = found.pop(), found.pop()
    return found, first, tracking


def _signals(interface, path=()):
    for name, member in interface.signature.members.items():
        part = getattr(interface, name)
        if member.is_signature:
            yield from _signals(part, (*path, name))
        elif member.dimensions:
            yield from (((*path, name, n), part[n]) for n in range(member.dimensions[0]))
        else:
            yield (*path, name), part
