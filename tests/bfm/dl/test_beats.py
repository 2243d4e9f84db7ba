"""The beats of a slot on signals: what is sent is read, and what is no slot is found."""

import random

import pytest

from ualink_sim.bfm.dl.beats import BeatReceiver, BeatSender, DLBus
from ualink_sim.bfm.dl.rules import DLProtocolError
from ualink_sim.model.dl.endpoint import CONTROL_FLIT, IDLE, LOST, REMOTE_FAULT


class Signal:
    """A signal without a simulator."""

    def __init__(self, name="", value=0):
        self._name = name
        self._number = value

    @property
    def value(self):
        return self._number if isinstance(self._number, str) else f"{self._number:b}"

    @value.setter
    def value(self, number):
        self._number = number


def _beat(data=0, port=0, first=0, last=0, code=0):
    return data | (port | first << 2 | last << 3 | code << 4) << 512


def test_what_is_sent_is_received():
    rng = random.Random(1)
    valid, payload = Signal(), Signal()
    sender = BeatSender(valid, payload, gap=lambda: rng.choice((0, 0, 3)), port=2)
    receiver = BeatReceiver(valid, None, payload, incoming=True, port=2)
    elsewhere = BeatReceiver(valid, None, payload, incoming=True, port=1)
    slots = [rng.randbytes(640), LOST, CONTROL_FLIT, rng.randbytes(640)]
    given, got = [], []
    for slot in slots:
        sender.load(slot)
        while not sender.free:
            given.append(sender.tick())
            got.append(receiver.tick())
            assert elsewhere.tick() is None
    assert [slot for slot in given if slot is not None] == slots == [slot for slot in got if slot is not None]
    assert [slot is None for slot in given] == [slot is None for slot in got]


def _receive(*beats):
    valid, ready, payload = Signal("tx__valid", 1), Signal("tx__ready", 1), Signal("tx__payload")
    receiver, slots = BeatReceiver(valid, ready, payload), []
    for beat in beats:
        payload.value = beat
        slots.append(receiver.tick())
    return slots


def _slot(kind=0):
    return [_beat(first=n == 0, last=n == 9, code=kind) for n in range(10)]


@pytest.mark.parametrize("kind, slot", [(0, bytes(640)), (1, IDLE), (2, REMOTE_FAULT)])
def test_kinds_of_transmitted_slots(kind, slot):
    assert _receive(*_slot(kind), *_slot(kind)) == ([None] * 9 + [slot]) * 2


def _changed(place, beat):
    beats = _slot()
    beats[place] = beat
    return beats


BROKEN = {
    "no first": _changed(0, _beat()),
    "second first": _changed(4, _beat(first=1)),
    "early last": _changed(4, _beat(last=1)),
    "no last": _changed(9, _beat()),
    "another kind": _changed(4, _beat(code=1)),
    "reserved kind": _slot(3),
}


@pytest.mark.parametrize("beats", BROKEN.values(), ids=BROKEN)
def test_broken_framing_is_found(beats):
    with pytest.raises(DLProtocolError, match="framing"):
        _receive(*beats)


def test_unknown_values_are_named():
    with pytest.raises(DLProtocolError, match=r"known: .*tx__payload is 0X1"):
        _receive("0X1")


def test_signals_are_found_by_name():
    class Device:
        def __getattr__(self, name):
            return name

    assert DLBus.from_prefix(Device(), "rs").tx_payload == "rs__tx__payload"
    assert DLBus.from_prefix(Device()).remote_fault == "remote_fault"
    bus = DLBus.from_names(Device(), lambda path: f"dl_{path.replace('.', '_')}_i")
    assert bus.rx_valid == "dl_rx_valid_i"
