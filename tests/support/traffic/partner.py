"""A Requester before a partner in Python, which answers as it should or spoils a Response."""

from collections import deque
from dataclasses import replace

from amaranth.sim import Simulator

from support.upli.wire import CHANNELS
from ualink.traffic.config import TrafficConfig
from ualink.traffic.requester import Requester
from ualink_sim.model.traffic import Settings, line_data
from ualink_sim.model.upli import transactions as upli
from ualink_sim.model.upli.completer import Completer
from ualink_sim.model.upli.memory import Memory

OWN, OTHER, SEED = 5, 6, 0xC0FFEE
TAGS = 16
DELAY = 9
"""Cycles from a Request to its Response."""


class FilledMemory(Memory):
    """Every line that was not written has the data of ``SEED``."""

    def read_line(self, address: int) -> bytes:
        return bytes(self.lines.get(self._key(address), line_data(address // 64, OTHER, SEED)))

    def _line(self, address: int) -> bytearray:
        return self.lines.setdefault(self._key(address), bytearray(self.read_line(address)))


class Partner:
    """``spoil(number, beats)`` gives what is sent in place of ``beats``, the Response to Request ``number``; each beat
    may come with cycles to wait before it, in which others pass. ``accepts``: credits are there."""

    def __init__(self, tags: int = TAGS):
        self.dut = Requester(TrafficConfig(tags=tags, memory_lines=4))
        self.forget()

    def forget(self):
        """What was asked so far; answer properly from now on."""
        self.accepts = True
        self.spoil = lambda number, beats: beats
        self.requests = []
        self.written: list = []
        self.completer = Completer(memory=FilledMemory())
        self.sending = {"rd_rsp": deque(), "wr_rsp": deque()}
        self.later: list = []
        self.to_come = 0
        self.beats = []
        self.cycle = 0

    def simulate(self, story):
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(story)
        simulator.add_testbench(self._answer, background=True)
        simulator.run()

    def set(self, ctx, settings: Settings, **more: int):
        """``settings`` of the model, and what it does not know."""
        values = vars(settings) | {"base": settings.base >> 2, "new_seed": SEED, "old_seed": SEED, **more}
        for name, value in values.items():
            ctx.set(getattr(self.dut.settings, name), int(value))

    async def run(self, ctx, patience: int = 1_000):
        ctx.set(self.dut.start, 1)
        await self.until(ctx, self.dut.done, patience)
        ctx.set(self.dut.start, 0)
        # The last data are judged.
        await ctx.tick().repeat(4)

    async def clear(self, ctx):
        ctx.set(self.dut.clear, 1)
        await self.until(ctx, self.dut.cleared, 400)
        ctx.set(self.dut.clear, 0)
        await ctx.tick()

    async def until(self, ctx, signal, patience: int):
        """To the end of the first cycle with ``signal``."""
        for _ in range(patience):
            *_, now = await ctx.tick().sample(signal)
            if now:
                return
        raise AssertionError(f"{signal!r} never comes")

    async def _answer(self, ctx):
        dut = self.dut
        while True:
            while self.later and self.later[0][0] <= self.cycle:
                at, channel, beat = self.later.pop(0)
                self.sending[channel].append((at, beat))
            for channel, queue in self.sending.items():
                port = getattr(dut, channel)
                due = bool(queue) and queue[0][0] <= self.cycle
                ctx.set(port.valid, due)
                if due:
                    fields = vars(queue[0][1])
                    data = {"data": int.from_bytes(fields["data"], "little")} if "data" in fields else {}
                    ctx.set(port.payload, fields | data)
            ctx.set(dut.req.ready, self.accepts)
            ctx.set(dut.orig_data.ready, self.accepts or self.to_come > 0)
            accepted = self.accepts and ctx.get(dut.req.valid)
            request = upli.Request(**_values(ctx, dut.req)) if accepted else None
            data = self.to_come > 0 or (accepted and request.cmd >> 5)
            assert not (self.to_come and data and accepted and request.cmd >> 5)
            assert ctx.get(dut.orig_data.valid & dut.orig_data.ready) == bool(data)
            if data:
                fields = _values(ctx, dut.orig_data)
                self.beats.append(upli.OrigDataBeat(**fields | {"data": fields["data"].to_bytes(64, "little")}))
                self.to_come = (self.to_come or request.num_beats + 1) - 1
            if accepted:
                self.requests.append(request)
                assert not upli.violations(request)
            if data and not self.to_come:
                self._respond(next(r for r in reversed(self.requests) if r.cmd >> 5), self.beats)
                self.written += self.beats
                self.beats = []
            if accepted and not request.cmd >> 5:
                self._respond(request, [])
            ready = {channel: ctx.get(getattr(dut, channel).ready) for channel in self.sending}
            await ctx.tick()
            self.cycle += 1
            for channel, queue in self.sending.items():
                if ready[channel] and queue and queue[0][0] < self.cycle:
                    queue.popleft()

    def _respond(self, request, beats):
        number = self.requests.index(request)
        at, late = self.cycle + DELAY, False
        for beat in self.spoil(number, self.completer.execute(request, beats)):
            if isinstance(beat, int):
                at, late = at + beat, True
                continue
            channel = "rd_rsp" if isinstance(beat, upli.RdRspBeat) else "wr_rsp"
            if late:
                self.later.append((at, channel, beat))
            else:
                self.sending[channel].append((at, beat))
            at += 1


def _values(ctx, port):
    payload = ctx.get(port.payload)
    return {name: int(getattr(payload, name)) for name, _ in port.payload.shape()}


def changed(beat, **fields):
    """``beat`` with other values of ``fields``."""
    return replace(beat, **fields)


__all__ = ["CHANNELS", "Partner", "changed"]
