"""The engine inside of a pod's model, by itself: every rule that it checks is broken once and found."""

import errno
from dataclasses import replace

import pytest

from support.bfm.broken_rules import CASES
from support.sim.engine_interface import EngineInterface, compile_engine
from ualink_sim.request import Request, read_attr

OF_TRANSACTIONS = ("handler", "first", "originator", "completer")
"""Options of the bus models in Python; the engine has none."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_engine(tmp_path_factory.mktemp("engine"))


def _traffic(ports):
    """Reads and writes of one and four beats on every port, and atomics with and without a result."""
    requests = []
    for port in range(ports):
        for number in range(4):
            addr = 0x1000 * number + 0x100 * port
            data = bytes(range(256))
            for op, length in (("write", 256), ("read", 256), ("read", 4), ("atomic", 16), ("atomic_nr", 4)):
                enabled = (1 << length) - 1
                attr = read_attr(enabled, length) if op == "read" else 0
                common = {"line": len(requests) + 1, "src": 0, "dst": 0, "op": op, "addr": addr, "len": length}
                more = {"data": b"" if op == "read" else data[:length], "byte_en": enabled, "attr": attr}
                requests.append(Request(**common, **more))
    return requests


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_what_is_asked_is_done(library, monkeypatch, tmp_path, ports):
    requests = _traffic(ports)
    interface = EngineInterface(library, monkeypatch, tmp_path, requests, ports=ports)
    while interface.done < len(requests) and interface.cycle < 500:
        interface.step()
    found = interface.end()
    assert found.broken == ("", "", "") and found.cycle == interface.cycle < 500
    assert all(fate.status == "OKAY" and not fate.mismatch for fate in found.fates)
    assert all(fate.issued < fate.completed for fate in found.fates)
    # What a Write has left; the atomics behind it have added the same to 16 bytes, and then to four.
    for request, fate in zip(requests, found.fates):
        if request.op in ("read", "atomic"):
            assert fate.data == bytes(range(256))[: request.len]
    lines, blocks = found.memory[0], [0x1000 * number + 0x100 * port for number in range(4) for port in range(ports)]
    assert sorted(lines) == sorted(block + 64 * line for block in blocks for line in range(4))
    for block in blocks:
        assert list(lines[block][:17]) == [0, 3, 6, 9, *(2 * n for n in range(4, 16)), 16]
        assert lines[block + 0xC0] == bytes(range(192, 256))
    assert found.memory[1] == {}


@pytest.mark.parametrize(
    "rule, channel, hand, observer, ports, options",
    [case for case in CASES if case.values[3] == "agents" and not set(OF_TRANSACTIONS) & set(case.values[5])],
)
def test_broken_rule_is_found(library, monkeypatch, tmp_path, rule, channel, hand, observer, ports, options):
    done = []

    def once(wires, cycle):
        if not done and hand(wires, cycle):
            done.append(cycle)

    # With the last request, which is never issued, it does not stand still before a rule is broken.
    requests = _traffic(ports)
    requests.append(replace(requests[0], line=len(requests) + 1, window=0))
    interface = EngineInterface(library, monkeypatch, tmp_path, requests, ports=ports, hand=once)
    while not interface.failed and interface.cycle < 250:
        interface.step()
    broken_in = interface.cycle
    interface.step()
    found = interface.end()
    # Messages are commands that the engine does not know.
    assert found.broken[:2] == (("req", "command") if "message" in hand.__name__ else (channel, rule))
    assert found.cycle == broken_in, "it stands still"


def _once(channel, change):
    """A hand that calls ``change(wires, beat)`` on the first beat of ``channel``."""
    done = []

    def hand(wires, cycle):
        beat = wires.beat(channel)
        if not done and beat is not None:
            change(wires, beat)
            done.append(cycle)

    return hand


@pytest.mark.parametrize(
    "channel, change, told",
    [
        ("rd_rsp", {"data": 1 << 9}, "byte 0x1 is 03, not 01"),
        ("orig_data", {"data": 1 << 9}, "the Request's data arrived changed"),
        ("orig_data", {"byte_en": 1}, "the Request's data arrived changed"),
        ("req", {"attr": 1}, "the Request arrived with other attr"),
        ("req", {"auth_tag": 9, "meta_data": 3}, "the Request arrived with other auth_tag, meta_data"),
        ("wr_rsp", {"status": 3}, "status is DECODE_ERROR, not OKAY"),
        ("wr_rsp", {"auth_tag": 9}, "the Response arrived with another auth_tag"),
        ("rd_rsp", {"auth_tag": 9}, "the Response arrived with another auth_tag"),
    ],
)
def test_what_arrives_changed_is_told(library, monkeypatch, tmp_path, channel, change, told):
    def flip(wires, beat):
        wires.change(channel, **{name: beat[name] ^ mask for name, mask in change.items()})

    requests = _traffic(1)
    interface = EngineInterface(library, monkeypatch, tmp_path, requests, hand=_once(channel, flip))
    while interface.done < len(requests) and interface.cycle < 500:
        interface.step()
    # A Write comes first, then a Read.
    assert interface.end().fates[channel == "rd_rsp"].mismatch == told


def test_a_request_that_comes_to_another_is_told(library, monkeypatch, tmp_path):
    requests = [replace(request, dst=1) for request in _traffic(1)]
    interface = EngineInterface(library, monkeypatch, tmp_path, requests)
    while interface.done < len(requests) and interface.cycle < 500:
        interface.step()
    fates = interface.end().fates
    assert {fate.mismatch for fate in fates} == {"the Request arrived at accelerator 0"}


def test_a_request_that_comes_twice_is_told(library, monkeypatch, tmp_path):
    kept = []

    def twice(wires, cycle):
        beat = wires.beat("req")
        if beat is not None and beat["cmd"] == 3 and not kept:
            kept.append(beat)
        elif kept and beat is None and len(kept) == 1:
            wires.put("req", kept[0])
            kept.append(cycle)

    requests = _traffic(1)
    interface = EngineInterface(library, monkeypatch, tmp_path, requests, hand=twice)
    while not interface.failed and interface.cycle < 500:
        interface.step()
    found = interface.end()
    assert found.fates[1].mismatch == "the Request was executed twice"
    assert found.broken[:2] == ("req", "credit_return"), "nobody has spent the second's"


def test_a_request_that_nobody_has_sent_is_told(library, monkeypatch, tmp_path):
    hand = _once("req", lambda wires, beat: wires.change("req", tag=2000))
    interface = EngineInterface(library, monkeypatch, tmp_path, _traffic(1), hand=hand)
    while not interface.failed and interface.cycle < 500:
        interface.step()
    assert interface.end().broken == ("", "", "accelerator 0 received a Request that nobody has outstanding")


def test_a_capture_that_cannot_be_begun_is_told(library, monkeypatch, tmp_path):
    interface = EngineInterface(library, monkeypatch, tmp_path, _traffic(1), capture=tmp_path / "none" / "capture")
    interface.step()
    assert interface.end().capture_error == errno.ENOENT
