"""Transfers of the request plane that an upset cuts: what comes later never completes them unseen."""

import random
from functools import cache
from itertools import islice

import pytest
from amaranth.hdl import Module, Value

from support.shared_simulator import SharedSimulator
from support.switch.bench import coded, pack, random_request
from support.upsets import collect, name_of
from ualink.switch.closing import QUIET
from ualink.switch.grid import Grid
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_plane import RequestPlane
from ualink.upli.channels import CHANNEL_LAYOUTS

PORTS = 4
FROM, TO = 1, 2
PATIENCE = 20
"""Cycles in which an idle plane takes what it ever will."""

DEPTHS = QueueDepths(req=8, orig_data=16, rd_rsp=4, wr_rsp=4)


@cache
def routed():
    """A plane with tables by which ID n is at egress port n, its registers, and a simulator of it."""
    plane = RequestPlane(Grid(PORTS, PORTS), DEPTHS)
    m = Module()
    m.submodules.plane = plane
    for lookup in plane.lookup:
        with m.If(lookup.look):
            m.d.sync += lookup.egress.eq(lookup.dst_phys_acc_id)
    design, registers, _ = collect(m)
    return plane, {name_of(place): place.signal for place in registers}, SharedSimulator(design)


class Traffic:
    """Requests from one port to another, and all that leaves there."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.plane, self.registers, self.simulator = routed()
        self.requests, self.beats = [], []
        self.got, self.got_data = [], []
        self.told, self.strike = False, None

    def send(self, beats):
        request, data = random_request(self.rng, FROM, TO, beats)
        data = [beat | {"error": 0, "offset": n} for n, beat in enumerate(data)]
        self.requests.append(request)
        self.beats.append(data)
        return coded("req", pack("req", request)), [coded("orig_data", pack("orig_data", beat)) for beat in data]

    async def step(self, ctx, request=None, beat=None):
        """One cycle; whether ``request`` and ``beat`` were taken."""
        plane, taken = self.plane, []
        for stream, value in ((plane.in_req[FROM], request), (plane.in_orig_data[FROM], beat)):
            ctx.set(stream.valid, value is not None)
            ctx.set(Value.cast(stream.p), value or 0)
        for stream in (plane.out_req[TO], plane.out_orig_data[TO]):
            ctx.set(stream.ready, 1)
        if self.strike:
            self.strike(ctx)
        for stream, value in ((plane.in_req[FROM], request), (plane.in_orig_data[FROM], beat)):
            taken.append(value is not None and bool(ctx.get(stream.ready)))
        for channel, got in (("req", self.got), ("orig_data", self.got_data)):
            stream = getattr(plane, f"out_{channel}")[TO]
            if ctx.get(stream.valid):
                payload = ctx.get(stream.p)
                got.append({name: payload[name] for name, _ in CHANNEL_LAYOUTS[channel]})
        self.told |= bool(ctx.get(plane.upset_out[TO].control))
        await ctx.tick()
        return taken

    async def give(self, ctx, beats, cut=None):
        """A Request and its beats, or as many as come before the ``cut``; gives those that are left."""
        request, data = self.send(beats)
        await self._until_taken(ctx, 0, request)
        await self.step(ctx)
        await self.step(ctx)
        rest = data[cut:] if cut is not None else []
        for beat in data[: len(data) - len(rest)]:
            await self._until_taken(ctx, 1, beat)
        return rest

    async def _until_taken(self, ctx, which, word):
        for _ in range(PATIENCE):
            if (await self.step(ctx, **{("request", "beat")[which]: word}))[which]:
                return

    async def end_drop_mode(self, ctx, rest):
        """As the agent before the port does: what is left is given to it, then nothing, until firmware clears it."""
        ctx.set(self.plane.dropping[FROM], 1)
        for beat in rest:
            await self._until_taken(ctx, 1, beat)
        for _ in range(2 * QUIET):
            await self.step(ctx)
        ctx.set(self.plane.dropping[FROM], 0)
        for _ in range(4):
            await self.step(ctx)
        assert not ctx.get(self.plane.upset_in[FROM])

    def judge(self):
        """Each Request that has left went in this order, and each of its beats is its own or poisoned."""
        came, number = iter(self.got_data), -1
        for request in self.got:
            number = next(n for n in range(number + 1, len(self.requests)) if request == self.requests[n])
            for own, beat in zip(self.beats[number], islice(came, len(self.beats[number]))):
                assert beat["error"] or beat["data"] == own["data"], "wrong data are never good"
        assert next(came, None) is None


ELSEWHERE = {"nowhere": 0, "also to one in its bank": 1 << TO | 1 << 0, "also to one in another": 1 << TO | 1 << 3}
"""Where beats go instead of ``TO`` if one bit is upset."""


@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.parametrize("cut", range(4))
@pytest.mark.parametrize("later", range(1, 5))
def test_later_beats_never_complete_a_transfer_that_was_cut(cut, later, where):
    """Beats of a Request go elsewhere behind its first few; the others are dropped, and Drop Mode is cleared. Requests
    that come then, of as many beats as are missing or others, are sent with their own data or not as good."""
    traffic = Traffic(f"{cut} {later} {where}")
    kept_where = traffic.registers[f"plane.ingress_{FROM}.kept_where"]

    async def body(ctx):
        await traffic.give(ctx, 2)
        rest = await traffic.give(ctx, 4, cut)
        assert ctx.get(kept_where) == 1 << TO
        ctx.set(kept_where, ELSEWHERE[where])
        await traffic.step(ctx)
        await traffic.step(ctx)
        assert ctx.get(traffic.plane.upset_in[FROM])
        await traffic.end_drop_mode(ctx, rest)
        for beats in (later, 1, 4, 2, later, 3):
            await traffic.give(ctx, beats)
        for _ in range(40):
            await traffic.step(ctx)
        traffic.judge()
        # Beats that go to both come where they should, and are whole.
        assert traffic.told or ELSEWHERE[where]

    traffic.simulator.run_all(body)


@pytest.mark.req("RAS-009", "RAS-014", "RAS-039")
@pytest.mark.parametrize("what", ["requests", "data"])
@pytest.mark.parametrize("beats", [1, 3])
def test_what_another_port_reads_for_the_same_egress_at_once_is_wrong(beats, what):
    """An upset lets a second port give what it has to an egress port that one reads for: neither goes on as good."""
    traffic = Traffic(f"{beats} {what}")
    came = f".{what}_{FROM}.came"
    reading = [(name, name.replace(came, f".{what}_0.came")) for name in traffic.registers if name.endswith(came)]
    struck = []

    def strike(ctx):
        for of_one, of_other in reading:
            egress = ctx.get(traffic.registers[of_one])
            if egress and not struck:
                struck.append(of_other)
                ctx.set(traffic.registers[of_other], egress)

    async def body(ctx):
        await traffic.give(ctx, 2)
        for _ in range(PATIENCE):
            await traffic.step(ctx)
        whole = len(traffic.got), len(traffic.got_data)
        traffic.strike = strike
        await traffic.give(ctx, beats)
        for _ in range(PATIENCE):
            await traffic.step(ctx)
        assert struck and traffic.told and whole == (1, 2)
        traffic.judge()

    traffic.simulator.run_all(body)
