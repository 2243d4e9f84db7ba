"""Drives a Packer and an Unpacker in the simulator and records what goes in and out."""

import random
from collections import deque

from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.tl.flits import byte_parity, tl_flit, tl_flit_good
from ualink.dl.flit.packer import Packer
from ualink.dl.flit.unpacker import Unpacker
from ualink_sim.model.dl import packing as dl_packing

BEATS = 10


def random_flits(rng: random.Random, count: int) -> list[tuple[bytes, int]]:
    """TL flits of random bytes and message bits."""
    return [(rng.randbytes(64), rng.getrandbits(2)) for _ in range(count)]


def flit_payload(flit: tuple[bytes, int], error: bool = False) -> dict:
    """A TL flit as the stream carries it."""
    return tl_flit(int.from_bytes(flit[0], "little"), flit[1], int(error))


class PackerRun:
    """One run of a Packer.

    ``offer_flit``, ``offer_message``, ``accept``, ``online`` and ``ready`` are called with the number of the coming
    cycle; an offer once made stays until it is taken, as streams must. The packer hears
    ``accept`` of a cycle in the cycle before it. ``errors`` are numbers of TL flits to mark; the packer makes a beat in
    ``n`` cycles.

    Afterwards ``flits`` is one dict per DL flit: ``data`` (640 bytes), ``payload``, ``error``; ``ticks`` is one dict
    per beat made: ``flit`` on offer, ``message`` on offer, ``accept``, ``taken`` and ``cycle``.
    """

    def __init__(self, flits, messages=(), *, dl_flits, errors=(), n=1, **when):
        always = {"offer_flit": True, "offer_message": True, "accept": True, "online": True, "ready": True}
        self.when = {name: when.pop(name, lambda cycle, value=value: value) for name, value in always.items()}
        assert not when
        self.queue, self.messages, self.errors = deque(enumerate(flits)), deque(messages), frozenset(errors)
        self.wanted = dl_flits
        self.flits: list[dict] = []
        self.ticks: list[dict] = []
        self.beats: list = []
        self.beat_cycles: list[int] = []
        self.dut = Packer(n)
        self.n = n
        sim = Simulator(self.dut)
        sim.add_clock(1e-9)
        sim.add_testbench(self._bench)
        sim.run()

    def _accept(self, ctx, accept):
        ctx.set(self.dut.accept_one, accept)
        ctx.set(self.dut.accept_two, accept)

    async def _bench(self, ctx):
        dut = self.dut
        offers_flit = offers_message = False
        held = None
        accept = self.when["accept"](0)
        # The first beat is made in the second cycle after reset.
        self._accept(ctx, accept)
        await ctx.tick()
        for cycle in range(100_000):
            offers_flit = bool(self.queue) and (offers_flit or self.when["offer_flit"](cycle))
            offers_message = bool(self.messages) and (offers_message or self.when["offer_message"](cycle))
            ctx.set(dut.flit.valid, offers_flit)
            if offers_flit:
                number, flit = self.queue[0]
                ctx.set(dut.flit.p, flit_payload(flit, number in self.errors))
            ctx.set(dut.message.valid, offers_message)
            if offers_message:
                ctx.set(dut.message.payload, self.messages[0])
            online, ready = self.when["online"](cycle), self.when["ready"](cycle)
            accepted, accept = accept, self.when["accept"](cycle + 1)
            self._accept(ctx, accept)
            ctx.set(dut.channel_online, online)
            ctx.set(dut.beat.ready, ready)

            *_, valid, beat, flit_ready, message_ready = await ctx.tick().sample(
                dut.beat.valid, dut.beat.p, dut.flit.ready, dut.message.ready
            )
            assert held is None or (valid and held == beat), "an offered beat changed"
            held = beat if valid and not ready else None
            if (ready and valid) or (not valid and (self.n == 1 or not self.ticks)):
                self.ticks.append(
                    {
                        "flit": self.queue[0][1] if offers_flit and online else None,
                        "message": self.messages[0] if offers_message else None,
                        "accept": accepted,
                        "taken": bool(offers_flit and flit_ready),
                        "cycle": cycle,
                    }
                )
            else:
                assert not flit_ready and not message_ready
            if offers_flit and flit_ready:
                self.queue.popleft()
                offers_flit = False
            if offers_message and message_ready:
                self.messages.popleft()
                offers_message = False
            if valid and ready:
                self.beats.append(beat)
                self.beat_cycles.append(cycle)
                position = (len(self.beats) - 1) % BEATS
                assert (beat.first, beat.last) == (position == 0, position == BEATS - 1)
                assert beat.parity == byte_parity(beat.data)
                assert (beat.first + beat.last + beat.payload + beat.error + beat.control_parity) % 2 == 0
                if beat.last:
                    wire = b"".join(b.data.to_bytes(64, "little") for b in self.beats[-BEATS:])
                    self.flits.append({"data": wire, "payload": bool(beat.payload), "error": bool(beat.error)})
                    if len(self.flits) == self.wanted:
                        return
        raise AssertionError("the packer stopped")


def expected_flits(run: PackerRun, model: dl_packing.Packer | None = None):
    """What the model makes of the offers of each tick; each comes with the carry-over that it began with."""
    model = model or dl_packing.Packer()
    for n in range(len(run.flits)):
        ticks = run.ticks[BEATS * n : BEATS * n + BEATS]
        carry = len(model.carry_over)
        if not ticks[0]["accept"]:
            yield model.nop(), carry, 0
            continue
        # Where the first half is full, the model takes on the first tick what the hardware takes on the second.
        offers: list = []
        for tick in ticks:
            if tick["flit"] is not None and (not offers or offers[-1] is not tick["flit"]):
                offers.append(tick["flit"])
        queue = deque(offers)
        open_ticks = [t for t, tick in enumerate(ticks) if tick["flit"] is not None]
        packed = model.pack_queue(queue, [tick["message"] for tick in ticks[::2]], open_ticks)
        yield packed, carry, len(offers) - len(queue)


def compare(run: PackerRun):
    """Check every DL flit of ``run``; returns the model's flits with their first carry-over."""
    results = []
    for n, (packed, carry, taken) in enumerate(expected_flits(run)):
        assert run.flits[n]["data"] == packed.flit().encode()[:636] + bytes(4), f"DL flit {n}"
        assert run.flits[n]["payload"] == packed.payload, f"DL flit {n}"
        assert sum(tick["taken"] for tick in run.ticks[BEATS * n : BEATS * n + BEATS]) == taken, f"DL flit {n}"
        results.append((packed, carry))
    return results


def unpack(
    flits: list[bytes],
    *,
    gaps: random.Random | None = None,
    flush_at: int | None = None,
    bad_parity=(),
    n=1,
    flush_later=0,
):
    """Feed flits, 640 bytes or whole beats less, to an Unpacker, beats ``n`` cycles apart or more: with gaps now and
    then when ``gaps`` is given, with a flush beside beat ``flush_at`` or ``flush_later`` cycles after it, with wrong
    parity over the bytes ``bad_parity``, counted from the first flit's.

    Returns its events, ``("flit", cycle, bytes, message)``, ``("message", cycle, dword)``, ``("format_error", cycle)``,
    ``("fault", cycle)``, and the cycle of each beat.
    """
    dut = Unpacker(n)
    events: list[tuple] = []
    beat_cycles: list[int] = []

    async def bench(ctx):
        cycle = 0

        async def step():
            nonlocal cycle
            *_, flit_valid, flit, message_valid, message, format_error, fault = await ctx.tick().sample(
                dut.flit.valid, dut.flit.p, dut.message.valid, dut.message.payload, dut.format_error, dut.fault
            )
            if fault:
                events.append(("fault", cycle))
            if message_valid:
                events.append(("message", cycle, message))
            if flit_valid:
                assert not flit.error and (bad_parity or tl_flit_good(flit))
                events.append(("flit", cycle, flit.data.to_bytes(64, "little"), flit.message))
            if format_error:
                events.append(("format_error", cycle))
            cycle += 1

        anything = gaps or random.Random(n)

        async def gap(later=None):
            ctx.set(dut.beat.valid, 0)
            ctx.set(dut.flush, later == flush_later and flush_at == len(beat_cycles) - 1)
            ctx.set(dut.beat.p, {"data": anything.getrandbits(512), "parity": 0, "first": 1, "last": 1})
            await step()

        for flit in flits:
            for place in range(len(flit) // 64):
                while gaps is not None and gaps.random() < 0.3:
                    await gap()
                ctx.set(dut.beat.valid, 1)
                data = int.from_bytes(flit[64 * place : 64 * place + 64], "little")
                parity = byte_parity(data)
                parity ^= sum(1 << byte % 64 for byte in bad_parity if byte // 64 == len(beat_cycles))
                ctx.set(dut.beat.p, {"data": data, "parity": parity, "first": place == 0, "last": place == BEATS - 1})
                ctx.set(dut.flush, flush_at == len(beat_cycles) and not flush_later)
                beat_cycles.append(cycle)
                await step()
                for later in range(1, n):
                    await gap(later)
        ctx.set(dut.beat.valid, 0)
        for _ in range(3 * n):
            await step()

    m = Module()
    m.submodules.dut = dut
    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    return events, beat_cycles
