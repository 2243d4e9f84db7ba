"""A data link of RTL whose partner is the executable model of a link end."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from support.tl.flits import tl_flit
from ualink.config import DLConfig
from ualink.dl.interface import LinkState
from ualink.dl.layer import DataLink
from ualink.phy.interface import SlotStatus, TxKind
from ualink_sim.model.dl.channel import ChannelControl
from ualink_sim.model.dl.link import LinkEnd
from ualink_sim.model.dl.messages import decode_message
from ualink_sim.model.dl.replay import ReplayReceiver, ReplayTransmitter

COUNT = 300
"""TL flits each way."""


class Pair:
    """The RTL and the model, joined flit by flit; ``fate(direction)`` is None, "lost" or "corrupt"."""

    def __init__(self, ctx, dut, rng, fate=None, latency=6):
        self.ctx, self.dut, self.rng = ctx, dut, rng
        self.fate = fate or (lambda direction: None)
        self.model = LinkEnd(ReplayTransmitter(depth=32), ReplayReceiver(rx_replay_limit=40))
        self.channels = ChannelControl()
        self.to_rtl: deque[bytes | str | None] = deque([None] * latency)
        self.up = False
        self.when_online: list[tuple[bytes, int]] = []
        self.to_send: deque[tuple[int, int]] = deque()
        self.sent: list[tuple[int, int]] = []
        self.received: list[tuple[int, int]] = []

    async def slot(self):
        """Ten cycles: a flit slot each way."""
        ctx, dut = self.ctx, self.dut
        incoming = self.to_rtl.popleft()
        status = SlotStatus.CONTROL if incoming is None else SlotStatus.GOOD
        fate = None if incoming is None else self.fate("to rtl")
        data = bytearray(incoming or bytes(640))
        if fate == "lost":
            status = SlotStatus.BAD
        elif fate == "corrupt":
            data[self.rng.randrange(640)] ^= 1 << self.rng.randrange(8)
        outgoing = b""
        ctx.set(dut.tx.ready, 1)
        for beat in range(10):
            ctx.set(dut.rx.valid, 1)
            ctx.set(dut.rx.p.data, int.from_bytes(data[64 * beat : 64 * beat + 64], "little"))
            ctx.set(dut.rx.p.first, beat == 0)
            ctx.set(dut.rx.p.last, beat == 9)
            ctx.set(dut.rx.p.status, status)
            ctx.set(dut.tx_flit.valid, bool(self.to_send))
            if self.to_send:
                ctx.set(dut.tx_flit.p, tl_flit(*self.to_send[0]))
                if ctx.get(dut.tx_flit.ready):
                    self.sent.append(self.to_send.popleft())
            if ctx.get(dut.rx_flit.valid):
                self.received.append((ctx.get(dut.rx_flit.p.data), ctx.get(dut.rx_flit.p.message)))
            if ctx.get(dut.tx.valid):
                outgoing += ctx.get(dut.tx.p.data).to_bytes(64, "little")
            kind = ctx.get(dut.tx.p.kind)
            await ctx.tick()
        await self._partner(outgoing, kind)

    async def _partner(self, outgoing, kind):
        if kind == TxKind.DATA and len(outgoing) == 640:
            self.up = True
            fate = self.fate("to model")
            if fate == "corrupt":
                outgoing = bytes([outgoing[0] ^ 1]) + outgoing[1:]
            self.model.receive_slot(None if fate == "lost" else outgoing)
            for dword in self.model.received_messages:
                self.model.messages.extend(m.encode() for m in self.channels.receive(decode_message(dword)))
            self.model.received_messages.clear()
            if self.channels.online(0):
                self.model.tl_flits.extend(self.when_online)
                self.when_online.clear()
        self.to_rtl.append(self.model.transmit_flit() if self.up else None)

    async def align(self):
        """Bring the slots of the transmit side to the ten cycles of ``slot``."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.config.enable, 1)
        ctx.set(dut.tx.ready, 1)
        while not (ctx.get(dut.tx.valid) and ctx.get(dut.tx.p.first)):
            await ctx.tick()

    def status(self, name):
        return self.ctx.get(getattr(self.dut.status, name))


def run(story, seed=0, **how):
    dut = DataLink(DLConfig(replay_depth=32, idle_flit_times=4, rx_replay_limit=40))

    async def bench(ctx):
        pair = Pair(ctx, dut, random.Random(seed), **how)
        await pair.align()
        await story(pair)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-001", "DL-002", "DL-011", "DL-018", "DL-034", "DL-035", "DL-067", "DL-119", "DL-126", "DL-132")
@pytest.mark.req("DL-133", "DL-135", "DL-139", "DL-161", "DL-164")
@pytest.mark.parametrize("loss", [0, 0.1])
def test_traffic_with_the_model(loss):
    rng = random.Random(7)

    def fate(direction):
        return rng.choice(["lost", "corrupt"]) if pair_is_online[0] and rng.random() < loss else None

    pair_is_online = [False]

    async def story(pair):
        for _ in range(60):
            await pair.slot()
        assert pair.status("online") and pair.channels.online(0)
        pair_is_online[0] = True
        to_rtl = [(rng.randbytes(64), rng.getrandbits(2)) for _ in range(COUNT)]
        pair.model.tl_flits.extend(to_rtl)
        pair.to_send.extend((rng.getrandbits(512), rng.getrandbits(2)) for _ in range(COUNT))
        for _ in range(COUNT):
            await pair.slot()
            if len(pair.received) == COUNT and len(pair.model.received_tl_flits) == COUNT:
                break
        assert pair.received == [(int.from_bytes(data, "little"), message) for data, message in to_rtl]
        got = [(int.from_bytes(data, "little"), message) for data, message in pair.model.received_tl_flits]
        assert got == pair.sent and len(got) == COUNT
        counters = pair.model.counters
        if loss:
            assert pair.status("replays_requested") and pair.status("replays_accepted")
            assert pair.status("flits_replayed") and counters["replayed_flits"]
        else:
            assert not counters["crc_errors"] + counters["header_errors"] + counters["replayed_flits"]
            assert not pair.status("dropped_flits") + pair.status("flits_replayed")

    run(story, fate=fate)


@pytest.mark.req("DL-074", "DL-075", "DL-076", "DL-080")
def test_flits_for_an_offline_channel():
    """They are dropped without report, and none is sent; decision pending keeps the channel offline."""

    async def story(pair):
        pair.ctx.set(pair.dut.config.channel_0_online, 0)
        for _ in range(30):
            await pair.slot()
        assert pair.status("link_state") == LinkState.UP
        pair.model.tl_flits.extend((bytes([n]) * 64, 0) for n in range(20))
        pair.model.messages.append(pair.channels.request(0, True).encode())
        pair.to_send.extend((n, 0) for n in range(5))
        for _ in range(30):
            await pair.slot()
        assert not pair.model.tl_flits
        assert pair.status("payload_flits_received") >= 3
        assert not pair.received and not pair.sent and not pair.model.received_tl_flits
        assert not pair.status("protocol_errors") and not pair.status("dropped_flits")
        assert pair.channels.channels[0].state.name == "BLOCK"
        pair.ctx.set(pair.dut.config.channel_0_online, 1)
        for _ in range(30):
            await pair.slot()
        assert pair.status("online") and pair.channels.online(0)
        assert len(pair.model.received_tl_flits) == 5

    run(story)


@pytest.mark.req("DL-067", "DL-075")
def test_flits_right_behind_the_confirming_ack():
    """TL flits in the very segment of the message that takes the channel online are not lost."""

    async def story(pair):
        pair.ctx.set(pair.dut.config.may_request_channels, 0)
        flits = [(bytes([n + 1]) * 64, 1) for n in range(8)]
        pair.when_online.extend(flits)
        for _ in range(30):
            await pair.slot()
        assert pair.status("link_state") == LinkState.UP and not pair.status("online")
        pair.model.messages.append(pair.channels.request(0, True).encode())
        for _ in range(30):
            await pair.slot()
        assert not pair.when_online
        assert pair.received == [(int.from_bytes(data, "little"), message) for data, message in flits]

    run(story)
