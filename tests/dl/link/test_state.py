"""Every arc of the link states, with the slots that each state sends."""

import pytest
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.dl.interface import LinkState
from ualink.dl.link.state import IDLE_LIMIT, LinkStateMachine
from ualink.phy.interface import SlotStatus, TxKind

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")

GOOD, BAD, CONTROL = SlotStatus.GOOD, SlotStatus.BAD, SlotStatus.CONTROL
IDLE_SLOTS = 6


@pytest.mark.parametrize("slots", [3, 256, True, "16"])
def test_refuses_stay(slots):
    with pytest.raises(ConfigError, match=f"idle_flit_times is {slots!r}"):
        LinkStateMachine(slots)


class Link:
    """Steps the machine slot by slot."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut

    @property
    def state(self):
        return self.ctx.get(self.dut.state)

    def set(self, **values):
        for name, value in values.items():
            self.ctx.set(getattr(self.dut, name), value)

    async def pulse(self, name):
        self.set(**{name: 1})
        await self.ctx.tick()
        self.set(**{name: 0})

    async def slot(self, received=None):
        """One received slot, if any, and then the end of a transmitted one; returns the kind of the next."""
        if received is not None:
            self.set(status=received)
            await self.pulse("ended")
        else:
            await self.ctx.tick()
        self.set(slot_end=1)
        kind = self.ctx.get(self.dut.next_kind)
        await self.ctx.tick()
        self.set(slot_end=0)
        return kind

    async def slots(self, *received):
        for status in received:
            await self.slot(status)

    async def to_idle(self):
        await self.slot()
        assert self.state == LinkState.IDLE

    async def to_nop(self):
        await self.to_idle()
        self.set(enable=1)
        await self.slots(*[CONTROL] * IDLE_SLOTS)
        assert self.state == LinkState.NOP

    async def to_up(self):
        await self.to_nop()
        await self.slots(*[GOOD] * 10)
        assert self.state == LinkState.UP


def run(story):
    dut = LinkStateMachine(IDLE_SLOTS)

    async def bench(ctx):
        await story(Link(ctx, dut))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-170", "DL-171")
def test_fault_is_the_reset_state():
    async def story(link):
        assert link.state == LinkState.FAULT
        link.set(local_fault=1)
        assert await link.slot() == TxKind.REMOTE_FAULT
        link.set(remote_fault=1)
        assert await link.slot() == TxKind.REMOTE_FAULT
        link.set(local_fault=0)
        assert await link.slot() == TxKind.IDLE
        assert link.state == LinkState.FAULT
        assert link.ctx.get(link.dut.flush)
        link.set(remote_fault=0)
        assert await link.slot() == TxKind.IDLE
        assert link.state == LinkState.IDLE

    run(story)


@pytest.mark.req("DL-171", "DL-172", "DL-175", "DL-177")
@pytest.mark.parametrize("reach", ["to_idle", "to_nop", "to_up"])
@pytest.mark.parametrize("fault", ["local_fault", "remote_fault"])
def test_fault_from_any_state(reach, fault):
    async def story(link):
        await getattr(link, reach)()
        link.set(**{fault: 1})
        assert await link.slot() == (TxKind.REMOTE_FAULT if fault == "local_fault" else TxKind.IDLE)
        assert link.state == LinkState.FAULT
        link.set(**{fault: 0})
        await link.slot()
        assert link.state == LinkState.IDLE

    run(story)


@pytest.mark.req("DL-171", "DL-177")
def test_fault_before_any_other_event():
    async def story(link):
        await link.to_up()
        link.set(local_fault=1, containment=1)
        await link.slots(*[CONTROL] * 4)
        assert link.state == LinkState.FAULT

    run(story)


@pytest.mark.req("DL-172")
def test_idle_waits_for_enable():
    async def story(link):
        await link.to_idle()
        for _ in range(20):
            assert await link.slot(CONTROL) == TxKind.IDLE
            assert not link.ctx.get(link.dut.up)
        link.set(enable=1)
        assert await link.slot(CONTROL) == TxKind.DATA
        assert link.state == LinkState.NOP

    run(story)


@pytest.mark.req("DL-172")
def test_idle_lasts_until_the_partner_is_down():
    """Ruling A-23 (DL): flits of before the link down may still come; four control flits in a row end them."""

    async def story(link):
        await link.to_up()
        await link.pulse("containment")
        for _ in range(30):
            assert await link.slot(GOOD) == TxKind.IDLE
        await link.slots(CONTROL, CONTROL, CONTROL, BAD, CONTROL, CONTROL, CONTROL)
        assert link.state == LinkState.IDLE
        await link.slots(CONTROL, GOOD)
        assert link.state == LinkState.NOP

    run(story)


@pytest.mark.req("DL-172")
def test_idle_does_not_last_for_ever():
    async def story(link):
        await link.to_idle()
        link.set(enable=1)
        await link.slots(*[GOOD] * (IDLE_LIMIT - 1))
        assert link.state == LinkState.IDLE
        await link.slot(GOOD)
        assert link.state == LinkState.NOP

    run(story)


@pytest.mark.req("DL-173", "DL-175")
def test_nop_needs_ten_flits_sent():
    async def story(link):
        await link.to_nop()
        for _ in range(9):
            assert await link.slot(GOOD) == TxKind.DATA
            assert link.state == LinkState.NOP
            assert link.ctx.get(link.dut.flits) and not link.ctx.get(link.dut.up)
        await link.slot(GOOD)
        assert link.state == LinkState.UP

    run(story)


@pytest.mark.req("DL-174")
def test_nop_does_not_expect_acks():
    """A time-out counts neither within a slot nor as it ends, nor is it remembered for DL Up."""

    async def story(link):
        await link.to_nop()
        for _ in range(30):
            await link.pulse("time_out")
            assert await link.slot(CONTROL) == TxKind.DATA
        link.set(time_out=1)
        assert await link.slot(CONTROL) == TxKind.DATA
        assert link.state == LinkState.NOP
        link.set(time_out=0)
        await link.slots(GOOD, GOOD)
        assert link.state == LinkState.UP
        assert await link.slot(GOOD) == TxKind.DATA
        assert link.state == LinkState.UP

    run(story)


@pytest.mark.req("DL-175")
def test_nop_needs_two_consecutive_flits():
    """Control flits between do not break the run, a bad flit does (ruling A-24 (DL))."""

    async def story(link):
        await link.to_nop()
        await link.slots(*[CONTROL] * 12, GOOD, BAD, GOOD, BAD, *[None] * 5)
        assert link.state == LinkState.NOP
        await link.slots(GOOD, CONTROL)
        assert link.state == LinkState.NOP
        await link.slot(GOOD)
        assert link.state == LinkState.UP

    run(story)


@pytest.mark.req("DL-176", "DL-177")
def test_up_ends_after_four_control_flits_in_a_row():
    async def story(link):
        await link.to_up()
        for breaker in (GOOD, BAD):
            for _ in range(3):
                assert await link.slot(CONTROL) == TxKind.DATA
            await link.slot(breaker)
            assert link.state == LinkState.UP
        await link.slots(*[CONTROL] * 4)
        assert link.state == LinkState.IDLE
        assert link.ctx.get(link.dut.flush)
        await link.slot(CONTROL)
        assert not link.ctx.get(link.dut.flush)

    run(story)


@pytest.mark.req("DL-165", "DL-177")
def test_up_ends_with_containment():
    async def story(link):
        await link.to_up()
        await link.pulse("containment")
        assert link.state == LinkState.UP
        assert await link.slot(GOOD) == TxKind.IDLE
        assert link.state == LinkState.IDLE

    run(story)


@pytest.mark.req("DL-165", "DL-177")
def test_up_ends_with_a_time_out_at_the_end_of_a_slot():
    async def story(link):
        await link.to_up()
        await link.pulse("time_out")
        assert await link.slot(GOOD) == TxKind.DATA
        assert link.state == LinkState.UP
        link.set(time_out=1)
        assert await link.slot(GOOD) == TxKind.IDLE
        assert link.state == LinkState.IDLE

    run(story)


@pytest.mark.req("DL-182")
def test_nop_ends_with_an_uncorrectable_error():
    async def story(link):
        await link.to_nop()
        await link.pulse("containment")
        assert await link.slot(GOOD) == TxKind.IDLE
        assert link.state == LinkState.IDLE

    run(story)


@pytest.mark.req("DL-177")
def test_states_change_between_flits_only():
    async def story(link):
        await link.to_up()
        link.set(remote_fault=1)
        await link.ctx.tick().repeat(25)
        assert link.state == LinkState.UP
        await link.slot()
        assert link.state == LinkState.FAULT

    run(story)
