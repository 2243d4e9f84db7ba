"""Drivers, monitors and beats that the tests of the switch core share."""

import random

from amaranth.sim import Simulator

from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.commands import ReqCmd

PAYLOAD_FIELDS = {name: [(field, value.width) for field, value in layout] for name, layout in CHANNEL_LAYOUTS.items()}


def run(dut, *processes, background=(), reset_cycles=0):
    """Simulate ``dut`` until the ``processes`` are done."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for process in processes:
        simulator.add_testbench(process)
    for process in background:
        simulator.add_testbench(process, background=True)
    simulator.run()


def random_beat(rng: random.Random, channel: str, **fields) -> dict:
    """A beat of ``channel`` with arbitrary contents but ``fields``."""
    return {name: rng.getrandbits(width) for name, width in PAYLOAD_FIELDS[channel]} | fields


def pack(channel: str, beat: dict) -> int:
    """``beat`` as the number that its stream carries; the fields follow each other from bit 0 up."""
    value, place = 0, 0
    for name, width in PAYLOAD_FIELDS[channel]:
        value |= beat[name] << place
        place += width
    return value


def coded(channel: str, word: int) -> int:
    """``word``, a beat of a stream, with the code that goes through the core beside it: a bit for control, one for each
    64 bits of data, one for the byte enables."""
    control = data = width = byte_en = 0
    for name, bits in PAYLOAD_FIELDS[channel]:
        value = word >> width & ((1 << bits) - 1)
        width += bits
        if name == "data":
            data = sum(((value >> 64 * n & (1 << 64) - 1).bit_count() & 1) << n for n in range(8))
        elif name == "byte_en":
            byte_en = value.bit_count() & 1
        else:
            control ^= value.bit_count() & 1
    return word | (control | data << 1 | byte_en << 9) << width


def unpack(channel: str, value: int) -> dict:
    """The beat of a stream's number."""
    beat = {}
    for name, width in PAYLOAD_FIELDS[channel]:
        beat[name] = value & ((1 << width) - 1)
        value >>= width
    return beat


def random_request(rng: random.Random, src: int, dst: int, beats: int | None) -> tuple[dict, list[dict]]:
    """A Request and its ``beats`` OrigData beats, or one without data if None (its ReqNumBeats is arbitrary)."""
    if beats is None:
        cmd, count = rng.choice([ReqCmd.READ.value, 0x08, 0x0F, rng.getrandbits(5)]), rng.randrange(4)
    else:
        cmd = rng.choice([ReqCmd.WRITE.value, ReqCmd.ATOMIC_R.value, 0x3F, 0x20 | rng.getrandbits(5)])
        count = beats - 1
    request = random_beat(rng, "req", src_phys_acc_id=src, dst_phys_acc_id=dst, cmd=cmd, num_beats=count)
    return request, [random_beat(rng, "orig_data") for _ in range(beats or 0)]


def random_response(rng: random.Random, channel: str, src: int, dst: int, beats: int = 1) -> list[dict]:
    """The beats of one transfer; all but the number of beats and the IDs is arbitrary, RdRspLast too."""
    fields = {"src_phys_acc_id": src, "dst_phys_acc_id": dst}
    if channel == "rd_rsp":
        fields["num_beats"] = beats - 1
    return [random_beat(rng, channel, **fields) for _ in range(beats)]


class Source:
    """Sends what stands in ``beats`` (numbers) into ``stream``, with random gaps; ``sent`` counts accepted ones."""

    def __init__(self, stream, seed, rate: float = 1.0):
        self.stream, self.rate, self.random = stream, rate, random.Random(f"source {seed}")
        self.beats: list[int] = []
        self.sent = 0

    async def process(self, ctx):
        while True:
            if self.sent == len(self.beats) or self.random.random() >= self.rate:
                ctx.set(self.stream.valid, 0)
                await ctx.tick()
                continue
            ctx.set(self.stream.valid, 1)
            ctx.set(self.stream.payload.as_value(), self.beats[self.sent])
            while True:
                _, _, accepted = await ctx.tick().sample(self.stream.ready)
                if accepted:
                    break
            self.sent += 1


class Sink:
    """Takes beats from ``stream`` with probability ``rate`` (may change) and keeps ``(cycle, number)`` of each.

    It also checks the rule of streams: what is offered stays until it is taken.
    """

    def __init__(self, stream, seed, rate: float = 1.0):
        self.stream, self.rate, self.random = stream, rate, random.Random(f"sink {seed}")
        self.received: list[tuple[int, int]] = []
        self.cycle = 0

    async def process(self, ctx):
        waiting = None
        while True:
            ready = self.random.random() < self.rate
            ctx.set(self.stream.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(self.stream.valid, self.stream.payload.as_value())
            if waiting is not None:
                assert valid and payload == waiting, "an offered beat was withdrawn or changed"
            waiting = payload if valid and not ready else None
            if valid and ready:
                self.received.append((self.cycle, payload))
            self.cycle += 1


class RequestSink:
    """Takes Requests and OrigData as a UPLI Originator does, in a slot with probability ``rate``.

    It checks that a data-bearing Request comes with its first beat, that the other beats stand ready in every slot
    after it, and that no data is offered without a Request. ``received`` keeps ``(request, [beats])``, ``times`` the
    cycle in which each Request was taken.
    """

    def __init__(self, req, orig_data, seed, rate: float = 1.0):
        self.req, self.orig_data, self.rate, self.random = req, orig_data, rate, random.Random(f"requests {seed}")
        self.received: list[tuple[int, list[int]]] = []
        self.times: list[int] = []
        self.cycle = 0
        self.beats = 0

    async def process(self, ctx):
        left, data = 0, []
        while True:
            slot, credit = self.random.random() < self.rate, self.random.random() < max(self.rate, 0.7)
            request = ctx.get(self.req.payload.as_value()) if ctx.get(self.req.valid) else None
            beat = ctx.get(self.orig_data.payload.as_value()) if ctx.get(self.orig_data.valid) else None
            fields = unpack("req", request) if request is not None else {"cmd": 0}
            bearing = bool(fields["cmd"] & 0x20)
            take_req, take_data = slot and credit and request is not None, False
            if left:
                assert not bearing, "a data-bearing Request is offered within a transfer"
                take_data = slot
            else:
                assert (beat is not None) == bearing, "data and its Request are not offered together"
                take_data = take_req and bearing
            ctx.set(self.req.ready, take_req)
            ctx.set(self.orig_data.ready, take_data)
            await ctx.tick()
            self.cycle += 1
            if take_data:
                assert beat is not None, "a gap within a transfer"
                left = left - 1 if left else fields["num_beats"]
            if take_req:
                data = [] if bearing else data
                self.received.append((request, data if bearing else []))
                self.times.append(self.cycle)
            if take_data:
                data.append(beat)
                self.beats += 1


class ResponseSink:
    """Takes responses in a slot with probability ``rate`` and checks that a Multi-Beat one has no gap.

    ``received`` keeps the list of beats of each transfer, ``times`` the cycle in which its first was taken.
    """

    def __init__(self, channel, stream, seed, rate: float = 1.0):
        self.channel, self.stream, self.rate = channel, stream, rate
        self.random = random.Random(f"responses {seed}")
        self.received: list[list[int]] = []
        self.times: list[int] = []
        self.cycle = 0
        self.beats = 0

    async def process(self, ctx):
        left = 0
        while True:
            self.cycle += 1
            slot = self.random.random() < self.rate
            ctx.set(self.stream.ready, slot)
            _, _, valid, value = await ctx.tick().sample(self.stream.valid, self.stream.payload.as_value())
            if not slot:
                continue
            assert valid or not left, "a gap within a transfer"
            if valid:
                self.beats += 1
                if left:
                    left -= 1
                    self.received[-1].append(value)
                else:
                    left = unpack(self.channel, value).get("num_beats", 0)
                    self.received.append([value])
                    self.times.append(self.cycle)
