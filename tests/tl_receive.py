"""Drives a TL receiver with flits and collects what it gives: legal random traffic, consumers, expected beats."""

import functools
import random
from dataclasses import dataclass, field

from amaranth.sim import Simulator

from ualink.config import Credits, TLConfig
from ualink.tl.receive import Receive
from ualink.tl.receive_error import ReceiveError
from ualink_sim.model.tl_fields import (
    CompressedReadResponse,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl_sequence import NOP_MESSAGE, Issue, TransmitSequence, message_half_flit

CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")
CLASSES = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
COMMANDS = (0x03, 0x08, 0x0F, 0x28, 0x29, 0x2A, 0x2C, 0x2F, 0x30, 0x32, 0x3C, 0x3F)
READS = (0x03, 0x08)
ALL_ONES = (1 << 64) - 1
OFFLINE = "offline"
"""In the place of a flit: ``online`` is low in this cycle."""


ROOMY = TLConfig(
    **{name: Credits(pool=200, vc=(80,) * 4) for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")},
)
SMALL = TLConfig(
    req_cmd=Credits(pool=3, vc=(1, 0, 2, 1)),
    rsp_cmd=Credits(pool=5, vc=(1, 1, 0, 3)),
    req_data=Credits(pool=5, vc=(4, 0, 1, 2)),
    rsp_data=Credits(pool=4, vc=(1, 4, 0, 2)),
)


@dataclass
class Got:
    """What came out: beats with the cycle of their transfer, credits, pulses, errors with the cycle they rose in.

    ``offered`` has the cycles with valid, ``peer`` (peer_init_done, peer_shared_data) of every cycle, and so has
    ``buffers_free``.
    """

    req: list = field(default_factory=list)
    orig_data: list = field(default_factory=list)
    rd_rsp: list = field(default_factory=list)
    wr_rsp: list = field(default_factory=list)
    offered: dict = field(default_factory=lambda: {channel: [] for channel in CHANNELS})
    fc: list = field(default_factory=list)
    releases: list = field(default_factory=list)
    unknown_messages: int = 0
    half_poisoned: int = 0
    errors: list = field(default_factory=list)
    peer: list = field(default_factory=list)
    buffers_free: list = field(default_factory=list)

    def beats(self, channel):
        return [beat for _, beat in getattr(self, channel)]


class Consumer:
    """Ready signals: ``free`` always, ``agent`` stalls between transfers only, ``random`` anywhere, ``never``."""

    def __init__(self, mode, seed=0):
        self.mode = mode
        self.random = random.Random(seed)
        self.in_burst = {"orig_data": False, "rd_rsp": False}

    def readies(self):
        if self.mode == "free":
            return dict.fromkeys(CHANNELS, 1)
        if self.mode == "never":
            return dict.fromkeys(CHANNELS, 0)
        if self.mode == "random":
            return {channel: int(self.random.random() < 0.5) for channel in CHANNELS}
        start = int(self.random.random() < 0.4)
        return {
            "req": start,
            "orig_data": int(start or self.in_burst["orig_data"]),
            "rd_rsp": int(self.in_burst["rd_rsp"] or self.random.random() < 0.4),
            "wr_rsp": int(self.random.random() < 0.4),
        }

    def saw(self, channel, beat):
        if channel in self.in_burst:
            beats_to_come = channel == "orig_data" or beat["num_beats"]
            self.in_burst[channel] = bool(beats_to_come and not beat["last"])


class _Bench:
    """One receiver and its simulator, compiled once and reset for every run."""

    def __init__(self, config):
        self.dut = Receive(config)
        self.used = False
        self.simulator = Simulator(self.dut)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self.drive)

    def run(self, flits, consumer, drain, watch):
        self.source, self.consumer, self.left, self.watch = iter(flits), consumer, drain, watch
        self.got, self.failed = Got(), 0
        if self.used:
            self.simulator.reset()
        self.used = True
        self.simulator.run()
        return self.got

    async def drive(self, ctx):
        cycle = 0
        while self.left:
            self.feed(ctx, next(self.source, StopIteration))
            readies = self.consumer.readies()
            for channel in CHANNELS:
                ctx.set(getattr(self.dut, f"rx_{channel}").ready, readies[channel])
            for channel in CHANNELS:
                self.collect(ctx, channel, readies[channel], cycle)
            self.observe(ctx, cycle)
            await ctx.tick()
            cycle += 1

    def feed(self, ctx, item):
        if item is StopIteration:
            self.left -= 1
            item = None
        ctx.set(self.dut.online, int(item is not OFFLINE))
        flit = self.dut.rx_flit
        present = item is not None and item is not OFFLINE
        ctx.set(flit.valid, int(present))
        if present:
            ctx.set(flit.payload.data, int.from_bytes(item[0], "little"))
            ctx.set(flit.payload.message, item[1])
            ctx.set(flit.payload.error, item[2] if len(item) > 2 else 0)

    def collect(self, ctx, channel, ready, cycle):
        out = getattr(self.dut, f"rx_{channel}")
        if not ctx.get(out.valid):
            return
        self.got.offered[channel].append(cycle)
        if ready:
            payload = ctx.get(out.payload)
            beat = {name: payload[name] for name, _ in out.payload.shape()}
            getattr(self.got, channel).append((cycle, beat))
            self.consumer.saw(channel, beat)

    def observe(self, ctx, cycle):
        got, status = self.got, self.dut.status
        if ctx.get(status.release.as_value()):
            for name, event in ((name, ctx.get(status.release[name])) for name, _ in status.release.shape()):
                if event.valid:
                    release = name.replace("rd_", "").replace("wr_", ""), event.pool, event.vc, event.count
                    got.releases.append(release)
                    if self.watch:
                        self.watch(*release)
        if ctx.get(status.fc.valid):
            credits = ctx.get(status.fc)
            got.fc.append({name: (credits[name].pool, *credits[name].vc) for name in CLASSES})
        got.unknown_messages += ctx.get(self.dut.unknown_message)
        got.half_poisoned += ctx.get(self.dut.half_poisoned)
        got.peer.append((ctx.get(status.peer_init_done), ctx.get(status.peer_shared_data)))
        got.buffers_free.append(ctx.get(status.buffers_free))
        failed = ctx.get(self.dut.error_valid)
        if failed and not self.failed:
            got.errors.append((cycle, ReceiveError(ctx.get(self.dut.error))))
        self.failed = failed


_bench = functools.cache(_Bench)


def run(config, flits, *, consumer="free", seed=0, drain=40, watch=None):
    """Feed ``flits`` ((64 bytes, message bits), with an ``error`` bit third, None: an idle cycle), then drain.

    ``watch`` is called with (class, pool, vc, count) of each release, in the cycle in which it comes.
    """
    consumer = consumer if isinstance(consumer, Consumer) else Consumer(consumer, seed)
    return _bench(config).run(flits, consumer, drain, watch)


@dataclass
class Expected:
    """Beats that legal traffic must give, per channel in order, and the credits that its FC fields return."""

    req: list = field(default_factory=list)
    orig_data: list = field(default_factory=list)
    rd_rsp: list = field(default_factory=list)
    wr_rsp: list = field(default_factory=list)
    fc: list = field(default_factory=list)

    def add(self, issue, uwm_has_byte_enables=True):
        """The beats of ``issue`` (UALink_200 §5.9, rulings D04, D05, D07)."""
        control = issue.field
        if control.is_request:
            self._request(issue, control, uwm_has_byte_enables)
        elif control.is_response:
            self._response(issue, control)

    def _beats(self, issue):
        for n in range(issue.field.data_beats()):
            poisoned = n in issue.poisoned
            data = 0 if poisoned else int.from_bytes(issue.data[64 * n : 64 * n + 64], "little")
            yield n, n == issue.field.data_beats() - 1, data, int(poisoned)

    def _request(self, issue, control, uwm_has_byte_enables):
        self.req.append(
            {
                "asi": control.asi,
                "auth_tag": 0,
                "src_phys_acc_id": control.src_acc_id,
                "dst_phys_acc_id": control.dst_acc_id,
                "tag": control.tag,
                "num_beats": 0 if control.cmd == 0x03 else control.num_beats,
                "addr": control.addr << 2,
                "cmd": control.cmd,
                "len": control.len,
                "attr": control.attr,
                "meta_data": control.meta_data,
                "vc": control.vchan,
            }
        )
        for n, last, data, error in self._beats(issue):
            start = 8 * (((control.addr >> 4) + n) % 4)
            enables = int.from_bytes(issue.byte_enables[start : start + 8], "little")
            has_enables = control.has_byte_enables(uwm_has_byte_enables)
            self.orig_data.append(
                {
                    "data": data,
                    "byte_en": enables if has_enables else ALL_ONES,
                    "offset": n,
                    "last": int(last),
                    "error": error,
                    "vc": control.vchan,
                }
            )

    def _response(self, issue, control):
        common = {
            "auth_tag": 0,
            "src_phys_acc_id": getattr(control, "src_acc_id", 0),
            "dst_phys_acc_id": control.dst_acc_id,
            "tag": control.tag,
            "status": getattr(control, "status", 0),
            "vc": control.vchan,
        }
        if not control.is_read:
            self.wr_rsp.append(common)
        beats = control.data_beats()
        for n, last, data, error in self._beats(issue):
            alone = beats == 1 and not isinstance(control, CompressedResponse)
            self.rd_rsp.append(
                {
                    **common,
                    "num_beats": beats - 1,
                    "data": data,
                    "offset": control.offset if alone else n,
                    "last": control.last if alone else int(last),
                    "data_error": error,
                }
            )


class Traffic:
    """Endless legal random flits within credits and source rate limits; ``expected`` grows with them."""

    def __init__(self, config, seed, *, density=0.8, messages=0.1, poison=0.1, idle=0.0, data=True, requests=0.4):
        self.random = random.Random(seed)
        self.config = config
        self.density, self.messages, self.poison, self.idle, self.data = density, messages, poison, idle, data
        self.requests = requests
        self.spent = []
        self.sequence = TransmitSequence(uwm_has_byte_enables=config.uwm_has_byte_enables)
        self.credits = {name: [*getattr(config, name).vc, getattr(config, name).pool] for name in CLASSES}
        self.allow = {"req": 4, "rsp": 8}
        self.expected = Expected()

    def release(self, name, pool, vc, count):
        self.credits[name][4 if pool else vc] += count

    def flits(self, count):
        """``count`` flits that may start something, then as many as the owed data need."""
        while count > 0 or len(self.sequence.owed):
            count -= 1
            yield None if self.random.random() < self.idle else self.flit(count >= 0)

    def flit(self, active=True):
        rng, sequence = self.random, self.sequence
        lower = upper = None
        if active and rng.random() < self.messages:
            lower = self._message()
        if active and rng.random() < self.messages:
            upper = self._message()
        issues = []
        if active and lower is None and sequence.control_slot:
            issues = self._issues()
        for issue in issues:
            self.expected.add(issue, self.config.uwm_has_byte_enables)
        requests = sum(issue.field.is_request for issue in issues)
        responses = sum(issue.field.is_response for issue in issues)
        self.allow["req"] = min(4, self.allow["req"] - requests + 1)
        self.allow["rsp"] = min(8, self.allow["rsp"] - responses + 1)
        total = {name: [0] * 5 for name in CLASSES}
        for issue in issues:
            if isinstance(issue.field, FlowControl):
                for name in CLASSES:
                    credit = getattr(issue.field, name)
                    total[name][0 if credit.vc is None else 1 + credit.vc] += credit.count
        if any(any(counts) for counts in total.values()):
            self.expected.fc.append({name: tuple(counts) for name, counts in total.items()})
        return sequence.send(issues, lower, upper)

    def _message(self):
        return message_half_flit(NOP_MESSAGE, self.random.randbytes(31))

    def _issues(self):
        self.left = dict(self.allow)
        self.returned = set()
        issues = []
        for quad in (0, 4):
            issue = self._try(quad, self._request()) if self.random.random() < self.requests else None
            if issue:
                issues.append(issue)
                continue
            for pair in (quad, quad + 2):
                issue = self._try(pair, self._uncompressed_response()) if self.random.random() < 0.3 else None
                if issue:
                    issues.append(issue)
                    continue
                issues += filter(None, (self._try(sector, self._single()) for sector in (pair, pair + 1)))
        return issues

    def _try(self, sector, control):
        """An Issue of ``control`` if allowance and credits suffice and luck wants it."""
        rng = self.random
        if control is None or rng.random() > self.density:
            return None
        if isinstance(control, FlowControl):
            return Issue(sector, control)
        kind = "req" if control.is_request else "rsp"
        bucket = 4 if control.pool else control.vchan
        beats = control.data_beats()
        cmd, data = self.credits[f"{kind}_cmd"], self.credits[f"{kind}_data"]
        if not self.left[kind] or not cmd[bucket] or data[bucket] < beats:
            return None
        self.left[kind] -= 1
        cmd[bucket] -= 1
        data[bucket] -= beats
        self.spent.append((f"{kind}_cmd", control.pool, control.vchan, 1))
        self.spent += [(f"{kind}_data", control.pool, control.vchan, 1)] * beats
        enables = control.has_byte_enables(self.config.uwm_has_byte_enables)
        return Issue(
            sector,
            control,
            rng.randbytes(64 * beats),
            rng.randbytes(32) if enables else b"",
            frozenset(n for n in range(beats) if rng.random() < self.poison),
        )

    def _common(self):
        rng = self.random
        return {"vchan": rng.randrange(4), "tag": rng.randrange(1 << 11), "pool": rng.randrange(2)}

    def _request(self):
        rng = self.random
        cmd = rng.choice(COMMANDS if self.data else READS)
        return UncompressedRequest(
            **self._common(),
            cmd=cmd,
            asi=rng.randrange(4),
            attr=rng.randrange(256),
            len=rng.randrange(64),
            meta_data=rng.randrange(256),
            addr=rng.randrange(1 << 55),
            src_acc_id=rng.randrange(1 << 10),
            dst_acc_id=rng.randrange(1 << 10),
            cload=rng.randrange(2),
            cway=rng.randrange(4),
            num_beats=0 if cmd in (0x30, 0x32) else rng.randrange(4),
        )

    def _uncompressed_response(self):
        rng = self.random
        return UncompressedResponse(
            **self._common(),
            len=rng.randrange(4),
            offset=rng.randrange(4),
            status=rng.randrange(16),
            rd_wr=rng.randrange(2) & self.data,
            last=rng.randrange(2),
            src_acc_id=rng.randrange(1 << 10),
            dst_acc_id=rng.randrange(1 << 10),
        )

    def _single(self):
        rng = self.random
        match rng.randrange(4):
            case 0 if self.data:
                return CompressedReadResponse(
                    **self._common(), dst_acc_id=rng.randrange(1 << 10), offset=rng.randrange(4), last=rng.randrange(2)
                )
            case 0 | 1:
                rd_wr = rng.randrange(2) & self.data
                return CompressedResponse(
                    **self._common(), dst_acc_id=rng.randrange(1 << 10), len=rng.randrange(4) * rd_wr, rd_wr=rd_wr
                )
            case 2:
                return FlowControl(**{name: self._credit(name) for name in CLASSES})
        return None

    def _credit(self, name):
        vc = self.random.choice((None, 0, 1, 2, 3))
        if (name, vc) in self.returned:
            return Credit(0, vc)
        self.returned.add((name, vc))
        return Credit(self.random.randrange(8 if name.endswith("cmd") else 32), vc)


def check(got, expected):
    """Everything expected came, in order, bit for bit, without an error, and nothing else."""
    assert got.errors == []
    for channel in CHANNELS:
        want, have = getattr(expected, channel), got.beats(channel)
        for n, (wanted, had) in enumerate(zip(want, have)):
            assert had == wanted, f"{channel} beat {n}"
        assert len(have) == len(want), channel
    assert got.fc == expected.fc
