"""Every rule of the link checker is broken once and found; where nothing is wrong nothing is found."""

import random
import re
from dataclasses import replace

import pytest

import support.bfm.dl.broken_flits
import support.bfm.dl.broken_messages
import support.bfm.dl.broken_replay  # noqa: F401  all three register their cases
from support.bfm.dl.breaking import CASES
from support.bfm.dl.fake_link import FakeLink, header_of, losing, rewrite
from ualink_sim.bfm.dl.rules import RULES, DLProtocolError
from ualink_sim.model.dl.header import ExplicitHeader

BY_THE_SIGNALS = {"known", "framing"}
"""Rules of the beat stream, which test_beats.py breaks."""


def _link(act=None, load=0.0, **how):
    link = FakeLink(**how)
    for end in (link.device, link.partner):
        end.channels.want[4] = True
    if act is not None:
        act(link)
    link.load = load
    return link


@pytest.mark.parametrize("rule, act, setting", CASES)
def test_broken_rule_is_found(rule, act, setting):
    link = _link(act, **setting)
    text, section, _ = RULES[rule]
    with pytest.raises(DLProtocolError, match=f": {rule}: {re.escape(text)} \\({section}\\)") as caught:
        link.step(400)
    assert caught.value.rule == rule


def test_every_rule_is_broken_somewhere():
    assert {case.values[0] for case in CASES} | BY_THE_SIGNALS == set(RULES)


def test_errors_can_be_gathered():
    found = []
    _, act, setting = next(case.values for case in CASES if case.values[0] == "crc")
    link = _link(act, on_error=found.append, **setting)
    link.step(100)
    assert [error.rule for error in found] == ["crc"]


@pytest.mark.req("DL-185")
@pytest.mark.parametrize("seed", range(3))
def test_op_of_later_flits_of_a_replay_is_free(seed):
    """Explicit flits within a replay marked original, as Figure 6-21 has them: neither checker nor receiver minds."""
    first = []
    changed = []

    def hand(link, slot):
        header = header_of(slot)
        if not isinstance(header, ExplicitHeader) or not header.replay or header.flit_seq_no in first:
            first.clear()
            return slot
        changed.append(header.flit_seq_no)
        return rewrite(slot, header=replace(header, replay=False))

    link = _link(None, 1.0, seed=seed, delay=10, hand=hand)
    receive = link.device.transmitter.receive

    def receiving(header):
        receive(header)
        if link.device.transmitter.tx_first_replay:
            first[:] = [seq for seq, _ in link.device.transmitter.tx_replay_buffer]

    link.device.transmitter.receive = receiving
    behind = losing(0.04)
    for _ in range(600):
        link.step()
        link.to_partner[-1] = behind(link, link.to_partner[-1])
    link.load = 0
    link.step(150)
    assert len(changed) > 10 and link.partner.counters["lost_flits"] > 5
    assert len(link.partner.delivered) > 500


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_found_where_nothing_is_wrong(seed):
    """Traffic, messages, channels that come and go, UART resets, faults and losses both ways."""
    rng = random.Random(seed)
    loss = rng.choice([0, 0.02, 0.1])
    link = _link(None, rng.choice([0.1, 1.0]), seed=seed, delay=rng.choice([1, 4, 10]), partner_hand=losing(loss))
    behind = losing(loss)
    device, partner = link.device, link.partner
    for time in range(700):
        for end in (device, partner):
            if rng.random() < 0.05:
                end.uart.write(time)
            if rng.random() < 0.02:
                rng.choice([end.ask_device_id, end.ask_port_number, lambda end=end: end.announce_rate(20_000)])()
            if rng.random() < 0.003:
                end.uart.start_reset()
            if rng.random() < 0.003:
                end.channels.want[rng.choice([0, 4])] ^= True
            if rng.random() < 0.001:
                end.local_fault = True
            if rng.random() < 0.04:
                end.local_fault = False
            end.uart.read()
        link.checker.show_fault(device.local_fault)
        link.step()
        if isinstance(link.to_partner[-1], bytes):
            link.to_partner[-1] = behind(link, link.to_partner[-1])
    assert device.counters["flits"] > 300
    assert not loss or device.counters["lost_flits"]
