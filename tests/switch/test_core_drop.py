"""Upset beats between the stations and the core of a switch: nothing of them crosses, and the core's agents drop."""

import pytest

from support.switch.drop_bench import Bench


@pytest.mark.req("RAS-083", "RAS-109", "RAS-058", "RAS-110", "RAS-111", "RAS-082", "RAS-043", "SW-097")
@pytest.mark.parametrize(("channel", "kind"), [("req", "control"), ("rd_rsp", "control"), ("rd_rsp", "protocol")])
def test_nothing_of_an_upset_beat_crosses(channel, kind):
    """Episode after episode without a reset: one beat towards the core is upset, the agent that met it drops both ways
    until it is cleared, and all transfers arrive again after that."""
    bench = Bench(channel)
    side = "ingress" if channel == "req" else "egress"

    async def body(ctx):
        switch = bench.switch
        dropping = getattr(switch, f"{side}_dropping")
        others = [*switch.ingress_dropping, *switch.egress_dropping]
        await bench.open_routes(ctx)
        ctx.set(bench.stations[0].protocol, kind == "protocol")
        for _ in range(3):
            for _ in range(25 + bench.rng.randrange(8)):
                await bench.step(ctx)
            assert not any(ctx.get(level) for level in others)
            before = bench.number
            while not await bench.step(ctx, upset=(0, channel)):
                pass
            for _ in range(25):
                await bench.step(ctx)
            shown = getattr(switch, f"{side}_status")[0]
            assert ctx.get(getattr(shown, f"{kind}_error"))
            assert ctx.get(dropping[0]) and sum(ctx.get(level) for level in others) == 1
            lately = {key: len(beats) for key, beats in bench.got.items()}
            for _ in range(15):
                await bench.step(ctx)
            stopped = (1, "req") if channel == "req" else (1, "rd_rsp")
            assert len(bench.got[stopped]) == lately[stopped], "nothing crosses any more"
            back = (0, "wr_rsp") if channel == "req" else (0, "req")
            assert len(bench.got[back]) == lately[back], "in neither direction"
            assert bench.number > before + 20, "what is for a port that drops does not wait"
            ctx.set(getattr(switch, f"{side}_clear")[0], 1)
            await bench.step(ctx)
            ctx.set(getattr(switch, f"{side}_clear")[0], 0)
        marks = {key: len(beats) for key, beats in bench.sent.items()}
        for _ in range(60):
            await bench.step(ctx)
        for _ in range(60):
            await bench.step(ctx, more=False)
        bench.marks = marks
        requests, responses = {(0, "req")}, {(0, "rd_rsp"), (0, "wr_rsp")}
        ways = (requests, responses) if channel == "req" else (responses, requests)
        lost = bench.lost(ctx, *ways)
        # Nobody knows what a beat was whose control parity is wrong. Of a transfer it is the first that counts.
        upset = {(0, channel): 3} if kind == "control" else {}
        assert lost == upset or (channel == "rd_rsp" and lost.items() <= {((0, channel), n) for n in (1, 2)})

    bench.simulate(body)
    arrived = bench.check()
    assert all(arrived.values())
    # What was sent from a while after the last clear on has arrived, all of it.
    for n in range(2):
        late = [beat["tag"] for beat in bench.sent[1 - n, "req"][bench.marks[1 - n, "req"] + 4 :]]
        assert late and late == [beat["tag"] for beat in bench.got[n, "req"]][-len(late) :]
