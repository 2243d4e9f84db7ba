"""Two data links on a simulated wire: latency, lost slots, corrupted beats, stalls, and the TL flits at both ends."""

import functools
import random
from collections import deque
from collections.abc import Container
from dataclasses import dataclass, field

import pytest
from amaranth.hdl import Module

from support.shared_simulator import SharedSimulator
from support.tl.flits import tl_flit, tl_flit_good
from support.upsets import Place, collect
from ualink.config import DLConfig
from ualink.dl.layer import DataLink
from ualink.phy.interface import SlotStatus, TxKind

CONFIG = DLConfig(replay_depth=16, idle_flit_times=4)


@dataclass
class Slot:
    """A flit slot as it was sent: what and when, and the 640 bytes."""

    kind: int
    start: int
    data: bytearray = field(default_factory=bytearray)

    @property
    def header(self) -> int:
        """Flit header, 24 bits."""
        return int.from_bytes(self.data[624:627], "little")


class End:
    """One data link with its TL: ``to_send`` is taken from the front, ``slots`` keeps what went to the wire.

    ``error`` marks the TL flits that are offered from now on. ``received`` has what came unmarked, and ``marked``
    counts the others since it was last cleared. The wire takes a beat with probability ``ready``, and none in the
    cycles of ``stalls``.
    """

    def __init__(self, name: str, link: DataLink):
        self.name = name
        self.link = link
        self.to_send: deque[tuple[int, int]] = deque()
        self.sent: list[tuple[int, int]] = []
        self.received: list[tuple[int, int]] = []
        self.offer = 1.0
        self.ready = 1.0
        self.stalls: Container[int] = ()
        self.local_fault = 0
        self.error = 0
        self.marked = 0
        self.slots: list[Slot] = []
        self.wire: deque = deque()
        self.offering = False
        self.slot_fate = None

    def status(self, ctx, name: str) -> int:
        """A member of ``status`` as an integer."""
        return ctx.get(getattr(self.link.status, name))

    def withdraw(self, ctx):
        """Take back the TL flit on offer, as a TL does that starts anew."""
        self.offering = False
        ctx.set(self.link.tx_flit.valid, 0)


class _Links:
    """Two data links in one simulator, in which each bench finds them as they are after reset."""

    def __init__(self, config: DLConfig):
        self.ends = DataLink(config), DataLink(config)

    @functools.cached_property
    def places(self) -> list[Place]:
        """The registers and memories of both."""
        return [*self._collected[1], *self._collected[2]]

    @functools.cached_property
    def _collected(self):
        m = Module()
        m.submodules.a, m.submodules.b = self.ends
        return collect(m)

    @functools.cached_property
    def _simulator(self) -> SharedSimulator:
        return SharedSimulator(self._collected[0])

    def run(self, bench) -> None:
        """Run ``await bench(ctx)``."""
        self._simulator.run(lambda ctx, _: bench(ctx))


_links = functools.cache(_Links)
DATA_LINKS = pytest.mark.xdist_group("data_links")
"""Tests that use ``Bench`` carry it, so that one worker of a parallel run makes their simulators."""


class Bench:
    """Clocks two ends, ``a`` and ``b``; ``fate(end, slot_number)`` is None, "lost", "corrupt" or "control".

    Benches of the same ``config`` use the same two links, one after the other.
    """

    def __init__(self, *, latency=20, seed=0, config=CONFIG, fate=None, control=None):
        self.rng = random.Random(seed)
        self.latency = latency
        self.fate = fate or (lambda end, number: None)
        self._links = _links(config)
        self.a, self.b = (End(name, link) for name, link in zip("ab", self._links.ends))
        self.ends = (self.a, self.b)
        self.control = {"enable": 1, **(control or {})}
        self.cycle = 0
        self.most_held = {"a": 0, "b": 0}

    @property
    def places(self) -> list[Place]:
        """The registers and memories of both ends."""
        return self._links.places

    def run(self, story):
        """Simulate ``story(self, ctx)``, an async function that calls ``step``."""

        async def bench(ctx):
            for end in self.ends:
                for name, value in self.control.items():
                    ctx.set(getattr(end.link.config, name), value)
            await story(self, ctx)

        self._links.run(bench)

    async def step(self, ctx, cycles=1):
        """Let ``cycles`` cycles pass."""
        for _ in range(cycles):
            for end, other in (self.ends, self.ends[::-1]):
                self._drive(ctx, end, other)
            for end in self.ends:
                self._watch(ctx, end)
            await ctx.tick()
            self.cycle += 1

    async def until(self, ctx, condition, limit=4000):
        """Step until ``condition()``; fail after ``limit`` cycles."""
        for _ in range(limit):
            if condition():
                return
            await self.step(ctx)
        raise AssertionError(f"nothing came of it in {limit} cycles")

    async def bring_up(self, ctx):
        """Until both channels are online at both ends."""
        await self.until(ctx, lambda: all(end.status(ctx, "online") for end in self.ends))

    async def exchange(self, ctx, flits, limit=4000):
        """Send ``flits`` random TL flits each way and check that they arrive, once and in order."""
        for end in self.ends:
            end.sent.clear()
            end.received.clear()
            end.to_send.extend((self.rng.getrandbits(512), self.rng.getrandbits(2)) for _ in range(flits))
        await self.until(ctx, lambda: all(len(end.received) >= flits for end in self.ends), limit)
        await self.step(ctx, 40)
        assert self.a.received == self.b.sent
        assert self.b.received == self.a.sent

    def _drive(self, ctx, end, other):
        link = end.link
        ctx.set(link.tx.ready, self.rng.random() < end.ready and self.cycle not in end.stalls)
        ctx.set(link.local_fault, end.local_fault)
        self._offer(ctx, end)
        valid = bool(other.wire) and other.wire[0][0] <= self.cycle
        ctx.set(link.rx.valid, valid)
        if valid:
            _, data, first, last, status, remote_fault = other.wire.popleft()
            ctx.set(link.rx.p.data, data)
            ctx.set(link.rx.p.first, first)
            ctx.set(link.rx.p.last, last)
            ctx.set(link.rx.p.status, status)
            ctx.set(link.remote_fault, remote_fault and not end.local_fault)

    def _offer(self, ctx, end):
        link = end.link
        if not end.offering and end.to_send and self.rng.random() < end.offer:
            end.offering = True
            ctx.set(link.tx_flit.p, tl_flit(*end.to_send[0], end.error))
        ctx.set(link.tx_flit.valid, end.offering)

    def _watch(self, ctx, end):
        link = end.link
        if end.offering and ctx.get(link.tx_flit.ready):
            end.sent.append(end.to_send.popleft())
            end.offering = False
        if ctx.get(link.rx_flit.valid):
            flit = ctx.get(link.rx_flit.p)
            if flit.error:
                end.marked += 1
            else:
                assert tl_flit_good(flit) and not end.marked, "a bad TL flit came unmarked, or one after a marked one"
                end.received.append((flit.data, flit.message))
        if ctx.get(link.tx.valid) and ctx.get(link.tx.ready):
            self._send(ctx, end)

    def _send(self, ctx, end):
        beat = ctx.get(end.link.tx.payload)
        kind = ctx.get(beat.kind) if hasattr(beat.kind, "shape") else beat.kind
        if beat.first:
            end.slots.append(Slot(kind.value, self.cycle))
            self.most_held[end.name] = max(self.most_held[end.name], end.status(ctx, "held"))
            end.slot_fate = self.fate(end, len(end.slots) - 1)
        slot = end.slots[-1]
        assert (slot.kind == kind.value) and bool(beat.first) == (not slot.data)
        slot.data += beat.data.to_bytes(64, "little")
        assert bool(beat.last) == (len(slot.data) == 640)
        data, status = beat.data, SlotStatus.GOOD
        if kind != TxKind.DATA or end.slot_fate == "control":
            status = SlotStatus.CONTROL
        elif end.slot_fate == "lost":
            data, status = 0, SlotStatus.BAD
        elif end.slot_fate == "corrupt" and len(slot.data) == 64 * (len(end.slots) % 10 + 1):
            data ^= 1 << self.rng.randrange(512)
        remote_fault = kind == TxKind.REMOTE_FAULT
        end.wire.append((self.cycle + self.latency, data, beat.first, beat.last, status, remote_fault))
