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
                (accepted,) = await ctx.tick().sample(self.stream.ready)
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
            valid, payload = await ctx.tick().sample(self.stream.valid, self.stream.payload.as_value())
            if waiting is not None:
                assert valid and payload == waiting, "an offered beat was withdrawn or changed"
            waiting = payload if valid and not ready else None
            if valid and ready:
                self.received.append((self.cycle, payload))
            self.cycle += 1
