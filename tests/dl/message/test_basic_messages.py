"""Basic messages: flows of the standard, and every cycle against the model under random stimulus."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.dl.message.basic_exchange import MOST_OWED
from ualink.dl.message.basic_messages import BasicMessages
from ualink_sim.model.dl.basic import BasicService
from ualink_sim.model.dl.messages import DeviceId, PortNumber, TLRateNotification, decode_message

NOT_USED = {
    TLRateNotification: 0x0000_EE02,
    DeviceId: 0x1C00_EE02,
    PortNumber: 0x7000_EE02,
}
"""Reserved bits, those of the Rate in an answer excepted."""
ASK = {TLRateNotification: "announce_rate", DeviceId: "ask_device", PortNumber: "ask_port"}
ANSWERED = {TLRateNotification: "rate_answered", DeviceId: "device_answered", PortNumber: "port_answered"}


class Side:
    """The block, and what the partner, played by the test, says to it."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut

    def set(self, **values):
        for name, value in values.items():
            self.ctx.set(getattr(self.dut, name), value)

    def get(self, name):
        return self.ctx.get(getattr(self.dut, name))

    def now_hear(self, dword):
        self.ctx.set(self.dut.received.valid, dword is not None)
        self.ctx.set(self.dut.received.payload, dword or 0)

    async def hear(self, dword):
        """Hand over a message; returns whether it was logged as an error."""
        self.now_hear(dword)
        error = self.get("protocol_error")
        await self.ctx.tick()
        self.now_hear(None)
        return bool(error)

    async def say(self, cycles=6):
        """What it sends in the next cycles."""
        said = []
        self.ctx.set(self.dut.message.ready, 1)
        for _ in range(cycles):
            if self.ctx.get(self.dut.message.valid):
                said.append(self.ctx.get(self.dut.message.p.dword))
                assert not self.ctx.get(self.dut.message.p.more)
            await self.ctx.tick()
        self.ctx.set(self.dut.message.ready, 0)
        return said

    @property
    def partner(self):
        device, port = self.get("partner_device"), self.get("partner_port")
        return (
            DeviceId(id=device.id, type=device.type, valid=device.valid),
            PortNumber(port_number=port.number, valid=port.valid),
            self.get("partner_rate"),
        )


def run(story):
    dut = BasicMessages()

    async def bench(ctx):
        await story(Side(ctx, dut))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-036", "DL-038", "DL-039", "DL-045", "DL-046", "DL-048", "DL-050")
def test_tl_rate_notification():
    async def story(side):
        assert side.get("partner_rate") == 31_250
        # The lowest rate, and one above full rate: information, there is nothing to refuse.
        for rate in (3_125, 30_664, 0xFFFF):
            assert not await side.hear(rate << 16 | 0x0100)
            assert side.get("partner_rate") == rate
            assert await side.say() == [0x0000_1100]
        side.set(rate=3_125, announce_rate=1)
        assert await side.say() == [0x0C35_0100]
        assert not side.get("rate_answered")
        # The Rate of an answer is reserved.
        assert not await side.hear(0x1234_1100)
        assert side.get("rate_answered")
        assert side.get("partner_rate") == 0xFFFF
        assert await side.say() == []

    run(story)


@pytest.mark.req("DL-046", "DL-050")
def test_rate_0_is_answered_and_ignored():
    async def story(side):
        assert await side.hear(0x0000_0100)
        assert side.get("partner_rate") == 31_250
        assert await side.say() == [0x0000_1100]

    run(story)


@pytest.mark.req("DL-036", "DL-039", "DL-046", "DL-053", "DL-055", "DL-056")
def test_device_id():
    async def story(side):
        side.set(local_device={"id": 0x2A5, "type": 1, "valid": 1})
        # A switch asks and says that it is 0x3FF.
        assert not await side.hear(0x83FF_0140)
        assert side.partner[0] == DeviceId(id=0x3FF, type=0, valid=1)
        assert await side.say() == [0xA2A5_1140]
        side.set(ask_device=1)
        assert await side.say() == [0xA2A5_0140]
        assert not await side.hear(0xA001_1140)
        assert side.partner[0] == DeviceId(id=1, type=1, valid=1)
        assert side.get("device_answered")
        # Reserved types are passed on, and logged.
        assert await side.hear(0xC001_0140)
        assert side.partner[0].type == 2

    run(story)


@pytest.mark.req("DL-054", "DL-055", "DL-058", "DL-059")
def test_what_is_not_configured():
    """Valid 0 and nothing in the field, whatever the input holds; the same for what the partner says."""

    async def story(side):
        side.set(
            local_device={"id": 0x3FF, "type": 1, "valid": 0},
            local_port={"number": 0xFFF, "valid": 0},
            ask_device=1,
            ask_port=1,
        )
        assert sorted(await side.say()) == [0x0000_0180, 0x2000_0140]
        await side.hear(0x0FFF_0180)
        await side.hear(0x03FF_0140)
        assert sorted(await side.say()) == [0x0000_1180, 0x2000_1140]
        assert side.partner[:2] == (DeviceId(), PortNumber())

    run(story)


@pytest.mark.req("DL-036", "DL-039", "DL-046", "DL-057", "DL-059")
def test_port_number():
    """Ten bits are sent, twelve received (ruling A-08)."""

    async def story(side):
        side.set(local_port={"number": 0xFFF, "valid": 1})
        assert not await side.hear(0x8ABC_0180)
        assert side.partner[1] == PortNumber(port_number=0xABC, valid=1)
        assert await side.say() == [0x83FF_1180]
        side.set(ask_port=1)
        assert await side.say() == [0x83FF_0180]
        assert not await side.hear(0x8001_1180)
        assert side.get("port_answered")
        assert side.partner[1] == PortNumber(port_number=1, valid=1)

    run(story)


@pytest.mark.req("DL-060")
def test_no_op_and_other_classes():
    async def story(side):
        for dword in (0, 0xFFFF_FE02, 0x0048_0120, 0x0000_0104, 0x0000_1184, 0x0000_00C0):
            assert not await side.hear(dword)
            assert await side.say() == []

    run(story)


@pytest.mark.req("DL-045", "DL-047")
@pytest.mark.parametrize("kind", ASK)
def test_requests_cross(kind):
    """Both sides ask at once: each answers, and each has its answer; the partner's Request is no answer."""

    async def story(side):
        side.set(**{ASK[kind]: 1}, rate=31_250)
        [request] = await side.say()
        assert not decode_message(request).ack
        theirs = kind(rate=7) if kind is TLRateNotification else kind()
        assert not await side.hear(theirs.encode())
        assert not side.get(ANSWERED[kind])
        [answer] = await side.say()
        assert decode_message(answer).ack
        assert not side.get(ANSWERED[kind])
        assert not await side.hear(kind(ack=1).encode())
        assert side.get(ANSWERED[kind])
        # A second answer answers nothing.
        assert await side.hear(kind(ack=1).encode())
        # Asked again: not answered any more.
        side.set(**{ASK[kind]: 0})
        assert side.get(ANSWERED[kind])
        await side.ctx.tick()
        side.set(**{ASK[kind]: 1})
        await side.ctx.tick()
        assert not side.get(ANSWERED[kind])

    run(story)


@pytest.mark.req("DL-046")
@pytest.mark.parametrize("kind", ASK)
def test_every_request_has_its_answer(kind):
    """Up to 15 while nothing can leave; one more is logged and served by the same answers."""

    async def story(side):
        theirs = kind(rate=7) if kind is TLRateNotification else kind()
        # One more is on offer already.
        for n in range(MOST_OWED + 1):
            assert not await side.hear(theirs.encode()), n
            await side.ctx.tick()
        assert await side.hear(theirs.encode())
        assert len(await side.say(40)) == MOST_OWED + 1

    run(story)


def same_state(side, model):
    assert side.partner == (model.partner_device, model.partner_port, model.partner_rate)
    for kind, name in ANSWERED.items():
        assert side.get(name) == model.exchanges[kind].answered


@pytest.mark.req("DL-036", "DL-184", "DL-043", "DL-045", "DL-046", "DL-047", "DL-048", "DL-050", "DL-054", "DL-055")
@pytest.mark.req("DL-058", "DL-059")
@pytest.mark.parametrize("seed", range(4))
def test_against_the_model(seed):
    """Every cycle, with random stalls, crossing Requests, answers to nothing and all reserved bits at random."""
    rng = random.Random(seed)
    pace = (0.1, 0.3, 0.5, 0.9)[seed]

    async def story(side):
        model = BasicService()
        chosen, owed_to_us = None, []
        asked = dict.fromkeys(ASK, 0)
        sent = dict.fromkeys([(kind, ack) for kind in ASK for ack in (0, 1)], 0)
        for _ in range(1500):
            model.device = DeviceId(id=rng.getrandbits(10), type=rng.getrandbits(1), valid=rng.getrandbits(1))
            model.port = PortNumber(port_number=rng.getrandbits(12), valid=rng.getrandbits(1))
            model.rate = rng.getrandbits(16)
            side.set(
                local_device={"id": model.device.id, "type": model.device.type, "valid": model.device.valid},
                local_port={"number": model.port.port_number, "valid": model.port.valid},
                rate=model.rate,
            )
            rising = [kind for kind in ASK if rng.random() < 0.1 and not asked[kind]]
            asked = {kind: 1 if kind in rising else asked[kind] & (rng.random() < 0.7) for kind in ASK}
            side.set(**{ASK[kind]: level for kind, level in asked.items()})
            ready = rng.random() < pace
            side.ctx.set(side.dut.message.ready, ready)

            heard = None
            if rng.random() < pace / 4:
                kind = rng.choice(list(ASK))
                heard = rng.getrandbits(32) & ~0x11FC | kind().encode()
            elif owed_to_us and rng.random() < 0.3:
                kind = owed_to_us.pop(0)
                heard = rng.getrandbits(32) & ~0x01FC | kind(ack=1).encode()
            elif rng.random() < 0.02:
                kind = rng.choice(list(ASK))
                heard = rng.getrandbits(32) & ~0x01FC | kind(ack=1).encode()
            side.now_hear(heard)

            assert side.ctx.get(side.dut.message.valid) == (chosen is not None)
            if chosen is not None:
                assert side.ctx.get(side.dut.message.p.dword) == chosen.encode()
                assert chosen.encode() & NOT_USED[type(chosen)] == 0
            same_state(side, model)

            # The model goes through the same cycle: what was on offer before may leave, what comes may be answered,
            # and a free place is filled with what was known before.
            errors = model.errors
            free, leaves = chosen is None or ready, chosen is not None and ready
            before, next_chosen = chosen, model.choose() if free else chosen
            if heard is not None:
                model.receive(decode_message(heard), [own for own in (before, next_chosen) if own])
            if leaves:
                model.sent(before)
                sent[type(before), before.ack] += 1
                if not before.ack:
                    owed_to_us.append(type(before))
            for kind in rising:
                model.ask(kind)
            chosen = next_chosen
            assert side.get("protocol_error") == (model.errors != errors)
            await side.ctx.tick()
        assert all(count > 3 for count in sent.values()), sent

    run(story)


class FairnessBench(wiring.Component):
    """A type that has an answer to give sees three messages go first at most: the one on offer, and one of each other
    type. So the answer to the only Request of its type is the fourth message of the class at the latest."""

    def __init__(self):
        super().__init__({"valid": In(1), "mtype": In(3), "ack": In(1), "ready": In(1), "ask": In(3), "who": In(3)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.basic = basic = BasicMessages()
        started, who = Signal(), Signal(3)
        m.d.sync += started.eq(1)
        with m.If(~started):
            m.d.sync += who.eq(self.who)
        asked = self.valid & ~self.ack & (self.mtype == who)
        left = basic.message.valid & self.ready
        dword = basic.message.p.dword
        answers = left & dword[12] & (dword[6:9] == who)
        m.d.comb += [
            basic.received.valid.eq(self.valid & started),
            basic.received.payload.eq(self.mtype << 6 | self.ack << 12 | 1 << 16),
            basic.message.ready.eq(self.ready),
            basic.announce_rate.eq(self.ask[0]),
            basic.ask_device.eq(self.ask[1]),
            basic.ask_port.eq(self.ask[2]),
            Assume(self.who.matches(0b100, 0b101, 0b110)),
        ]
        owed = Signal(4)
        first = Signal(2)
        m.d.sync += owed.eq(owed + (asked & started) - answers)
        m.d.comb += Assert(~answers | (owed != 0))
        with m.If(answers | (owed == 0)):
            m.d.sync += first.eq(0)
        with m.Elif(left):
            m.d.comb += Assert(first != 3)
            m.d.sync += first.eq(first + 1)
        return m


@pytest.mark.req("DL-043", "DL-046")
def test_level_1_is_fair():
    """Proved for all histories of 9 cycles: no answer without Request, and none later than three messages."""
    prove(FairnessBench(), mode="bmc", depth=9)
