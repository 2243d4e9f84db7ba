"""Originator Devices before an ``Isolation`` and the agent behind it, beat by beat, judged by the model."""

import random
from collections import deque

from amaranth.hdl import Value

from support.upli.pair import field, pack
from ualink_sim.model.upli import transactions as upli
from ualink_sim.model.upli.isolation import IsolatingOriginator

READ, WRITE, ATOMIC_R, ATOMIC_NR = 0x03, 0x28, 0x30, 0x32
CMPTO, ISOLATE = 0x8, 0xF
SOURCE, DESTINATION = 5, 77


class DevicePort:
    """One port: random Requests with tags of their own, an agent that answers them, and what the device gets.

    ``asks``, ``answers``, ``takes``: how often, from 0 to 1, a Request is asked for, is answered, and a Response taken.
    ``isolates``: Write Responses with ISOLATE that are to come. ``answered``, ``dummied``: Requests that had theirs.
    """

    def __init__(self, isolation, number: int, tags: int, seed: int):
        self.device, self.agent = isolation.device[number], isolation.agent[number]
        self.rng = random.Random(seed * 4 + number)
        self.tags, self.model = tags, IsolatingOriginator()
        self.asks, self.answers, self.takes, self.isolates = 0.6, 0.7, 0.7, 0
        self.requests: deque[upli.Request] = deque()
        self.data: deque[int] = deque()
        self.owed: list[tuple[int, int]] = []
        self.reads: deque = deque()
        self.writes: deque = deque()
        self.known: list[upli.Request] = []
        self.dummies: dict[int, deque] = {}
        self.late = {"rd_rsp": 0, "wr_rsp": 0}
        self.answered, self.dummied = 0, 0
        self.expected_burst = None
        self.offered: dict[str, int | None] = {}

    def drive(self, ctx, drop: bool) -> None:
        """Before a clock edge: what is offered and taken in this cycle."""
        rng, device, agent = self.rng, self.device, self.agent
        if not self.requests and rng.random() < self.asks:
            self._ask()
        if drop:
            self.known.clear()
        elif self.known and rng.random() < self.answers:
            self._answer()
        if self.isolates:
            self.isolates -= 1
            # All else in it means nothing, also if there is a Request with its tag.
            tags = [tag for _, tag in self.model.outstanding] or [rng.randrange(2048)]
            rest = {"src_phys_acc_id": rng.randrange(1024), "dst_phys_acc_id": rng.randrange(1024)}
            rest |= {"auth_tag": rng.getrandbits(64), "vc": rng.randrange(4)}
            self.writes.append(upli.WrRspBeat(tag=rng.choice(tags), status=upli.Status.ISOLATE, **rest))
        self._offer(ctx, device.req, [_pack("req", r) for r in list(self.requests)[:1]])
        # Data of a Request is offered with it or later.
        self._offer(ctx, device.orig_data, list(self.data)[:1])
        for stream, channel, beats in ((agent.rd_rsp, "rd_rsp", self.reads), (agent.wr_rsp, "wr_rsp", self.writes)):
            self._offer(ctx, stream, [_pack(channel, b) for b in list(beats)[:1]])
        for stream in (agent.req, agent.orig_data):
            ctx.set(stream.ready, drop or rng.random() < 0.6)
        for stream in (device.rd_rsp, device.wr_rsp):
            ctx.set(stream.ready, rng.random() < self.takes)

    def look(self, ctx, now: int, isolated: bool) -> None:
        """In the same cycle, when all is settled: what goes over."""
        device, agent = self.device, self.agent
        req = self._taken(ctx, device.req)
        assert req == self._taken(ctx, agent.req)
        if req:
            request = self.requests.popleft()
            self.model.accept(0, request, now)
            if not isolated:
                self.known.append(request)
        if self._taken(ctx, device.orig_data):
            assert self._taken(ctx, agent.orig_data)
            self.data.popleft()
            tag = self.owed[0][0]
            self.owed[0] = tag, self.owed[0][1] - 1
            if not self.owed[0][1]:
                self.owed.pop(0)
        for channel, beats in (("rd_rsp", self.reads), ("wr_rsp", self.writes)):
            if self._taken(ctx, getattr(agent, channel)):
                beats.popleft()
        for channel in ("rd_rsp", "wr_rsp"):
            self._stays(ctx, channel)
            if self._taken(ctx, getattr(device, channel)):
                self._judge(channel, ctx.get(Value.cast(getattr(device, channel).payload)), isolated)

    def _stays(self, ctx, channel):
        """What a device has once been offered stays on offer until it is taken."""
        stream = getattr(self.device, channel)
        beat = ctx.get(Value.cast(stream.payload)) if ctx.get(stream.valid) else None
        before = self.offered.get(channel)
        assert before is None or before == beat, f"{channel} is withdrawn"
        self.offered[channel] = None if ctx.get(stream.ready) else beat

    @property
    def done(self) -> bool:
        """Nothing is outstanding and nothing on its way."""
        return not (self.model.outstanding or self.requests or self.data or self.reads or self.writes or self.dummies)

    def _judge(self, channel, beat, isolated):
        tag, status = field(channel, beat, "tag"), field(channel, beat, "status")
        assert status != ISOLATE, "ISOLATE is for the Originator itself"
        if status != CMPTO:
            self.late[channel] += isolated
            assert self.late[channel] <= 1, "a Response came through in Isolation"
            parsed = _parse(channel, beat)
            assert self.model.respond(0, parsed), f"tag {tag} has no Request"
            self.answered += channel == "wr_rsp" or parsed.last
            if channel == "rd_rsp":
                self.expected_burst = tag if parsed.num_beats and not parsed.last else None
            return
        assert isolated, "a dummy outside of Isolation"
        if tag not in self.dummies:
            assert all(tag != owner for owner, _ in self.owed), "a dummy before the data of its Request is complete"
            assert (0, tag) in self.model.outstanding, f"a dummy for tag {tag} without a Request"
            self.model.isolated = True
            self.dummies[tag] = deque(self.model.dummies(0, tag))
        if channel == "rd_rsp" and self.expected_burst is not None:
            assert tag == self.expected_burst, "a burst that had begun is cut"
        expected = self.dummies[tag].popleft()
        assert _parse(channel, beat) == expected
        if not self.dummies[tag]:
            del self.dummies[tag]
            self.dummied += 1
            self.expected_burst = None

    def leave(self):
        """Isolation has ended."""
        assert not self.model.outstanding and not self.dummies, "Isolation ended before all had their answers"
        self.model.isolated = False
        self.late = {"rd_rsp": 0, "wr_rsp": 0}

    def _ask(self):
        taken = {tag for _, tag in self.model.outstanding} | {tag for tag, _ in self.owed} | set(self.dummies)
        free = [tag for tag in range(self.tags) if tag not in taken]
        if not free:
            return
        rng = self.rng
        cmd, num_beats, length = rng.choice([READ, READ, WRITE, ATOMIC_R, ATOMIC_NR]), 0, 0
        addr = 4 * rng.randrange(64)
        if cmd == READ:
            length = rng.randrange(64 - addr // 4)
        elif cmd == WRITE:
            num_beats = rng.randrange(4)
        request = upli.Request(
            cmd=cmd,
            addr=addr,
            len=length,
            num_beats=num_beats,
            tag=rng.choice(free),
            src_phys_acc_id=SOURCE,
            dst_phys_acc_id=DESTINATION,
            vc=rng.randrange(4),
        )
        self.requests.append(request)
        if cmd != READ:
            self.owed.append((request.tag, num_beats + 1))
            self.data += [
                pack("orig_data", data=rng.getrandbits(512), offset=n, last=n == num_beats)
                for n in range(num_beats + 1)
            ]

    def _answer(self):
        rng = self.rng
        request = self.known.pop(rng.randrange(len(self.known)))
        if any(tag == request.tag for tag, _ in self.owed):
            self.known.append(request)
            return
        common = {
            "tag": request.tag,
            "src_phys_acc_id": request.dst_phys_acc_id,
            "dst_phys_acc_id": request.src_phys_acc_id,
            "vc": request.vc,
        }
        if not upli.responds_on_rd_rsp(request):
            self.writes.append(upli.WrRspBeat(**common))
            return
        beats = upli.beats_of(request.addr, request.len) if request.cmd == READ else 1
        offsets, single = list(range(beats)), rng.random() < 0.5
        if single:
            rng.shuffle(offsets)
        for n, offset in enumerate(offsets):
            self.reads.append(
                upli.RdRspBeat(
                    **common,
                    data=rng.randbytes(64),
                    offset=offset,
                    num_beats=0 if single else beats - 1,
                    last=n == beats - 1,
                )
            )

    def _offer(self, ctx, stream, beats):
        """Offered at random, but what is on offer stays so."""
        if not beats:
            ctx.set(stream.valid, 0)
        elif ctx.get(stream.valid) or self.rng.random() < 0.8:
            ctx.set(stream.valid, 1)
            ctx.set(Value.cast(stream.payload), beats[0])

    @staticmethod
    def _taken(ctx, stream):
        return ctx.get(stream.valid) and ctx.get(stream.ready)


def _pack(channel, beat):
    names = {name: getattr(beat, name) for name in beat.__dataclass_fields__}
    return pack(channel, **{n: int.from_bytes(v, "little") if isinstance(v, bytes) else v for n, v in names.items()})


def _parse(channel, beat):
    kind = upli.RdRspBeat if channel == "rd_rsp" else upli.WrRspBeat
    values = {name: field(channel, beat, name) for name in kind.__dataclass_fields__}
    if "data" in values:
        values["data"] = values["data"].to_bytes(64, "little")
    return kind(**values)
