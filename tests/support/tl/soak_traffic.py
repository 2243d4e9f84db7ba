"""Hardware that makes endless beats for a transaction layer, and takes what comes out of one."""

import random

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from support.dl.soak_traffic import RATE_BITS, Xorshift, flit_content
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.commands import ReqCmd

__all__ = ["RATES", "Dice", "Mood", "OrigDataSource", "ReadResponseSource", "RequestSource", "WriteResponseSource"]

RATES = ("req", "orig_data", "rd_rsp", "wr_rsp", "reads", "single", "poison", "status", "near", "compressible")
"""Chances of 2**16: of a beat of each channel after the last; that a Request is a plain Read; that a Read Response has
one beat; that a beat is bad; that a Response is not OKAY; that a Request goes to one of a few regions and accelerators;
that it meets each of the conditions of compression."""

_rng = random.Random("regions")
REGIONS = [_rng.getrandbits(37) for _ in range(2)]
FLIPS = (0, 1 << 36, 1, 1 << 17)
"""Regions of 1 MB that traffic goes to: two at random, and those that differ from them in one bit."""

NEAR_IDS = (0, 1, 2, 5, 7, 8, 1022, 1023)

DATA_COMMANDS = (
    *(ReqCmd.WRITE.value,) * 5,
    *(ReqCmd.WRITE_FULL.value,) * 5,
    *(ReqCmd.ATOMIC_R.value, ReqCmd.ATOMIC_NR.value, ReqCmd.UPLI_WRITE_MESSAGE.value, 0x2C, 0x3C, 0x0F),
)


class Dice:
    """Random bits of a cycle, none of them handed out twice; ``count`` generators of 64 bits."""

    def __init__(self, m, seed, salt: int, count: int, prefix: str = "dice"):
        values = []
        for n in range(count):
            generator = Xorshift(salt ^ _rng.getrandbits(31))
            m.submodules[f"{prefix}_{n}"] = generator
            m.d.comb += generator.seed.eq(seed)
            values.append(generator.value)
        self._bits = Cat(values)
        self._used = 0

    def bits(self, count: int):
        self._used += count
        assert self._used <= len(self._bits)
        return self._bits[self._used - count : self._used]

    def chance(self, rate):
        """True with probability ``rate`` of 2**16, always for the largest one."""
        return (self.bits(RATE_BITS) < rate) | rate.all()

    def choice(self, values, width: int):
        """One of ``values``, whose number is a power of two."""
        chosen = Const(values[0], width)
        bits = self.bits((len(values) - 1).bit_length())
        for n, value in enumerate(values[1:], 1):
            chosen = Mux(bits == n, Const(value, width), chosen)
        return chosen


class Mood(wiring.Component):
    """Opens and shuts a gate: for a while always open, for a while shut, mostly at random with ``rate``.

    ``steady`` leaves only the last one; ``wide`` keeps the gate open.
    """

    seed: In(32)
    rate: In(RATE_BITS)
    steady: In(1)
    wide: In(1)
    gate: Out(1)

    def __init__(self, salt: int):
        self._salt = salt
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        dice = Dice(m, self.seed, self._salt, 1)
        left = Signal(8)
        mood = Signal(3)
        m.d.sync += left.eq(left - 1)
        with m.If(left == 0):
            m.d.sync += [left.eq(dice.bits(8)), mood.eq(dice.bits(3))]
        m.d.comb += self.gate.eq(dice.chance(self.rate))
        with m.If(~self.steady & (mood == 0)):
            m.d.comb += self.gate.eq(1)
        with m.If(~self.steady & (mood == 1)):
            m.d.comb += self.gate.eq(0)
        with m.If(self.wide):
            m.d.comb += self.gate.eq(1)
        return m


class Source(wiring.Component):
    """Common part: a register with the beat on offer, made anew when it has been taken.

    Members
    -------
    seed, rates : as in ``RATES``.
    steady : beats come with an even rate. stop : nothing new is offered.
    vc_mask : the VCs in use.
    """

    channel: str

    def __init__(self, salt: int):
        self._salt = salt
        super().__init__(
            {
                "seed": In(32),
                **{name: In(RATE_BITS) for name in RATES},
                "steady": In(1),
                "stop": In(1),
                "vc_mask": In(2),
                "beat": Out(stream.Signature(CHANNEL_LAYOUTS[self.channel])),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.mood = mood = Mood(self._salt ^ 0x55)
        taken = self.beat.valid & self.beat.ready
        due, offered = Signal(), Signal()
        m.d.comb += [
            mood.seed.eq(self.seed),
            mood.steady.eq(self.steady),
            mood.rate.eq(getattr(self, self.channel)),
            due.eq(taken | ~self.beat.valid),
        ]
        fresh = Signal(CHANNEL_LAYOUTS[self.channel])
        unfinished = self._make(m, fresh, offered)
        m.d.comb += offered.eq(due & mood.gate & (~self.stop | unfinished))
        payload = Signal(CHANNEL_LAYOUTS[self.channel], reset_less=True)
        m.d.comb += self.beat.p.eq(payload)
        with m.If(due):
            m.d.sync += [payload.eq(fresh), self.beat.valid.eq(offered)]
        return m

    def _make(self, m, fresh, offered):
        """Make ``fresh``, which goes on offer with ``offered``; true when it is the rest of a burst."""
        raise NotImplementedError


class RequestSource(Source):
    """Requests of all commands, most of them near each other."""

    channel = "req"

    def _make(self, m, fresh, offered):
        dice = Dice(m, self.seed, self._salt, 6)
        near = dice.chance(self.near)
        met = [Signal(name=f"condition_{n}") for n in range(5)]
        m.d.comb += [condition.eq(dice.chance(self.compressible)) for condition in met]
        region = dice.choice(REGIONS, 37) ^ dice.choice(FLIPS, 37)
        block, inside = dice.bits(14), dice.bits(4)
        blocks = Signal(2)
        room = Signal(2)
        m.d.comb += [room.eq(3 - block[:2]), blocks.eq(dice.bits(2))]
        is_read = Signal()
        m.d.comb += is_read.eq(dice.chance(self.reads))
        cmd = dice.choice(DATA_COMMANDS, 6)
        m.d.comb += [
            fresh.asi.eq(dice.bits(2)),
            fresh.auth_tag.eq(dice.bits(64)),
            fresh.tag.eq(dice.bits(11)),
            fresh.vc.eq(dice.bits(2) & self.vc_mask),
            fresh.src_phys_acc_id.eq(Mux(near, dice.choice(NEAR_IDS, 10), dice.bits(10))),
            fresh.dst_phys_acc_id.eq(Mux(near, dice.choice(NEAR_IDS, 10), dice.bits(10))),
            fresh.cmd.eq(Mux(is_read, ReqCmd.READ.value, cmd)),
            # Conditions of compression (UALink_200 §5.9.3), each met mostly, most of those not met only just missed.
            fresh.attr.eq(Mux(is_read, 0xFF, 0)),
            fresh.meta_data.eq(dice.bits(2)),
            fresh.len.eq(Cat(Const(0xF, 4), blocks)),
            fresh.addr.eq(Cat(Const(0, 6), block, Mux(near, region, dice.bits(37)))),
        ]
        with m.If(~met[0]):
            m.d.comb += fresh.attr.eq(dice.choice((0x00, 0xFF, 0xFE, 0x7F), 8))
        with m.If(~met[1]):
            m.d.comb += fresh.meta_data.eq(1 << dice.bits(3))
        with m.If(~met[2]):
            m.d.comb += fresh.len.eq(dice.bits(6))
        with m.If(~met[3]):
            m.d.comb += fresh.addr[2:6].eq(inside)
        with m.If(met[4] & (blocks > room)):
            m.d.comb += fresh.len[4:].eq(room)
        beats = Signal(3)
        m.d.comb += beats.eq((fresh.addr[2:6] + fresh.len) >> 4)
        with m.Switch(fresh.cmd):
            with m.Case(ReqCmd.WRITE.value, ReqCmd.WRITE_FULL.value, ReqCmd.UPLI_WRITE_MESSAGE.value):
                m.d.comb += fresh.num_beats.eq(Mux(beats > 3, 3, beats))
            with m.Case(0x2C, 0x3C, 0x0F):
                m.d.comb += fresh.num_beats.eq(dice.bits(2))
        return 0


class OrigDataSource(Source):
    """Beats of originator data; what a Request does not decide."""

    channel = "orig_data"

    def _make(self, m, fresh, offered):
        dice = Dice(m, self.seed, self._salt, 3)
        number = Signal(32)
        with m.If(offered):
            m.d.sync += number.eq(number + 1)
        m.d.comb += [
            fresh.data.eq(flit_content(number, self._salt)[0]),
            fresh.byte_en.eq(dice.bits(64)),
            fresh.error.eq(dice.chance(self.poison)),
        ]
        return 0


class ReadResponseSource(Source):
    """Read Responses of one beat, and bursts."""

    channel = "rd_rsp"

    def _make(self, m, fresh, offered):
        dice = Dice(m, self.seed, self._salt, 3)
        number = Signal(32)
        left = Signal(2)
        layout = CHANNEL_LAYOUTS["rd_rsp"]
        first, head = Signal(layout), Signal(layout, reset_less=True)
        m.d.comb += [
            first.auth_tag.eq(dice.bits(64)),
            first.src_phys_acc_id.eq(dice.bits(10)),
            first.dst_phys_acc_id.eq(dice.bits(10)),
            first.tag.eq(dice.bits(11)),
            first.vc.eq(dice.bits(2) & self.vc_mask),
            first.status.eq(Mux(dice.chance(self.status), dice.bits(4), 0)),
            first.num_beats.eq(Mux(dice.chance(self.single), 0, dice.bits(2))),
            first.offset.eq(Mux(first.num_beats == 0, dice.bits(2), 0)),
            first.last.eq((first.num_beats == 0) & dice.bits(1)),
            fresh.eq(Mux(left == 0, first, head)),
            fresh.data.eq(flit_content(number, self._salt)[0]),
            fresh.data_error.eq(dice.chance(self.poison)),
        ]
        with m.If(left != 0):
            m.d.comb += [fresh.offset.eq(head.num_beats - left + 1), fresh.last.eq(left == 1)]
        with m.If(offered):
            m.d.sync += [number.eq(number + 1), left.eq(Mux(left == 0, first.num_beats, left - 1))]
            with m.If(left == 0):
                m.d.sync += head.eq(first)
        return left != 0


class WriteResponseSource(Source):
    """Write Responses."""

    channel = "wr_rsp"

    def _make(self, m, fresh, offered):
        dice = Dice(m, self.seed, self._salt, 2)
        m.d.comb += [
            fresh.auth_tag.eq(dice.bits(64)),
            fresh.src_phys_acc_id.eq(dice.bits(10)),
            fresh.dst_phys_acc_id.eq(dice.bits(10)),
            fresh.tag.eq(dice.bits(11)),
            fresh.vc.eq(dice.bits(2) & self.vc_mask),
            fresh.status.eq(Mux(dice.chance(self.status), dice.bits(4), 0)),
        ]
        return 0
