"""Receiving side of the replay, register by register against the model and in directed cases."""

import random

import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.sim import Simulator

from ualink.dl.replay.receive import ReplayReceive
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.replay import ReplayReceiver, ReplayTransmitter, Verdict
from ualink_sim.model.dl.sequence import seq_advance

LIMIT = 12
RESERVED = [0b001 << 21, *(op << 21 | payload << 20 | 1 << 8 for op in range(4, 8) for payload in range(2))]
RX_REGISTERS = (
    "rx_last_seq_calc",
    "rx_bad_crc_count",
    "rx_unexpected_count",
    "rx_ambiguous",
    "rx_replay",
)


class Receiver:
    """The block and the model side by side; ``flit`` gives both the same flit and compares everything."""

    def __init__(self, ctx, dut, held=0, depth=255):
        self.ctx, self.dut = ctx, dut
        self.model = ReplayReceiver(rx_replay_limit=LIMIT)
        self.commands = ReplayTransmitter(depth=depth)
        ctx.set(dut.rx_replay_limit, LIMIT)
        self.hold(held)

    def hold(self, flits):
        """Give out ``flits`` more numbers."""
        for _ in range(flits):
            self.commands.transmit(1, "payload")
        self.ctx.set(self.dut.held, len(self.commands.tx_replay_buffer))

    async def flit(self, header=None, raw=None):
        """``header`` of the model, None for bad CRC; ``raw``: a header with a reserved op, which it cannot express."""
        ctx, dut, commands = self.ctx, self.dut, self.commands
        ctx.set(dut.header, raw if raw is not None else header.encode() if header else random.getrandbits(24))
        ctx.set(dut.held, len(commands.tx_replay_buffer))
        await ctx.tick()
        ctx.set(dut.header, random.getrandbits(24))
        await ctx.tick()
        ctx.set(dut.ended, 1)
        ctx.set(dut.good, header is not None or raw is not None)
        last_ack, ignored = commands.rx_last_ack, commands.rx_replay_ignore_count
        commands.receive(header)
        verdict = self.model.receive(header)
        payload = header is not None and header.payload
        assert ctx.get(dut.accept) == (verdict is Verdict.ACCEPT and payload)
        assert ctx.get(dut.accept_nop) == (verdict is Verdict.ACCEPT and not payload)
        assert ctx.get(dut.request_replay) == self.model.request_replay
        assert ctx.get(dut.bad) == (verdict is Verdict.BAD)
        assert ctx.get(dut.dropped) == (verdict not in (Verdict.BAD, Verdict.ACCEPT))
        zero = verdict in (Verdict.ZERO_ACK, Verdict.ZERO_SEQ)
        assert ctx.get(dut.protocol_error) == (zero or raw is not None)
        heard = max(ignored - 1, 0) == 0 and commands.rx_replay_ignore_count == 12
        assert ctx.get(dut.replay_accepted) == heard
        if heard:
            assert ctx.get(dut.ack_req_seq) == header.ack_req_seq
        assert ctx.get(dut.acked) == (last_ack != commands.rx_last_ack)
        await ctx.tick()
        ctx.set(dut.ended, 0)
        for name in RX_REGISTERS:
            assert ctx.get(getattr(dut, name)) == getattr(self.model, name), name
        assert ctx.get(dut.rx_last_ack) == commands.rx_last_ack
        assert ctx.get(dut.rx_replay_ignore_count) == commands.rx_replay_ignore_count
        return verdict


def run(story, **how):
    dut = ReplayReceive()

    async def bench(ctx):
        await story(Receiver(ctx, dut, **how))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def payload_ack(seq, ack=511):
    return CommandHeader(True, False, ack, seq & 7)


def nop_ack(seq, ack=511):
    return CommandHeader(False, False, ack, seq & 7)


def request(seq, wanted):
    return CommandHeader(False, True, wanted, seq & 7)


@pytest.mark.req("DL-185")
@pytest.mark.parametrize("replay", [False, True])
def test_op_of_an_explicit_flit_makes_no_difference(replay):
    """In order, out of order, and while a replay is waited for; Figure 6-21 marks later flits of a replay original."""

    async def story(receiver):
        assert await receiver.flit(ExplicitHeader(True, replay, 1)) is Verdict.ACCEPT
        assert await receiver.flit(ExplicitHeader(True, replay, 3)) is Verdict.UNEXPECTED
        assert await receiver.flit(ExplicitHeader(True, replay, 4)) is Verdict.WAITING
        assert await receiver.flit(ExplicitHeader(True, replay, 2)) is Verdict.ACCEPT
        assert await receiver.flit(payload_ack(3)) is Verdict.ACCEPT

    run(story)


@pytest.mark.req(
    *("DL-124", "DL-134", "DL-135", "DL-136", "DL-137", "DL-144", "DL-145", "DL-146", "DL-147"),
    *("DL-148", "DL-149", "DL-150", "DL-151", "DL-152", "DL-153", "DL-154", "DL-155", "DL-156"),
)
@pytest.mark.parametrize("seed", range(6))
def test_random_against_model(seed):
    rng = random.Random(seed)
    loss = rng.choice([0.05, 0.3, 0.7])

    async def story(receiver):
        sent = 511
        for _ in range(700):
            commands = receiver.commands
            if rng.random() < 0.3 and len(commands.tx_replay_buffer) < 250:
                commands.tx_replay = False
                receiver.hold(rng.randrange(1, 6))
            payload = rng.random() < 0.6
            if rng.random() < 0.1:
                sent = seq_advance(receiver.model.rx_last_seq_calc, rng.choice([0, 0, 1, -1, 8]))
            if payload:
                sent = seq_advance(sent, 1)
            outstanding = len(commands.tx_replay_buffer)
            named = seq_advance(commands.rx_last_ack, rng.choice([0, 1, outstanding, outstanding + 1, -1]))
            named = rng.choice([named, named, named, 0, rng.randint(1, 511)])
            x = rng.random()
            if x < loss:
                await receiver.flit(None)
            elif x < loss + 0.02:
                await receiver.flit(raw=rng.choice(RESERVED))
            elif rng.random() < 0.2:
                replay = payload and rng.random() < 0.5
                await receiver.flit(ExplicitHeader(payload, replay, rng.choice([sent] * 9 + [0])))
            else:
                await receiver.flit(CommandHeader(payload, rng.random() < 0.3, named, sent & 7))

    run(story)


@pytest.mark.req("DL-136", "DL-131", "DL-146", "DL-152")
@pytest.mark.parametrize("start", [100, 505, 509, 511])
@pytest.mark.parametrize("lost", [1, 6, 7, 8, 9])
def test_lost_flits_are_never_taken_for_none(start, lost):
    """After ``lost`` bad flits nothing but the next number is accepted, across the wrap too; a NOP that looks in order
    after seven losses is stopped by Rx_ambiguous alone (ruling A-06 (DL))."""

    async def story(receiver):
        seq = 0
        while seq != start:
            seq += 1
            assert await receiver.flit(payload_ack(seq)) is Verdict.ACCEPT
        for _ in range(lost):
            await receiver.flit(None)
        newest = seq_advance(start, lost)
        verdict = await receiver.flit(nop_ack(newest))
        assert verdict is (Verdict.AMBIGUOUS if lost >= 7 else Verdict.UNEXPECTED)
        assert await receiver.flit(ExplicitHeader(False, False, newest)) is not Verdict.ACCEPT
        assert await receiver.flit(ExplicitHeader(True, True, seq_advance(start, 1))) is Verdict.ACCEPT

    run(story)


@pytest.mark.req("DL-129", "DL-144", "DL-148")
def test_ignore_window():
    async def story(receiver):
        await receiver.flit(request(511, 3))
        assert receiver.ctx.get(receiver.dut.rx_replay_ignore_count) == 12
        for n in range(11):
            await receiver.flit(None if n % 2 else request(511, 2))
        assert receiver.ctx.get(receiver.dut.rx_replay_ignore_count) == 1
        await receiver.flit(request(511, 2))
        assert receiver.ctx.get(receiver.dut.rx_replay_ignore_count) == 12

    run(story, held=5)


@pytest.mark.req("DL-127", "DL-148", "DL-149", "DL-150")
def test_ranges_of_the_standards_example():
    """TxReplay holds 5…9: an Ack may name 4…9 and a Replay Request 5…9."""

    async def story(receiver):
        await receiver.flit(nop_ack(511, ack=4))
        for number in (*range(1, 5), *range(10, 20), 300, 511):
            receiver.commands.rx_replay_ignore_count = 0
            await receiver.flit(request(511, number))
            assert not receiver.commands.tx_replay
        assert receiver.ctx.get(receiver.dut.rx_last_ack) == 4
        for number in (3, 10, 200, 511):
            await receiver.flit(nop_ack(511, ack=number))
            assert receiver.ctx.get(receiver.dut.rx_last_ack) == 4
        await receiver.flit(request(511, 9))
        assert receiver.commands.tx_replay
        assert receiver.ctx.get(receiver.dut.rx_last_ack) == 4
        for number in (4, 6, 9):
            await receiver.flit(nop_ack(511, ack=number))
            assert receiver.ctx.get(receiver.dut.rx_last_ack) == number

    run(story, held=9)


@pytest.mark.req("DL-138", "DL-155")
def test_requests_are_repeated_at_the_limit():
    async def story(receiver):
        assert await receiver.flit(payload_ack(2)) is Verdict.UNEXPECTED
        repeats = []
        for n in range(3 * LIMIT):
            await receiver.flit(payload_ack(3 + n))
            repeats += [n] if receiver.model.request_replay else []
            # Explicit flits out of order are dropped without being counted (Figure 6-20).
            await receiver.flit(ExplicitHeader(True, False, 77))
        assert repeats == [LIMIT - 1, 2 * LIMIT - 1, 3 * LIMIT - 1]

    run(story)


@pytest.mark.req("DL-135", "DL-137", "DL-138")
def test_saturation_and_reset_values():
    async def story(receiver):
        ctx, dut = receiver.ctx, receiver.dut
        assert dut.rx_replay_limit.init == 50
        assert ctx.get(dut.rx_last_seq_calc) == ctx.get(dut.rx_last_ack) == 511
        assert not any(ctx.get(getattr(dut, name)) for name in RX_REGISTERS[1:])
        assert ctx.get(dut.rx_replay_ignore_count) == 0
        await receiver.flit(payload_ack(2))
        for _ in range(300):
            await receiver.flit(None)
        assert ctx.get(dut.rx_bad_crc_count) == 7
        assert ctx.get(dut.rx_unexpected_count) == 0xFF

    run(story)


@pytest.mark.req("DL-149", "DL-150")
@pytest.mark.parametrize("cycle", range(4))
@pytest.mark.parametrize("wanted", [False, True])
def test_number_given_out_while_its_header_is_weighed(cycle, wanted):
    """An Ack and a Replay Request may name it if it is held in the cycle of the verdict, not if it comes after."""
    dut = ReplayReceive()

    async def bench(ctx):
        ctx.set(dut.held, 4)
        header = CommandHeader(False, wanted, 5, 511 & 7)
        for n in range(3):
            ctx.set(dut.header, header.encode() if n == 0 else random.getrandbits(24))
            if n == cycle:
                ctx.set(dut.held, 5)
            ctx.set(dut.ended, n == 2)
            ctx.set(dut.good, n == 2)
            if n < 2:
                await ctx.tick()
        legal = cycle < 3
        assert ctx.get(dut.replay_accepted) == (legal and wanted)
        assert ctx.get(dut.acked) == (legal and not wanted)
        assert ctx.get(dut.command_ignored) == (not legal)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-152", "DL-157")
@pytest.mark.parametrize("cycle", range(2))
def test_flush_while_a_header_is_weighed(cycle):
    """The link goes down between header and verdict: the verdict is not asked for; the next flit is number 1 again."""
    flush = Signal()
    dut = ReplayReceive()
    m = Module()
    m.submodules.dut = ResetInserter(flush)(dut)

    async def bench(ctx):
        ctx.set(dut.held, 9)
        for n in range(2):
            ctx.set(dut.header, ExplicitHeader(True, False, 1).encode() if n == 0 else 0)
            ctx.set(flush, n == cycle)
            await ctx.tick()
        ctx.set(flush, 0)
        assert not any(ctx.get(pulse) for pulse in (dut.accept, dut.acked, dut.bad, dut.replay_accepted))
        receiver = Receiver(ctx, dut, held=9)
        assert await receiver.flit(ExplicitHeader(True, False, 2)) is Verdict.UNEXPECTED
        assert await receiver.flit(ExplicitHeader(True, True, 1)) is Verdict.ACCEPT
        assert await receiver.flit(nop_ack(1, 4)) is Verdict.ACCEPT

    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
