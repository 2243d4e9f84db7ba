"""Two whole DLs of the model against each other: link states, channels, traffic over a wire that loses and corrupts."""

import random
from collections import deque

import pytest

from ualink_sim.model.dl.endpoint import CONTROL_FLIT, IDLE, LOST, REMOTE_FAULT, DLEndpoint
from ualink_sim.model.dl.flit import DLFlit, crc_ok
from ualink_sim.model.dl.header import decode_header
from ualink_sim.model.dl.link_state import LinkState
from ualink_sim.model.dl.messages import DeviceId, PortNumber
from ualink_sim.model.dl.replay import ReplayReceiver, ReplayTransmitter
from ualink_sim.model.dl.uart import UartEvent


class Link:
    """Two endpoints, ``delay`` flit times apart; ``fate(direction, slot)`` is None, "lost", "flip" or "control"."""

    def __init__(self, delay=3, fate=None, seed=0, limit=40, **transmitter):
        self.rng = random.Random(seed)
        self.fate = fate or (lambda direction, slot: None)
        self.ends = [
            DLEndpoint(transmitter=ReplayTransmitter(**transmitter), receiver=ReplayReceiver(limit), idle_flit_times=8)
            for _ in range(2)
        ]
        self.wires = [deque([None] * delay) for _ in range(2)]
        self.states = [[], []]
        self.history = [[], []]
        self.slots = 0

    def step(self, slots=1):
        for _ in range(slots):
            for number, end in enumerate(self.ends):
                slot = end.slot(self.wires[1 - number].popleft())
                self.history[number].append(slot)
                self.wires[number].append(self._damage(number, slot))
                if not self.states[number] or self.states[number][-1] is not end.link.state:
                    self.states[number].append(end.link.state)
            self.slots += 1

    def _damage(self, number, slot):
        fate = self.fate(number, self.slots)
        if fate == "lost":
            return LOST
        if fate == "control":
            return CONTROL_FLIT
        if fate == "flip" and isinstance(slot, bytes):
            broken = bytearray(slot)
            broken[self.rng.randrange(640)] ^= 1 << self.rng.randrange(8)
            return bytes(broken)
        return slot

    def bring_up(self):
        self.until(lambda: all(end.online for end in self.ends), 100)

    def until(self, condition, limit=2000):
        for _ in range(limit):
            if condition():
                return
            self.step()
        raise AssertionError(f"nothing came of it in {limit} flit times")


def exchange(link, count):
    sent = [[(link.rng.randbytes(64), link.rng.randrange(4)) for _ in range(count)] for _ in link.ends]
    for end, flits in zip(link.ends, sent):
        end.delivered.clear()
        for data, bits in flits:
            end.send(data, bits)
    link.until(lambda: all(len(end.delivered) >= count and end.idle for end in link.ends))
    assert link.ends[0].delivered == sent[1]
    assert link.ends[1].delivered == sent[0]


def test_bring_up_and_traffic():
    link = Link()
    link.bring_up()
    for states in link.states:
        assert states == [LinkState.IDLE, LinkState.NOP, LinkState.UP]
    exchange(link, 500)
    for end in link.ends:
        assert not end.counters["replayed_flits"] and not end.unpacker.format_errors


def test_ten_nops_before_the_first_payload():
    link = Link()
    link.bring_up()
    for history in link.history:
        flits = [decode_header(DLFlit.decode(slot).header) for slot in history if isinstance(slot, bytes)]
        assert not any(header.payload for header in flits[:10])


@pytest.mark.parametrize("seed", range(4))
def test_random_loss(seed):
    rng = random.Random(seed)
    rate = rng.choice([0.01, 0.05])

    def fate(direction, slot):
        return rng.choice(["lost", "flip"]) if slot > 80 and rng.random() < rate else None

    link = Link(delay=rng.randrange(1, 12), fate=fate, seed=seed, limit=60, group_flits=rng.choice([1, 2, 4]))
    link.bring_up()
    exchange(link, 2000)
    assert all(end.counters["replayed_flits"] for end in link.ends)


def test_faults_take_the_link_down_and_it_comes_back():
    link = Link()
    link.bring_up()
    left, right = link.ends
    left.local_fault = True
    link.step(10)
    assert link.history[0][-1] is REMOTE_FAULT and left.link.state is LinkState.FAULT
    assert link.history[1][-1] is IDLE and right.link.state is LinkState.FAULT
    left.local_fault = False
    link.bring_up()
    exchange(link, 50)


def test_a_partner_that_goes_silent_takes_the_link_down():
    link = Link()
    link.bring_up()
    left, right = link.ends
    left.contain()
    link.step(1)
    assert left.link.state is LinkState.IDLE and right.up
    link.until(lambda: right.link.state is LinkState.IDLE, 12)
    link.bring_up()
    exchange(link, 50)


def test_an_errored_flit_goes_out_with_inverted_crc_and_nothing_after_it():
    link = Link()
    link.bring_up()
    left, right = link.ends
    start = len(link.history[0])
    for n in range(30):
        left.send(bytes([n]) * 64, error=n == 15)
    link.step(6)
    slots = link.history[0][start:]
    assert crc_ok(slots[0]) and not crc_ok(slots[1]) and slots[2:] == [IDLE] * 4
    assert crc_ok(slots[1][:636] + bytes(b ^ 0xFF for b in slots[1][636:]))
    assert left.counters["containments"] == 1
    link.step(6)
    assert len(right.delivered) < 15


def test_forward_progress_time_out():
    link = Link(fate=lambda direction, slot: "lost" if direction == 1 and slot > 60 else None, tx_ack_time_out=100)
    link.bring_up()
    link.until(lambda: link.slots > 60)
    link.ends[0].send(bytes(64))
    link.step(90)
    assert link.ends[0].up
    link.until(lambda: not link.ends[0].up, 30)
    assert link.ends[0].counters["time_outs"] == 1


def test_nothing_is_sent_or_delivered_while_channel_0_is_offline():
    link = Link()
    left, right = link.ends
    left.channels.want[0] = False
    left.send(bytes(64))
    link.step(60)
    assert left.up and right.up and not left.online and not right.online
    assert not left.delivered and not right.delivered and left.tl_flits
    left.channels.want[0] = True
    link.bring_up()
    link.step(10)
    assert right.delivered == [(bytes(64), 0)]
    left.channels.want[0] = False
    link.until(lambda: not right.online)
    assert left.up and right.up


def test_firmware_asks_and_tells():
    link = Link()
    left, right = link.ends
    right.basic.device = DeviceId(id=77, type=1, valid=1)
    right.basic.port = PortNumber(port_number=5, valid=1)
    link.bring_up()
    left.ask_device_id()
    left.ask_port_number()
    right.announce_rate(15_625)
    link.step(12)
    assert (left.basic.partner_device.id, left.basic.partner_device.type, left.basic.partner_device.valid) == (77, 1, 1)
    assert (left.basic.partner_port.port_number, left.basic.partner_port.valid) == (5, 1)
    assert left.basic.partner_rate == 15_625
    assert not any(end.basic.errors for end in link.ends)


def test_a_slow_partner_gets_half_the_flits():
    link = Link()
    link.bring_up()
    link.ends[1].announce_rate(15_625)
    link.step(10)
    for n in range(1000):
        link.ends[0].send(bytes([n % 256]) * 64)
    link.step(100)
    assert 490 <= 1000 - len(link.ends[0].tl_flits) <= 501


@pytest.mark.parametrize("loss", [0, 0.03])
def test_uart_stream(loss):
    link = Link(fate=lambda direction, slot: "lost" if slot > 80 and link.rng.random() < loss else None, limit=40)
    left, right = link.ends
    left.channels.want[4] = right.channels.want[4] = True
    link.until(lambda: all(end.channels.online(4) and end.online for end in link.ends), 200)
    link.step(60)
    words, got = [link.rng.getrandbits(32) for _ in range(600)], []
    pending = deque(words)
    for _ in range(3000):
        while pending and left.uart.write(pending[0]):
            pending.popleft()
        if link.rng.random() < 0.5 and (dword := right.uart.read()) is not None:
            got.append(dword)
        link.step()
        if len(got) == len(words):
            break
    assert got == words
    assert not left.uart.events and not right.uart.events
    left.uart.start_reset()
    link.until(lambda: UartEvent.RESET_DONE in left.uart.events, 100)
    assert UartEvent.RESET_RECEIVED in right.uart.events
    link.step(30)
    assert left.uart.write(7)
    link.until(lambda: right.uart.read() == 7, 100)
