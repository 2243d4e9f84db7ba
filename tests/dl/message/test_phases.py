"""Two whole message services: a neighbouring event in the cycles of a UART reset, and then the stream works."""

import pytest

from support.dl.message_phases_bench import simulate

TIME_OUT = 90
"""Flit times, above the round trip of a reset."""

PHASES = (0, 84, 92, 100)
"""Cycles after the start: at the beginning, when the Reset Request leaves and arrives, and while its Response and the
first Credit Updates are under way. The No-Ops between are all alike."""


async def pulse(stage, who, name, cycles=1):
    stage.set(who, **{name: 1})
    await stage.cycles(cycles)
    stage.set(who, **{name: 0})


async def partner_resets(stage):
    await pulse(stage, 1, "uart_reset")
    await stage.cycles(180)


async def link_down(stage):
    """On one side two cycles earlier; both come back at once."""
    stage.set(0, flush=1)
    await stage.cycles(2)
    stage.set(1, flush=1)
    await stage.cycles(7)
    for who in (0, 1):
        stage.set(who, flush=0)
    await stage.cycles(100)


async def channel_offline(stage):
    """Data and Credit Updates of that time are lost, so that firmware resets the stream when the channel is back."""
    stage.set(1, channel_4_online=0)
    await stage.cycles(70)
    stage.set(1, channel_4_online=1)
    # A Request that was lost is repeated meanwhile.
    await stage.cycles(2 * TIME_OUT + 150)
    assert stage.seen("online_4") == [1, 1] and stage.seen("uart_resetting") == [0, 0]
    await pulse(stage, 0, "uart_reset")
    await stage.cycles(170)


@pytest.mark.req("DL-092", "DL-094", "DL-095", "DL-097", "DL-098")
@pytest.mark.parametrize("event", [partner_resets, link_down, channel_offline])
def test_an_event_in_the_cycles_of_a_reset(event):
    async def play(stage):
        for phase in PHASES:
            await stage.begin(TIME_OUT)
            for who in (0, 1):
                stage.set(who, write=1)
            await stage.cycles(40)
            stage.set(0, uart_reset_all=1)
            await pulse(stage, 0, "uart_reset")
            stage.set(0, uart_reset_all=0)
            await stage.cycles(phase)
            await event(stage)
            assert await stage.works() == [], phase
            if event is partner_resets:
                assert stage.seen("requests") == stage.seen("responses") == [1, 1], phase
                assert stage.seen("all_streams") == [1, 0], phase

    simulate(play)
