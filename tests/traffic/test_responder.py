"""The responder against the model of a Completer: every kind of Request, right and wrong, in any rhythm."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.traffic.responder import Responder
from ualink_sim.model.traffic import WrappedMemory
from ualink_sim.model.upli import transactions as upli
from ualink_sim.model.upli.completer import Completer
from ualink_sim.model.upli.memory import OPERATIONS
from ualink_sim.model.upli.transactions import ReqCmd, Status

LINES = 8
BITWISE = {code: OPERATIONS[code] for code in (1, 2, 3, 4)}


EDGES = [
    upli.Request(cmd=cmd, addr=addr, len=length, attr=attr, num_beats=beats, dst_phys_acc_id=2)
    for cmd, addr, length, attr, beats in (
        (ReqCmd.READ, 0x04, 62, 0xFF, 0),
        (ReqCmd.READ, 0x04, 63, 0xFF, 0),
        (ReqCmd.READ, 0xFC, 0, 0xA5, 0),
        (ReqCmd.READ, 0xFC, 1, 0xFF, 0),
        (ReqCmd.READ, 0x3C, 1, 0x3C, 0),
        (ReqCmd.READ, 0x40, 0, 0xFF, 1),
        (ReqCmd.WRITE, 0x38, 2, 0, 1),
        (ReqCmd.WRITE, 0xFC, 1, 0, 1),
        (ReqCmd.WRITE_FULL, 0x40, 47, 0, 2),
        (ReqCmd.WRITE_FULL, 0x80, 47, 0, 2),
        (ReqCmd.WRITE_FULL, 0x20, 15, 0, 0),
        (ReqCmd.WRITE_FULL, 0x40, 14, 0, 0),
        (ReqCmd.ATOMIC_R, 0x38, 1, 0x44, 0),
        (ReqCmd.ATOMIC_R, 0x34, 1, 0x44, 0),
        (ReqCmd.ATOMIC_R, 0x38, 2, 0x40, 0),
        (ReqCmd.ATOMIC_NR, 0x3C, 0, 0x4C, 0),
        (ReqCmd.ATOMIC_R, 0x00, 15, 0x44, 1),
    )
]
"""The last that is legal and the first that is not (UALink_200 §2.8)."""


def request_at_random(rng: random.Random) -> upli.Request:
    """Four of five are legal; addresses reach over four times the memory."""
    good = rng.random() < 0.8
    cmd = rng.choice((0x03, 0x28, 0x29, 0x30, 0x32)) if rng.random() < 0.85 else rng.choice((0x2A, rng.randrange(64)))
    addr = 4 * rng.randrange(16 * LINES) + 64 * LINES * rng.choice((0,) * 9 + (1, 2, 3)) + (rng.random() < 0.03)
    length, attr, beats = rng.randrange(64), rng.randrange(256), 0
    if cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR):
        attr = rng.choice((1, 2, 3, 4, 1, 2, 3, 4, 0, 5, 9)) << 4 | rng.randrange(4) << 2 | (rng.random() < 0.05)
        if good:
            size = max(4, upli.element_bytes(attr))
            addr -= addr % size
            length = size // 4 * rng.randint(1, (64 - addr % 64) // size) - 1
    elif good and cmd == ReqCmd.WRITE_FULL:
        addr -= addr % 64
        length = 16 * rng.randint(1, 4 - addr // 64 % 4) - 1
    elif good:
        addr -= addr % 4
        length = rng.randrange(64 - addr // 4 % 64)
    if cmd >> 5:
        fits = cmd in (ReqCmd.WRITE, ReqCmd.WRITE_FULL)
        beats = min(4, upli.beats_of(addr, length)) - 1 if fits else 0
        if rng.random() < 0.1:
            beats = rng.randrange(4)
    return upli.Request(
        cmd=cmd,
        addr=addr,
        len=length,
        attr=attr,
        num_beats=beats,
        tag=rng.randrange(2048),
        src_phys_acc_id=rng.randrange(1024),
        dst_phys_acc_id=rng.randrange(4),
        meta_data=rng.choice((0, 1, 2, 2, 3, 4, 0xF0)),
        vc=rng.randrange(4),
    )


def beats_at_random(rng: random.Random, request: upli.Request) -> list[upli.OrigDataBeat]:
    beats = []
    for number in range(request.num_beats + 1 if request.cmd >> 5 else 0):
        enables = rng.choice((upli.ALL_LANES, rng.getrandbits(64), 0))
        if request.cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR) and rng.random() < 0.9:
            size = upli.element_bytes(request.attr)
            enables = sum((1 << size) - 1 << at for at in range(0, 64, size) if rng.random() < 0.5)
        beats.append(
            upli.OrigDataBeat(
                data=rng.randbytes(64),
                byte_en=enables,
                offset=number,
                last=number == request.num_beats,
                error=rng.random() < 0.05,
                vc=request.vc,
            )
        )
    return beats


@pytest.mark.req("UPLI-159", "UPLI-163", "UPLI-238", "UPLI-284", "UPLI-318")
@pytest.mark.parametrize(("decode", "stall", "count"), [(0, 0.0, 110), (1, 0.5, 110)])
def test_answers_are_those_of_the_model(decode, stall, count):
    rng = random.Random(f"{decode} {stall}")
    model = Completer(memory=WrappedMemory(LINES), operations=BITWISE, size=64 * LINES if decode else None)
    asked = [
        (request, beats_at_random(rng, request))
        for request in [*EDGES, *(request_at_random(rng) for _ in range(count))]
    ]
    count += len(EDGES)
    wanted: dict[str, list] = {"rd_rsp": [], "wr_rsp": []}
    refused = foreign = 0
    for request, beats in asked:
        response = model.execute(request, beats)
        wanted["rd_rsp" if isinstance(response[0], upli.RdRspBeat) else "wr_rsp"] += response
        refused += response[0].status != Status.OKAY
        foreign += request.dst_phys_acc_id != 2
    assert count // 6 < refused < 2 * count // 3
    assert {beat.status for beat in wanted["wr_rsp"]} >= {Status.OKAY, Status.TARGET_ABORT}

    dut = Responder(LINES)
    seen = {"served": 0, "refused": 0, "foreign": 0}

    def giver(port, beats):
        async def give(ctx):
            for beat in beats:
                while rng.random() < stall:
                    await ctx.tick()
                fields = vars(beat)
                data = {"data": int.from_bytes(fields["data"], "little")} if "data" in fields else {}
                ctx.set(port.valid, 1)
                ctx.set(port.payload, fields | data)
                await ctx.tick().until(port.ready)
                ctx.set(port.valid, 0)

        return give

    def taker(port, beats):
        async def take(ctx):
            for number, beat in enumerate(beats):
                while rng.random() < stall:
                    await ctx.tick()
                ctx.set(port.ready, 1)
                (found,) = await ctx.tick().sample(port.payload).until(port.valid)
                ctx.set(port.ready, 0)
                for name, value in vars(beat).items():
                    got = getattr(found, name)
                    assert (got.to_bytes(64, "little") if name == "data" else got) == value, (number, name, beat)

        return take

    async def watch(ctx):
        ctx.set(dut.decode, decode)
        ctx.set(dut.own, 2)
        while True:
            *_, served, bad, other = await ctx.tick().sample(dut.served, dut.refused, dut.foreign)
            for name, value in zip(seen, (served, bad, other)):
                seen[name] += value

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(giver(dut.req, [request for request, _ in asked]))
    simulator.add_testbench(giver(dut.orig_data, [beat for _, beats in asked for beat in beats]))
    for channel, beats in wanted.items():
        simulator.add_testbench(taker(getattr(dut, channel), beats))
    simulator.add_testbench(watch, background=True)
    simulator.run()
    assert seen == {"served": count, "refused": refused, "foreign": foreign}


def test_a_beat_a_cycle():
    """Reads of four beats one after the other leave no gap, and the beats of one Response never have one."""
    dut = Responder(LINES)
    cycles = []

    async def story(ctx):
        ctx.set(dut.req.valid, 1)
        ctx.set(dut.req.payload, vars(upli.Request(cmd=ReqCmd.READ, addr=0, len=63, attr=0xFF)))
        ctx.set(dut.rd_rsp.ready, 1)
        for _ in range(14):
            cycles.append((ctx.get(dut.rd_rsp.valid), ctx.get(dut.rd_rsp.payload.offset)))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(story)
    simulator.run()
    assert cycles == [(0, 0), *((1, n % 4) for n in range(13))]
