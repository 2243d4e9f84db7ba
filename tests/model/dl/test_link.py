"""Two link ends against each other over a lossy wire: nothing lost, doubled or out of order."""

import random
from collections import deque

import pytest

from ualink_sim.model.dl.flit import DLFlit
from ualink_sim.model.dl.header import decode_header
from ualink_sim.model.dl.link import LinkEnd
from ualink_sim.model.dl.replay import ReplayReceiver, ReplayTransmitter, Verdict


def link_end(limit, group=1, depth=64):
    return LinkEnd(ReplayTransmitter(depth=depth, group_flits=group), ReplayReceiver(limit))


def run(seed, flits, delay, limit, damage, group=1, depth=64, load=1.0):
    """Both ends send ``flits`` DL flits' worth of traffic; ``damage(rng, slot)`` is None, "lost" or "flip"."""
    rng = random.Random(seed)
    ends = [link_end(limit, group, depth), link_end(limit, group, depth)]
    wires = [deque([None] * delay) for _ in ends]
    sent_flits, sent_messages = ([], []), ([], [])
    for slot in range(20 * flits):
        busy = slot < flits
        if not busy and all(end.idle for end in ends):
            break
        for number, end in enumerate(ends):
            while busy and len(end.tl_flits) < 10 and rng.random() < load:
                end.tl_flits.append((rng.randbytes(64), rng.randrange(4)))
                sent_flits[number].append(end.tl_flits[-1])
            if busy and rng.random() < 0.1:
                end.messages.append(rng.getrandbits(32))
                sent_messages[number].append(end.messages[-1])
            wire = end.transmit_flit()
            fault = damage(rng, slot)
            if fault == "flip":
                broken = bytearray(wire)
                broken[rng.randrange(640)] ^= 1 << rng.randrange(8)
                wire = bytes(broken)
            wires[number].append(b"" if fault == "lost" else wire)
            arrived = wires[1 - number].popleft()
            if arrived is not None:
                end.receive_slot(arrived or None)
    for number, end in enumerate(ends):
        assert end.received_tl_flits == sent_flits[1 - number]
        assert end.received_messages == sent_messages[1 - number]
        assert end.idle and not end.unpacker.format_errors
    return ends


@pytest.mark.req("DL-001", "DL-003", "DL-119", "DL-124", "DL-125")
@pytest.mark.parametrize("load", [1.0, 0.3])
def test_clean_link(load):
    ends = run(1, 80, 5, 50, lambda rng, slot: None, load=load)
    for end in ends:
        assert end.counters["crc_errors"] == end.counters["lost_flits"] == end.counters["replayed_flits"] == 0
        assert end.counters["replay_requests"] == 0


DAMAGES = {
    "1% flips": lambda rng, slot: "flip" if rng.random() < 0.01 else None,
    "5% lost": lambda rng, slot: "lost" if rng.random() < 0.05 else None,
    "bursts of 9": lambda rng, slot: "flip" if slot % 60 < 9 else None,
}


@pytest.mark.req("DL-119", "DL-123", "DL-124", "DL-126", "DL-128", "DL-140", "DL-145", "DL-160", "DL-178", "DL-180")
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("delay", [1, 20])
def test_lossy_link(damage, delay):
    ends = run(delay, 150, delay, 4 * delay + 16, DAMAGES[damage])
    assert sum(end.counters["replayed_flits"] for end in ends) > 0
    assert sum(end.counters["replay_requests"] for end in ends) >= 3


@pytest.mark.req("DL-119", "DL-130", "DL-163")
def test_groups_of_four_lost_together():
    rng = random.Random(9)
    lost = {group for group in range(4000) if rng.random() < 0.03}
    run(4, 200, 8, 50, lambda rng, slot: "lost" if slot // 4 in lost else None, group=4)


@pytest.mark.req("DL-119", "DL-121", "DL-122", "DL-167")
def test_replay_buffer_smaller_than_the_round_trip():
    ends = run(5, 100, 10, 60, DAMAGES["5% lost"], depth=4)
    assert all(end.counters["payload_flits"] < end.counters["flits"] for end in ends)


@pytest.mark.req("DL-136", "DL-143", "DL-145", "DL-146", "DL-154")
@pytest.mark.parametrize("count", range(1, 10))
def test_every_run_of_losses_at_every_phase_of_the_cadence(count):
    for phase in range(7):
        left, right = link_end(50), link_end(50)
        sent = []
        for slot in range(60):
            if slot < 30:
                left.tl_flits.append((bytes([slot]) * 64, 1))
                sent.append(left.tl_flits[-1])
            wire = left.transmit_flit()
            right.receive_slot(None if phase <= slot - 3 < phase + count else wire)
            left.receive_slot(right.transmit_flit())
        assert right.received_tl_flits == sent


@pytest.mark.req("DL-143", "DL-145")
@pytest.mark.parametrize("count", range(1, 10))
def test_losses_at_the_wrap_of_sequence_numbers(count):
    for start in range(503, 512):
        left, right = link_end(50), link_end(50)
        left.transmitter.tx_last_seq = left.transmitter.rx_last_ack = right.receiver.rx_last_seq_calc = start
        sent = []
        for slot in range(60):
            if slot % 2 == 0 and slot < 30:
                left.tl_flits.append((bytes([slot]) * 64, 1))
                sent.append(left.tl_flits[-1])
            wire = left.transmit_flit()
            right.receive_slot(None if 4 <= slot < 4 + count else wire)
            left.receive_slot(right.transmit_flit())
        assert right.received_tl_flits == sent


def test_reserved_op_code_counts_as_a_bad_flit():
    end = link_end(50)
    assert end.receive_slot(DLFlit(header=0b1000 << 20).encode()) is Verdict.BAD
    assert end.counters["header_errors"] == 1 and end.receiver.rx_bad_crc_count == 1


@pytest.mark.req("DL-121", "DL-122")
def test_closed_intake_sends_nops_and_keeps_the_carry_over():
    end = link_end(50)
    end.tl_flits.extend([(bytes([n]) * 64, 0) for n in range(10)])
    end.transmit_flit()
    carry = list(end.packer.carry_over)
    assert len(carry) == 3
    end.accept = False
    assert not decode_header(DLFlit.decode(end.transmit_flit()).header).payload and end.packer.carry_over == carry
    end.link_down()
    assert not end.packer.carry_over and end.transmitter.tx_last_seq == 511
