"""Packer, TxReplay, receive buffer, unpacker and containment in one loop without a wire, to flip their bits."""

import random
from collections import deque

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.sim import Simulator

from support.tl.flits import tl_flit, tl_flit_good
from support.upsets import Register, collect, flip
from ualink.config import DLConfig
from ualink.dl.flit.containment import IngressContainment
from ualink.dl.flit.format import EXPLICIT_HEADER_LAYOUT, FLIT_HEADER_OFFSET
from ualink.dl.flit.packer import Packer
from ualink.dl.flit.receive_buffer import ReceiveBuffer
from ualink.dl.flit.unpacker import Unpacker
from ualink.dl.interface import tl_flit_signature
from ualink.dl.replay.sequence import RESET_SEQ, SEQ_BITS, next_seq
from ualink.dl.replay.transmit import ReplayTransmit
from ualink.phy.interface import BEATS_PER_FLIT, TxKind

EXEMPT = ("scheduler", "partner", "partner_pace")
"""Submodules whose upsets are not counted here: the header scheduler belongs to the replay itself, the partner to the
bench."""


class Verdict(wiring.Component):
    """The CRC, the wire and the partner's replay in one: a slot is accepted two cycles after its end if it is a payload
    flit, not inverted, and next in order; Acks come now and then."""

    def __init__(self):
        super().__init__(
            {
                "ended": In(1),
                "invert": In(1),
                "header": In(24),
                "seq": In(SEQ_BITS),
                "judged": Out(1),
                "accept": Out(1),
                "acked": Out(SEQ_BITS, init=RESET_SEQ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        header = data.View(EXPLICIT_HEADER_LAYOUT, self.header)
        newest = Signal(SEQ_BITS, init=RESET_SEQ)
        good = Signal()
        ended = Signal()
        number = Signal(SEQ_BITS)
        time = Signal(5)
        in_order = good & (number == next_seq(newest))
        m.d.sync += [
            ended.eq(self.ended),
            good.eq(header.payload),
            number.eq(self.seq),
            self.judged.eq(ended),
            self.accept.eq(ended & in_order & ~self.invert),
            time.eq(time + 1),
        ]
        with m.If(time.all()):
            m.d.sync += self.acked.eq(newest)
        with m.If(ended & in_order & ~self.invert):
            m.d.sync += newest.eq(number)
        return m


class Pace(wiring.Component):
    """Every ``n``-th cycle."""

    def __init__(self, n: int):
        self._n = n
        super().__init__({"now": Out(1)})

    def elaborate(self, platform):
        m = Module()
        count = Signal(range(self._n))
        m.d.sync += count.eq(count + 1)
        m.d.comb += self.now.eq(count == 0)
        return m


class Loop(wiring.Component):
    """What a side sends comes back to it, a beat every ``n`` cycles, by an ``unhurried`` buffer or another; ``replay``
    has all unacknowledged flits sent again."""

    def __init__(self, n=1, unhurried=False):
        self.n = n
        self.packer = Packer(n)
        self.transmit = ReplayTransmit(DLConfig(replay_depth=4))
        self.receive_buffer = ReceiveBuffer(n, unhurried=unhurried)
        self.unpacker = Unpacker(n)
        self.containment = IngressContainment()
        super().__init__(
            {
                "tx_flit": In(tl_flit_signature()),
                "rx_flit": Out(tl_flit_signature(always_ready=True)),
                "message": In(32),
                "message_valid": In(1),
                "message_taken": Out(1),
                "replay": In(1),
                "run": In(1),
                "flush": In(1),
                "held": Out(SEQ_BITS),
                "egress_error": Out(1),
                "ingress_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        packer, transmit, unpacker, containment = self.packer, self.transmit, self.unpacker, self.containment
        m.submodules.packer = packer
        m.submodules.transmit = transmit
        m.submodules.receive_buffer = buffer = self.receive_buffer
        m.submodules.unpacker = unpacker
        m.submodules.containment = containment
        m.submodules.partner = verdict = ResetInserter(self.flush)(Verdict())
        connect(m, flipped(self.tx_flit), packer.flit)
        connect(m, packer.beat, transmit.packed)
        connect(m, buffer.beat, unpacker.beat)
        connect(m, unpacker.flit, containment.received)
        bit = 8 * (FLIT_HEADER_OFFSET % 64)
        # The wire tells no numbers that are not explicit; here the sender's own tells the rest.
        seq = Signal(SEQ_BITS)
        with m.If(transmit.state.q.from_buffer):
            m.d.comb += seq.eq(transmit.state.q.replayed_seq)
        with m.Else():
            m.d.comb += seq.eq(next_seq(transmit.tx_last_seq))
        seq_offered = Signal(SEQ_BITS)
        with m.If(transmit.beat.ready):
            m.d.sync += seq_offered.eq(seq)
        if self.n == 1:
            m.d.comb += transmit.beat.ready.eq(1)
        else:
            m.submodules.partner_pace = pace = Pace(self.n)
            m.d.comb += transmit.beat.ready.eq(pace.now)
        passes = transmit.beat.valid & transmit.beat.ready
        connect(m, containment.flit, flipped(self.rx_flit))
        m.d.comb += [
            packer.message.valid.eq(self.message_valid),
            packer.message.payload.eq(self.message),
            self.message_taken.eq(packer.message.ready & self.message_valid),
            packer.accept_one.eq(transmit.accept_one),
            packer.accept_two.eq(transmit.accept_two),
            packer.channel_online.eq(1),
            transmit.up.eq(1),
            transmit.next_kind.eq(TxKind.IDLE),
            transmit.rx_last_ack.eq(verdict.acked),
            transmit.replay.eq(self.replay & (transmit.held != 0)),
            transmit.replay_from.eq(next_seq(verdict.acked)),
            buffer.rx.valid.eq(passes),
            buffer.rx.p.data.eq(transmit.beat.p.data),
            buffer.rx.p.first.eq(transmit.beat.p.first),
            buffer.rx.p.last.eq(transmit.beat.p.last),
            verdict.ended.eq(passes & transmit.beat.p.last & (transmit.beat.p.kind == TxKind.DATA)),
            verdict.invert.eq(transmit.invert),
            verdict.header.eq(transmit.beat.p.data[bit : bit + 24]),
            verdict.seq.eq(seq_offered),
            buffer.accept.eq(verdict.accept),
            containment.fault.eq(buffer.fault | unpacker.fault),
            self.held.eq(transmit.held),
            self.egress_error.eq(transmit.egress_error),
            self.ingress_error.eq(containment.containment),
        ]
        # As the link state does: no DL flit may follow one that is spoilt.
        stopped = Signal()
        with m.If(self.egress_error):
            m.d.sync += stopped.eq(1)
        with m.If(self.flush):
            m.d.sync += stopped.eq(0)
        m.d.comb += transmit.withhold.eq(stopped | self.egress_error)
        with m.If(self.run & ~stopped & ~self.egress_error):
            m.d.comb += transmit.next_kind.eq(TxKind.DATA)
        for block in (packer, transmit, buffer, unpacker, containment):
            m.d.comb += block.flush.eq(self.flush)
        return m


class Outcome:
    """What one run gave: ``egress``, ``ingress`` or neither was detected; ``marked`` TL flits came with ``error``."""

    def __init__(self):
        self.egress = self.ingress = False
        self.marked = 0
        self.where = ""


class LoopBench:
    """A loop elaborated once; ``run`` starts each time from reset. All its times are those of beats, ``n`` cycles."""

    def __init__(self, n=1, unhurried=False):
        self.n = n
        self.loop = Loop(n, unhurried)
        fragment, registers, memories = collect(self.loop)
        self.places = [
            place for place in (*registers, *memories) if len(place.path) > 1 and not set(EXEMPT) & set(place.path)
        ]
        self.simulator = Simulator(fragment)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self._bench)
        self.used = False

    def find(self, *path):
        """The register or memory with these names."""
        return next(place for place in self.places if place.path == path)

    def run(self, rng: random.Random, strike, *, cycles=95, at=None, replays=(25, 32, 40)) -> Outcome:
        """Send random TL flits, have those in TxReplay sent again in the cycles ``replays``, call ``strike(ctx, loop)``
        once in the cycle of beat ``at`` or, with ``n``, one of those after it, check all that comes, then restart.

        AssertionError if a TL flit comes wrong, twice, late or not at all without being detected.
        """
        if self.used:
            self.simulator.reset()
        self.used = True
        n = self.n
        self.rng, self.strike, self.cycles, self.replays = rng, strike, n * cycles, [n * cycle for cycle in replays]
        at = rng.randrange(24, cycles - 50) if at is None else at
        self.at = n * at + (rng.randrange(n) if n > 1 else 0)
        self.outcome = Outcome()
        self.simulator.run()
        return self.outcome

    async def _bench(self, ctx):
        await self._traffic(ctx, self.cycles, self.at)
        loop = self.loop
        if self.outcome.egress or self.outcome.ingress:
            # The link goes down between two slots.
            ctx.set(loop.run, 0)
            await ctx.tick().repeat(self.n * BEATS_PER_FLIT)
            ctx.set(loop.flush, 1)
            await ctx.tick().repeat(12 * self.n)
            ctx.set(loop.flush, 0)
            await self._traffic(ctx, 90 * self.n, None)

    async def _traffic(self, ctx, cycles, at):
        loop, rng, outcome = self.loop, self.rng, self.outcome
        sent: deque = deque()
        offered = None
        stopped = False
        detected = False
        count = 0
        ctx.set(loop.run, 1)
        for cycle in range(cycles):
            # An upset may cost a slot that goes without payload; the last TL flits have time for one.
            if offered is None and cycle < cycles - 60 * self.n and rng.random() < 0.85:
                offered = tl_flit(rng.getrandbits(512), rng.getrandbits(2))
                ctx.set(loop.tx_flit.p, offered)
            ctx.set(loop.tx_flit.valid, offered is not None)
            ctx.set(loop.message, rng.getrandbits(32))
            ctx.set(loop.message_valid, rng.random() < 0.2)
            ctx.set(loop.replay, at is not None and cycle in self.replays)
            if cycle == at:
                outcome.where = self.strike(ctx, loop)
            *_, taken, came, flit, egress, ingress = await ctx.tick().sample(
                loop.tx_flit.ready, loop.rx_flit.valid, loop.rx_flit.p, loop.egress_error, loop.ingress_error
            )
            where = f"{outcome.where}, cycle {cycle} of upset in {at}"
            if offered is not None and taken:
                sent.append(offered)
                offered = None
            if came:
                assert not stopped, f"a TL flit after containment: {where}"
                if flit.error:
                    outcome.marked += 1
                else:
                    assert tl_flit_good(flit), f"bad parity, not marked: {where}"
                    assert sent and (flit.data, flit.message) == (sent[0]["data"], sent[0]["message"]), where
                    sent.popleft()
                    count += 1
            if ingress:
                outcome.ingress = detected = stopped = True
                ctx.set(loop.run, 0)
            if egress:
                outcome.egress = detected = True
                ctx.set(loop.run, 0)
            assert at is not None or not detected, "containment without an upset"
        assert detected or (not sent and count > 5), f"{len(sent)} TL flits lost without detection: {where}"


def strike_at(rng, place):
    """A ``strike`` that flips one random bit of ``place``, in memories of a row that is in use."""

    def strike(ctx, loop):
        row = None
        if not isinstance(place, Register):
            row = rng.randrange(10 if place.depth > 32 else place.depth)
        return flip(ctx, rng, place, row)

    return strike
