"""Error injection: nothing without its enable, one strike per trigger, and what each point does to a link."""

import pytest
from amaranth.hdl import Assert, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from support.link_bench import CONFIG, DATA_LINKS, Bench
from ualink.dl.flit.error_injection import ErrorInjection, InjectionPoint
from ualink.dl.interface import LinkState
from ualink.phy.interface import TxKind
from ualink_sim.model.dl.flit import crc_ok

pytestmark = DATA_LINKS

EVENTS = {
    InjectionPoint.SENT_CRC: ("crc_slot_end", "crc_struck"),
    InjectionPoint.SENT_BIT: ("wire_slot_end", "wire_struck"),
    InjectionPoint.EGRESS_DATA: (None, "flit_taken"),
    InjectionPoint.EGRESS_CONTROL: (None, "flit_taken"),
    InjectionPoint.RECEIVED_CRC: (None, "slot_received"),
    InjectionPoint.INGRESS_DATA: (None, "flit_received"),
    InjectionPoint.INGRESS_CONTROL: (None, None),
    InjectionPoint.REPLAY_REQUEST: (None, None),
}
"""What lets a point begin and what ends it."""

OUTPUTS = tuple(point.name.lower() for point in InjectionPoint)


class Idle(wiring.Component):
    """Injection whose enable is low while everything else may happen, and that may have been on before."""

    select: In(4)
    trigger: In(1)
    enable: In(1)
    events: In(7)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = ErrorInjection()
        names = [name for name in dut.signature.members if name not in (*OUTPUTS, "select", "trigger", "enable")]
        assert len(names) == len(self.events)
        m.d.comb += [getattr(dut, name).eq(event) for name, event in zip(names, self.events, strict=True)]
        m.d.comb += [dut.select.eq(self.select), dut.trigger.eq(self.trigger), dut.enable.eq(self.enable)]
        outputs = sum(getattr(dut, name) for name in OUTPUTS)
        m.d.comb += Assert(outputs <= 1)
        with m.If(~self.enable):
            m.d.comb += Assert(outputs == 0)
        return m


def test_without_enable_nothing_is_injected():
    """Every output is XORed or ORed into a path, so that all of them 0 leave the data link as it is without."""
    prove(Idle(), mode="prove", depth=3)


@pytest.mark.parametrize("point", InjectionPoint)
def test_one_strike_for_each_trigger(point):
    dut = ErrorInjection()
    begins, ends = EVENTS[point]

    async def bench(ctx):
        def strikes():
            levels = {name: ctx.get(getattr(dut, name)) for name in OUTPUTS}
            assert sum(levels.values()) == levels[point.name.lower()]
            return levels[point.name.lower()]

        async def pulse(name):
            ctx.set(getattr(dut, name), 1)
            await ctx.tick()
            ctx.set(getattr(dut, name), 0)

        ctx.set(dut.select, point.value)
        ctx.set(dut.trigger, 1)
        await ctx.tick().repeat(3)
        assert not strikes()
        ctx.set(dut.enable, 1)
        await ctx.tick().repeat(3)
        assert not strikes(), "the trigger rose before the enable"
        for _ in range(2):
            ctx.set(dut.trigger, 0)
            await ctx.tick()
            ctx.set(dut.trigger, 1)
            await ctx.tick()
            if begins:
                await ctx.tick().repeat(4)
                assert not strikes()
                await pulse(begins)
            else:
                await ctx.tick()
            assert strikes()
            if ends:
                await ctx.tick().repeat(5)
                assert strikes()
                await pulse(ends)
            else:
                await ctx.tick()
            assert not strikes()
            await ctx.tick().repeat(5)
            assert not strikes()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


async def inject(bench, ctx, end, point):
    """Trigger ``point`` at ``end``."""
    ctx.set(end.link.config.inject_enable, 1)
    ctx.set(end.link.config.inject_select, point.value)
    ctx.set(end.link.config.inject, 1)
    await bench.step(ctx)
    ctx.set(end.link.config.inject, 0)


@pytest.mark.req("SW-080")
def test_errors_of_the_wire_cost_a_replay_and_no_flit():
    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)

        async def errors(sender, receiver, point):
            before = receiver.status(ctx, "crc_errors"), sender.status(ctx, "replays_accepted")
            sender.sent.clear()
            receiver.received.clear()
            sender.to_send.extend((n, 1) for n in range(45))
            # In the middle of four payload flits back to back.
            await bench.until(ctx, lambda: len(receiver.received) > 1)
            await inject(bench, ctx, sender if point != InjectionPoint.RECEIVED_CRC else receiver, point)
            await bench.until(ctx, lambda: len(receiver.received) == 45)
            assert receiver.received == sender.sent
            assert receiver.status(ctx, "crc_errors") == before[0] + 1
            assert sender.status(ctx, "replays_accepted") == before[1] + 1

        for point in (InjectionPoint.SENT_CRC, InjectionPoint.SENT_BIT, InjectionPoint.RECEIVED_CRC):
            await errors(a, b, point)
        assert sum(slot.kind == TxKind.DATA.value and not crc_ok(bytes(slot.data)) for slot in a.slots[:-1]) == 2
        assert all(end.status(ctx, "link_downs") == 0 for end in bench.ends)

    Bench(latency=5).run(story)


def test_asking_for_a_replay_of_what_is_not_missing():
    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        a.to_send.extend((n, 1) for n in range(60))
        await bench.until(ctx, lambda: len(b.received) > 10)
        await inject(bench, ctx, b, InjectionPoint.REPLAY_REQUEST)
        await bench.until(ctx, lambda: len(b.received) == 60)
        assert b.received == a.sent and a.status(ctx, "replays_accepted") >= 1
        assert b.status(ctx, "replays_requested") >= 1
        assert all(end.status(ctx, "link_downs") == 0 for end in bench.ends)

    Bench(latency=20).run(story)


@pytest.mark.req("DL-149")
def test_an_idle_partner_has_nothing_to_replay():
    """NOP flits have no number of their own. The flit that is asked for has not been sent, before the first payload
    flit and after it was acknowledged."""

    async def story(bench, ctx):
        a, b = bench.ends
        names = ("replays_accepted", "flits_replayed", "protocol_errors", "link_downs", "dropped_flits")
        await bench.bring_up(ctx)
        for asked in (1, 2):
            await inject(bench, ctx, b, InjectionPoint.REPLAY_REQUEST)
            await bench.step(ctx, 200)
            assert b.status(ctx, "replays_requested") == asked
            assert a.status(ctx, "commands_ignored") == 3 * asked
            for end in bench.ends:
                assert [end.status(ctx, name) for name in names] == [0] * len(names)
            await bench.exchange(ctx, 8)
        assert a.status(ctx, "replays_requested") == b.status(ctx, "commands_ignored") == 0

    Bench(latency=5).run(story)


@pytest.mark.req("DL-179", "DL-182", "DL-177", "SW-080")
@pytest.mark.parametrize("point", [InjectionPoint.EGRESS_DATA, InjectionPoint.EGRESS_CONTROL])
def test_egress_containment(point):
    """The DL flit with the bad TL flit has all CRC bits inverted, no DL flit follows, and the link starts anew."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 8)
        mark = len(a.slots) - 1
        for end in bench.ends:
            end.sent.clear()
            end.received.clear()
            end.to_send.extend((n, 1) for n in range(30))
        await bench.step(ctx, 12)
        await inject(bench, ctx, a, point)
        await bench.until(ctx, lambda: a.status(ctx, "link_state") == LinkState.IDLE)
        await bench.step(ctx, 35)
        assert a.status(ctx, "egress_containments") == 1
        data = [slot for slot in a.slots[mark:] if slot.kind == TxKind.DATA.value]
        wire = bytes(data[-1].data)
        assert not crc_ok(wire) and crc_ok(wire[:636] + bytes(255 - byte for byte in wire[636:]))
        assert all(crc_ok(bytes(slot.data)) for slot in data[:-1])
        assert {slot.kind for slot in a.slots[a.slots.index(data[-1]) + 1 :]} == {TxKind.IDLE.value}
        assert b.received == a.sent[: len(b.received)] and len(b.received) < len(a.sent) and not b.marked
        for end in bench.ends:
            end.to_send.clear()
            end.withdraw(ctx)
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 10)

    Bench(latency=5).run(story)


@pytest.mark.req("DL-179", "DL-181", "DL-177")
@pytest.mark.parametrize("point", [InjectionPoint.INGRESS_DATA, InjectionPoint.INGRESS_CONTROL])
def test_ingress_containment(point):
    """The bad TL flit comes marked, no other after it, and the link starts anew."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 8)
        for end in bench.ends:
            end.sent.clear()
            end.received.clear()
            end.to_send.extend((n, 1) for n in range(40))
        await bench.until(ctx, lambda: len(b.received) > 3)
        await inject(bench, ctx, b, point)
        await bench.until(ctx, lambda: b.status(ctx, "link_state") == LinkState.IDLE, limit=40)
        assert b.status(ctx, "ingress_containments") == 1 and b.marked <= 1
        assert b.marked or point == InjectionPoint.INGRESS_CONTROL
        assert b.received == a.sent[: len(b.received)] and len(b.received) < len(a.sent)
        received = len(b.received)
        await bench.until(ctx, lambda: a.status(ctx, "link_state") == LinkState.IDLE)
        assert len(b.received) == received
        # The TL starts anew with its link.
        for end in bench.ends:
            end.to_send.clear()
            end.withdraw(ctx)
            end.marked = 0
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 10)

    Bench(latency=5, config=CONFIG.replace(replay_depth=8)).run(story)
