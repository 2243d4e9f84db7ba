"""Throughput of groups of 16 and 32 ports that all send to all, Requests and Responses (UALink_200 §10.9.3).

Ingresses, egresses and their arbiters are the real ones, with as many ports. A plane of 32 ports has 1,024 queues, too
many to simulate here, so ``QueueModel`` stands for each of them; ``test_transfer_queue.py`` shows that queues do what
it says. Fields that only pass through, which nobody looks at here, are cut down to a bit.
"""

import random
from collections import deque

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from switch.test_saturation import LINE_RATE
from ualink.config import UPLIConfig
from ualink.switch import request_egress, request_ingress
from ualink.switch.core import QueueDepths
from ualink.switch.request_egress import RequestEgress
from ualink.switch.request_ingress import RequestIngress
from ualink.switch.response_egress import ResponseEgress
from ualink.switch.response_ingress import ResponseIngress
from ualink.upli import channels
from ualink.upli.commands import ReqCmd

DEPTHS = QueueDepths.of_credits(UPLIConfig())
LOOKED_AT = {"dst_phys_acc_id": 10, "num_beats": 2, "cmd": 6}


@pytest.fixture
def slim(monkeypatch):
    """Beats with the fields that the switch looks at, and a bit for each of the others."""
    layouts = {
        name: data.StructLayout({field: LOOKED_AT.get(field, 1) for field, _ in layout})
        for name, layout in channels.CHANNEL_LAYOUTS.items()
    }
    for name, layout in layouts.items():
        monkeypatch.setitem(channels.CHANNEL_LAYOUTS, name, layout)
    monkeypatch.setattr(request_ingress, "REQ_LAYOUT", layouts["req"])
    monkeypatch.setattr(request_egress, "REQ_LAYOUT", layouts["req"])
    monkeypatch.setattr(request_egress, "ORIG_DATA_LAYOUT", layouts["orig_data"])


class QueueModel:
    """A queue of ``depth`` beats; each is kept as whether its transfer ends with it."""

    def __init__(self, depth):
        self.depth, self.ends, self.whole = depth, deque(), 0

    def push(self, end):
        assert len(self.ends) < self.depth
        self.ends.append(end)
        self.whole += end

    def pop(self):
        self.whole -= self.ends.popleft()


def ones(bits):
    """Places of the ones of ``bits``."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


class Queues:
    """The queues of one channel.

    Bit ``ingress * ports + egress`` of what ingresses see and do, bit ``egress * ports + ingress`` of what egresses see
    and do belongs to one of them.
    """

    def __init__(self, m, depth, inputs, outputs):
        """``inputs``: ``steered`` of each ingress; ``outputs``: the streams ``queues`` of each egress."""
        self.ports = ports = len(inputs)
        self.models = {(n, k): QueueModel(depth) for n in range(ports) for k in range(ports)}
        self.room, self.valid, self.end = (Signal(ports**2) for _ in range(3))
        pushed, popped = ([Signal(ports) for _ in range(ports)] for _ in range(2))
        self.pushed, self.popped, self.pushed_end = Cat(pushed), Cat(popped), Signal(ports)
        self.rooms, self.wholes, self.ends = 2 ** (ports**2) - 1, 0, 0
        for n, steered in enumerate(inputs):
            end = steered.payload.end if hasattr(steered.payload, "end") else 1
            m.d.comb += [
                steered.ready.eq(self.room[n * ports : (n + 1) * ports]),
                pushed[n].eq(steered.valid & steered.ready),
                self.pushed_end[n].eq(end),
            ]
        for k, queues in enumerate(outputs):
            near, valid, end = Module(), Signal(ports), Signal(ports)
            m.submodules += near
            m.d.comb += [
                valid.eq(self.valid[k * ports : (k + 1) * ports]),
                end.eq(self.end[k * ports : (k + 1) * ports]),
            ]
            near.d.comb += [
                Cat(queue.valid for queue in queues).eq(valid),
                popped[k].eq(valid & Cat(queue.ready for queue in queues)),
            ]
            if hasattr(queues[0].payload, "end"):
                near.d.comb += Cat(queue.payload.end for queue in queues).eq(end)
            else:
                near.d.comb += [queue.payload.cmd.eq(ReqCmd.WRITE.value) for queue in queues]

    def show(self, ctx, wholes):
        """Room and oldest beats; ``wholes``: the queues that offer them."""
        ctx.set(self.room, self.rooms)
        ctx.set(self.end, self.ends)
        ctx.set(self.valid, wholes)

    def move(self, ctx):
        """What moves in this cycle."""
        ports, pushed_end, changed = self.ports, ctx.get(self.pushed_end), set()
        for place in ones(ctx.get(self.popped)):
            changed.add((place % ports, place // ports))
            self.models[place % ports, place // ports].pop()
        for place in ones(ctx.get(self.pushed)):
            changed.add(divmod(place, ports))
            self.models[divmod(place, ports)].push(pushed_end >> place // ports & 1)
        for n, k in changed:
            queue = self.models[n, k]
            self.rooms = with_bit(self.rooms, n * ports + k, len(queue.ends) < queue.depth)
            self.wholes = with_bit(self.wholes, k * ports + n, queue.whole > 0)
            self.ends = with_bit(self.ends, k * ports + n, bool(queue.ends) and queue.ends[0])


def with_bit(bits, place, value):
    """``bits`` with ``value`` at ``place``."""
    return bits & ~(1 << place) | bool(value) << place


def group(m, channel, ports):
    """Input streams that name a destination, all queues, and ``valid`` of the beats that leave, of ``channel``."""
    if channel == "req":
        ingresses = [RequestIngress(ports) for _ in range(ports)]
        egresses = [RequestEgress(ports) for _ in range(ports)]
        inputs, data_inputs = [i.req for i in ingresses], [i.orig_data for i in ingresses]
        queues = [
            Queues(m, DEPTHS.req, [i.steered_req for i in ingresses], [e.queues_req for e in egresses]),
            Queues(
                m,
                DEPTHS.orig_data,
                [i.steered_orig_data for i in ingresses],
                [e.queues_orig_data for e in egresses],
            ),
        ]
        outputs, data_outputs = [e.req for e in egresses], [e.orig_data for e in egresses]
    else:
        ingresses = [ResponseIngress(channel, ports) for _ in range(ports)]
        egresses = [ResponseEgress(channel, ports) for _ in range(ports)]
        inputs, data_inputs = [i.rsp for i in ingresses], []
        queues = [Queues(m, DEPTHS.rd_rsp, [i.steered for i in ingresses], [e.queues for e in egresses])]
        outputs, data_outputs = [e.rsp for e in egresses], []
    m.submodules += ingresses + egresses
    for ingress in ingresses:
        with m.If(ingress.lookup.look):
            m.d.sync += ingress.lookup.egress.eq(ingress.lookup.dst_phys_acc_id)
    m.d.comb += [stream.valid.eq(1) for stream in inputs + data_inputs]
    m.d.comb += [stream.ready.eq(1) for stream in outputs + data_outputs]
    return inputs, queues, data_outputs or outputs


def saturate(channel, ports, beats, warm_up, cycles):
    """Beats sent by each egress port per cycle while all ports send to random ones without end."""
    m = Module()
    inputs, queues, outputs = group(m, channel, ports)
    rng = random.Random(f"group {channel} {ports}")
    offered = Signal(ports * 8)
    taken, sent = Signal(ports), Signal(ports)
    for n, stream in enumerate(inputs):
        m.d.comb += stream.payload.dst_phys_acc_id.eq(offered[8 * n : 8 * (n + 1)])
        m.d.comb += stream.payload.num_beats.eq(beats - 1)
        if channel == "req":
            m.d.comb += stream.payload.cmd.eq(ReqCmd.WRITE.value)
    m.d.comb += [taken.eq(Cat(stream.ready for stream in inputs)), sent.eq(Cat(stream.valid for stream in outputs))]
    count = 0

    async def bench(ctx):
        nonlocal count
        destinations = [rng.randrange(ports) for _ in range(ports)]
        left = [beats if channel == "rd_rsp" else 1] * ports
        for cycle in range(warm_up + cycles):
            ctx.set(offered, sum(dst << 8 * n for n, dst in enumerate(destinations)))
            # A Request is offered with its data.
            queues[0].show(ctx, queues[0].wholes & queues[-1].wholes)
            for others in queues[1:]:
                others.show(ctx, others.wholes)
            if cycle >= warm_up:
                count += ctx.get(sent).bit_count()
            for n in ones(ctx.get(taken)):
                left[n] -= 1
                if not left[n]:
                    destinations[n], left[n] = rng.randrange(ports), beats if channel == "rd_rsp" else 1
            for each in queues:
                each.move(ctx)
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return count / cycles / ports


@pytest.mark.req("SW-085")
@pytest.mark.usefixtures("slim")
@pytest.mark.parametrize("ports", [16, 32])
@pytest.mark.parametrize(("channel", "beats", "warm_up"), [("req", 1, 90), ("rd_rsp", 4, 260)])
def test_uniform_random_in_groups_of_16_and_32(channel, beats, warm_up, ports):
    """More than links can bring, from every port to ports drawn at random: Requests with data, and Responses."""
    assert saturate(channel, ports, beats, warm_up, 80) >= LINE_RATE
