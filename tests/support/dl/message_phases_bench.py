"""Two message services on a wire, with firmwares that write and judge, all in hardware: a test only sets events.

``Pair`` is fast enough to begin an exchange anew for each cycle in which a neighbouring event may fall.
"""

from dataclasses import replace

from amaranth.hdl import Elaboratable, Module, Mux, ResetInserter, Signal
from amaranth.sim import Simulator

from ualink.config import DLConfig
from ualink.dl.message_service import MessageService

__all__ = ["Pair", "Stage", "simulate"]

PACE = 2
"""Cycles per dword on the wire: segments take two or more."""


class Side:
    """One end: ``service``, its settings ``config`` and ``status``, and what its firmware counts.

    ``write``, ``read`` : the firmware writes the next word, reads; ``got``, ``misplaced``: words read since ``clear``,
    those of them that were not the successor of the one before; ``doubled``: words that did not come later than the
    one before, since the start. ``flush`` : the link is down.
    """

    def __init__(self, name, dl_config):
        self.service = MessageService(dl_config)
        self.config, self.status = self.service.config, self.service.status
        self.write = Signal(name=f"{name}_write")
        self.read = Signal(name=f"{name}_read", init=1)
        self.clear = Signal(name=f"{name}_clear")
        self.flush = Signal(name=f"{name}_flush")
        self.written = Signal(24, name=f"{name}_written", init=1)
        self.latest = Signal(24, name=f"{name}_latest")
        self.got = Signal(8, name=f"{name}_got")
        self.misplaced = Signal(8, name=f"{name}_misplaced")
        self.doubled = Signal(8, name=f"{name}_doubled")
        self.overflows = Signal(8, name=f"{name}_overflows")
        self.errors = Signal(8, name=f"{name}_errors")
        self.requests = Signal(8, name=f"{name}_requests")
        self.all_streams = Signal(8, name=f"{name}_all_streams")
        self.responses = Signal(8, name=f"{name}_responses")


class Pair(Elaboratable):
    """Sides ``a`` and ``b``, ``delay`` cycles apart. A wire is empty as long as an end of it is flushed."""

    def __init__(self, delay=5, buffers=8):
        dl_config = replace(DLConfig(), uart_tx_dwords=buffers, uart_rx_dwords=buffers)
        self.a, self.b = Side("a", dl_config), Side("b", dl_config)
        self.start = Signal()
        self._delay = delay

    def elaborate(self, platform):
        m = Module()
        inner = Module()
        turn = Signal(range(PACE))
        inner.d.sync += turn.eq(Mux(turn == PACE - 1, 0, turn + 1))
        go = turn == 0
        for side in (self.a, self.b):
            inner.submodules += side.service
            inner.d.comb += [
                side.service.flush.eq(side.flush),
                side.service.slot_end.eq(go),
                side.service.flit_sent.eq(go),
                side.service.message.ready.eq(go),
            ]
            self._firmware(inner, side)
        down = self.a.flush | self.b.flush
        for sender, receiver in ((self.a, self.b), (self.b, self.a)):
            dword, valid = sender.service.message.payload, sender.service.message.valid & go & ~down
            for _ in range(self._delay):
                next_dword, next_valid = Signal(32), Signal()
                inner.d.sync += [next_dword.eq(dword), next_valid.eq(valid & ~down)]
                dword, valid = next_dword, next_valid
            inner.d.comb += [receiver.service.received.payload.eq(dword), receiver.service.received.valid.eq(valid)]
            self._watch(inner, sender)
        m.submodules.inner = ResetInserter(self.start)(inner)
        return m

    def _firmware(self, m, side):
        tx, rx = side.service.uart_tx, side.service.uart_rx
        m.d.comb += [tx.valid.eq(side.write), tx.payload.eq(side.written), rx.ready.eq(side.read)]
        with m.If(tx.valid & tx.ready):
            m.d.sync += side.written.eq(side.written + 1)
        with m.If(rx.valid & rx.ready & (rx.payload != 0)):
            m.d.sync += [side.latest.eq(rx.payload), side.got.eq(side.got + 1)]
            with m.If(rx.payload != side.latest + 1):
                m.d.sync += side.misplaced.eq(side.misplaced + 1)
            with m.If(rx.payload <= side.latest):
                m.d.sync += side.doubled.eq(side.doubled + 1)
        with m.If(side.clear):
            m.d.sync += [side.got.eq(0), side.misplaced.eq(0)]
        for count, pulse in (
            (side.overflows, side.status.uart_overflow),
            (side.errors, side.status.uart_protocol_error | side.service.protocol_error | side.service.unknown),
        ):
            with m.If(pulse & ~count.all()):
                m.d.sync += count.eq(count + 1)

    def _watch(self, m, side):
        """Count the messages of the reset that leave: the payload of these tests never looks like one."""
        message = side.service.message
        with m.If(message.valid & message.ready):
            with m.If((message.payload & 0xFFFF_EFFF) == 0x0000_0184):
                m.d.sync += [
                    side.requests.eq(side.requests + 1),
                    side.all_streams.eq(side.all_streams + message.payload[12]),
                ]
            with m.If((message.payload & 0xFFFF_EFFF) == 0x0000_01C4):
                m.d.sync += side.responses.eq(side.responses + 1)


class Stage:
    """The pair in a simulation: events by name, and what it must come to."""

    def __init__(self, ctx, pair):
        self.ctx, self.pair = ctx, pair
        self.sides = pair.a, pair.b

    def set(self, who, **values):
        side = self.sides[who]
        for name, value in values.items():
            self.ctx.set(getattr(side, name) if hasattr(side, name) else getattr(side.config, name), value)

    def seen(self, name):
        return [
            self.ctx.get(getattr(side, name) if hasattr(side, name) else getattr(side.status, name))
            for side in self.sides
        ]

    async def cycles(self, count):
        await self.ctx.tick().repeat(count) if count else None

    async def begin(self, time_out=0, online=True):
        self.ctx.set(self.pair.start, 1)
        for n in (0, 1):
            self.set(n, write=0, read=1, clear=0, flush=0, uart_reset=0, uart_reset_all=0, channel_time_out=time_out)
            self.set(n, channel_0_online=0, channel_4_online=online, may_request_channels=1)
        await self.cycles(1)
        self.ctx.set(self.pair.start, 0)
        await self.cycles(60 if online else 0)

    async def works(self):
        """From here on every word that is written arrives, once and in order: it tells what is wrong."""
        for n in (0, 1):
            self.set(n, write=0, read=1)
        await self.cycles(90)
        for n in (0, 1):
            self.set(n, clear=1, write=1)
        first = self.seen("written")
        await self.cycles(1)
        for n in (0, 1):
            self.set(n, clear=0)
        # The first word may well be the successor of none.
        await self.cycles(60)
        for n in (0, 1):
            self.set(n, write=0)
        await self.cycles(50)
        written = [now - then for now, then in zip(self.seen("written"), first)]
        got, misplaced = self.seen("got"), self.seen("misplaced")
        wrong = []
        if self.seen("uart_resetting") != [0, 0]:
            wrong.append("resetting")
        if got != written[::-1] or min(got) < 10:
            wrong.append(f"wrote {written} got {got}")
        if max(misplaced) > 1 or any(self.seen("doubled")):
            wrong.append(f"misplaced {misplaced} doubled {self.seen('doubled')}")
        if any(self.seen("overflows")):
            wrong.append("overflow")
        if any(self.seen("errors")):
            wrong.append(f"errors {self.seen('errors')}")
        return wrong


def simulate(play, **how):
    """Run ``await play(stage)``."""
    pair = Pair(**how)

    async def bench(ctx):
        await play(Stage(ctx, pair))

    sim = Simulator(pair)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
