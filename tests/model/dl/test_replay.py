"""Replay registers and rules, one by one."""

import pytest

from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.replay import ReplayReceiver, ReplayTransmitter, Verdict
from ualink_sim.model.dl.sequence import next_seq, seq_advance


def explicit(seq, payload=True, replay=False):
    return ExplicitHeader(payload, replay, seq)


def ack(ack_req_seq, lo=0, payload=True):
    return CommandHeader(payload, False, ack_req_seq, lo)


def request(ack_req_seq, lo=0):
    return CommandHeader(False, True, ack_req_seq, lo)


def state(receiver):
    return {name: value for name, value in vars(receiver).items() if name.startswith("rx_")}


@pytest.mark.req("DL-135", "DL-138")
def test_receive_registers_at_reset():
    assert state(ReplayReceiver()) == {
        "rx_seq_calc": 0x1FF,
        "rx_last_seq_calc": 0x1FF,
        "rx_bad_crc_count": 0,
        "rx_unexpected_count": 0,
        "rx_replay_limit": 50,
        "rx_ambiguous": False,
        "rx_replay": False,
    }
    assert ReplayTransmitter().rx_last_ack == 0x1FF and ReplayTransmitter().rx_replay_ignore_count == 0


@pytest.mark.req("DL-139", "DL-142")
def test_transmit_registers_at_reset():
    transmitter = ReplayTransmitter()
    assert (transmitter.tx_replay_req_seq_no, transmitter.tx_replay_req_count) == (0, 0)
    assert (transmitter.tx_last_seq, transmitter.tx_explicit_count) == (0x1FF, 7)
    assert not transmitter.tx_replay and not transmitter.tx_first_replay
    assert (transmitter.tx_ack_counter, transmitter.tx_ack_time_out) == (0, 40_000)


@pytest.mark.req("DL-131", "DL-141", "DL-143", "DL-161", "DL-164")
def test_cadence_and_numbers():
    transmitter = ReplayTransmitter()
    headers = [transmitter.transmit(300, "x" if n % 3 else None).header for n in range(28)]
    assert [isinstance(header, ExplicitHeader) for header in headers] == [n % 7 == 6 for n in range(28)]
    seq = 511
    for n, header in enumerate(headers):
        if n % 3:
            seq = next_seq(seq)
        assert header.payload == bool(n % 3)
        if isinstance(header, ExplicitHeader):
            assert header == explicit(seq, bool(n % 3))
        else:
            assert header == ack(300, seq & 7, bool(n % 3))


def receiver_at(last, **registers):
    receiver = ReplayReceiver()
    receiver.rx_last_seq_calc = last
    for name, value in registers.items():
        setattr(receiver, name, value)
    return receiver


CLEAR = {"rx_unexpected_count": 0, "rx_replay": False, "rx_ambiguous": False, "rx_bad_crc_count": 0}
DIRTY = {"rx_unexpected_count": 3, "rx_bad_crc_count": 2}


@pytest.mark.req("DL-124", "DL-136", "DL-152", "DL-153")
@pytest.mark.parametrize("last", [1, 8, 255, 504, 510, 511])
def test_expected_flits_are_accepted(last):
    after = next_seq(last)
    for header, registers in (
        (explicit(after), {}),
        (explicit(after, replay=True), {"rx_replay": True, "rx_ambiguous": True}),
        (explicit(last, payload=False), {"rx_replay": True}),
        (explicit(after), {"rx_ambiguous": True}),
        (ack(1, after & 7), {}),
        (request(1, last & 7), {}),
        (ack(1, last & 7, payload=False), {}),
    ):
        receiver = receiver_at(last, **DIRTY, **registers)
        assert receiver.receive(header) is Verdict.ACCEPT
        assert receiver.rx_last_seq_calc == receiver.rx_seq_calc == (after if header.payload else last)
        assert state(receiver).items() >= CLEAR.items() and not receiver.request_replay


@pytest.mark.req("DL-124", "DL-154", "DL-156")
def test_unexpected_flits_ask_for_a_replay():
    for header in (explicit(12), explicit(10), explicit(11, payload=False), ack(1, 4), ack(1, 3, payload=False)):
        receiver = receiver_at(10, **DIRTY)
        assert receiver.receive(header) is Verdict.UNEXPECTED
        assert receiver.request_replay and receiver.rx_replay and receiver.rx_unexpected_count == 0
        assert receiver.rx_last_seq_calc == 10 and receiver.rx_bad_crc_count == 2
    receiver = receiver_at(10, rx_ambiguous=True)
    assert receiver.receive(explicit(18)) is Verdict.UNEXPECTED and receiver.rx_ambiguous


@pytest.mark.req("DL-147", "DL-151", "DL-156")
def test_reserved_numbers_are_dropped():
    for registers in ({}, {"rx_replay": True}, {"rx_ambiguous": True}):
        receiver = receiver_at(511, **registers)
        before = state(receiver)
        assert receiver.receive(explicit(0)) is Verdict.ZERO_SEQ
        assert receiver.receive(ack(0, 1)) is Verdict.ZERO_ACK
        assert state(receiver) == before and not receiver.request_replay


@pytest.mark.req("DL-152", "DL-156")
def test_ambiguous_receiver_waits_for_an_explicit_flit():
    receiver = receiver_at(10, rx_ambiguous=True)
    assert receiver.receive(ack(1, 3)) is Verdict.AMBIGUOUS
    assert not receiver.rx_replay and receiver.rx_unexpected_count == 0
    assert receiver.receive(explicit(11)) is Verdict.ACCEPT


@pytest.mark.req("DL-152", "DL-155", "DL-156")
@pytest.mark.parametrize("ambiguous", [False, True])
def test_replay_limit(ambiguous):
    receiver = receiver_at(10, rx_replay=True, rx_ambiguous=ambiguous, rx_bad_crc_count=2, rx_replay_limit=4)
    for count in (1, 2):
        assert receiver.receive(ack(1, 3)) is Verdict.WAITING
        assert receiver.rx_unexpected_count == count and not receiver.request_replay
    assert receiver.receive(explicit(12)) is Verdict.WAITING
    assert receiver.rx_unexpected_count == 2, "an explicit flit is dropped without counting"
    assert receiver.receive(None) is Verdict.BAD and receiver.rx_unexpected_count == 3
    assert receiver.receive(ack(1, 3)) is Verdict.WAITING
    assert receiver.request_replay and receiver.rx_bad_crc_count == 0 and receiver.rx_unexpected_count == 0
    literal = ReplayReceiver(rx_replay_limit=1, clear_unexpected_at_limit=False)
    literal.rx_replay = True
    for count in (1, 2):
        literal.receive(ack(1, 3))
        assert literal.request_replay and literal.rx_unexpected_count == count


@pytest.mark.req("DL-131", "DL-137", "DL-146")
def test_bad_flits():
    receiver = receiver_at(10)
    for count in range(1, 12):
        assert receiver.receive(None) is Verdict.BAD
        assert receiver.rx_bad_crc_count == min(count, 7)
        assert receiver.rx_ambiguous == (count >= 7)
        assert receiver.rx_unexpected_count == 0 and receiver.rx_last_seq_calc == 10
    receiver.rx_replay = True
    for count in range(1, 300):
        receiver.receive(None)
        assert receiver.rx_unexpected_count == min(count, 0xFF) and not receiver.request_replay


@pytest.mark.req("DL-131", "DL-136", "DL-146")
def test_nop_after_seven_lost_flits_across_the_wrap():
    """The number aliases to the last accepted one; only Rx_ambiguous keeps the flit out."""
    for last in range(500, 512):
        receiver = receiver_at(last)
        for _ in range(7):
            receiver.receive(None)
        lost = seq_advance(last, 7)
        assert receiver.receive(ack(1, lost & 7, payload=False)) is Verdict.AMBIGUOUS
        assert receiver.receive(explicit(lost, payload=False)) is Verdict.UNEXPECTED


def filled(first, last, **arguments):
    """A transmitter that holds flits ``first`` to ``last``; Rx_last_ack is the number before."""
    transmitter = ReplayTransmitter(**arguments)
    transmitter.tx_last_seq = transmitter.rx_last_ack = seq_advance(first, -1)
    seq = transmitter.tx_last_seq
    while seq != last:
        seq = next_seq(seq)
        transmitter.transmit(511, f"flit {seq}")
    return transmitter


def held(transmitter):
    return [seq for seq, _ in transmitter.tx_replay_buffer]


@pytest.mark.req("DL-119", "DL-125", "DL-150")
def test_legal_acks():
    for number in range(1, 512):
        transmitter = filled(5, 9)
        transmitter.receive(ack(number))
        if 4 <= number <= 9:
            assert held(transmitter) == list(range(number + 1, 10)) and transmitter.rx_last_ack == number
        else:
            assert held(transmitter) == [5, 6, 7, 8, 9] and transmitter.rx_last_ack == 4
        assert not transmitter.tx_replay


@pytest.mark.req("DL-126", "DL-127", "DL-148", "DL-149")
def test_legal_replay_requests():
    for number in range(1, 512):
        transmitter = filled(5, 9)
        transmitter.receive(request(number))
        assert held(transmitter) == [5, 6, 7, 8, 9] and transmitter.rx_last_ack == 4
        if 5 <= number <= 9:
            assert transmitter.tx_replay and transmitter.tx_first_replay and transmitter.rx_replay_ignore_count == 12
            assert not transmitter.can_accept
            for seq in range(number, 10):
                sent = transmitter.transmit(77)
                assert (sent.seq, sent.content, sent.replayed) == (seq, f"flit {seq}", True)
            assert transmitter.can_accept and transmitter.transmit(77).content is None
        else:
            assert not transmitter.tx_replay and transmitter.rx_replay_ignore_count == 0


@pytest.mark.req("DL-149", "DL-150")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_numbers_half_way_round_are_ignored(count):
    for number in range(1, 512):
        transmitter = ReplayTransmitter()
        for _ in range(count):
            transmitter.transmit(511, "x")
        transmitter.receive(request(number))
        assert transmitter.tx_replay == (1 <= number <= count)
        transmitter.receive(ack(number))
        assert len(held(transmitter)) == (count - number if number <= count else count)


@pytest.mark.req("DL-126", "DL-140", "DL-143", "DL-160", "DL-161")
def test_replay_across_the_wrap():
    transmitter = filled(507, 4)
    transmitter.receive(request(509))
    headers = [transmitter.transmit(20).header for _ in range(8)]
    assert headers[0] == explicit(509, replay=True)
    assert headers[1:7] == [ack(20, lo) for lo in (6, 7, 1, 2, 3, 4)]
    assert headers[7] == explicit(4, payload=False)
    assert not transmitter.tx_replay and transmitter.tx_last_seq == 4


@pytest.mark.req("DL-140", "DL-160", "DL-161")
def test_last_flit_of_a_replay_may_be_explicit():
    transmitter = filled(1, 8)
    transmitter.receive(request(1))
    headers = [transmitter.transmit(20).header for _ in range(8)]
    assert headers[0] == explicit(1, replay=True) and headers[7] == explicit(8, replay=True)


@pytest.mark.req("DL-129", "DL-144", "DL-148")
def test_ignore_window():
    transmitter = filled(5, 9)
    transmitter.receive(request(5))
    for distance in range(1, 12):
        transmitter.receive(request(7) if distance % 2 else None)
        assert transmitter.rx_replay_ignore_count == 12 - distance and transmitter._replay_index == 0
    transmitter.receive(request(7))
    assert transmitter.rx_replay_ignore_count == 12 and transmitter._replay_index == 2
    assert transmitter.transmit(1).header == explicit(7, replay=True)


@pytest.mark.req("DL-126", "DL-148")
def test_new_request_restarts_the_replay():
    transmitter = filled(5, 9)
    transmitter.receive(request(5))
    for _ in range(3):
        transmitter.transmit(1)
    for _ in range(11):
        transmitter.receive(None)
    transmitter.receive(request(6))
    assert [transmitter.transmit(1).seq for _ in range(5)] == [6, 7, 8, 9, 9]


@pytest.mark.req("DL-125", "DL-150")
def test_ack_during_a_replay():
    transmitter = filled(5, 9)
    transmitter.receive(request(5))
    transmitter.transmit(1)
    transmitter.receive(ack(7))
    assert transmitter.transmit(1).seq == 8
    transmitter.receive(ack(9))
    assert not transmitter.tx_replay
    sent = transmitter.transmit(1)
    assert sent.content is None and not sent.header.payload
    transmitter = filled(5, 9)
    transmitter.receive(request(5))
    transmitter.receive(ack(9))
    assert transmitter.transmit(1).content is None


@pytest.mark.req("DL-128", "DL-130", "DL-161", "DL-162", "DL-163")
@pytest.mark.parametrize("group", [1, 2, 4])
def test_three_requests_one_per_group(group):
    for phase in range(8):
        transmitter = ReplayTransmitter(group_flits=group)
        for _ in range(phase):
            transmitter.transmit(511)
        transmitter.request_replay()
        slots, last = [], 511
        for slot in range(phase, phase + 20):
            header = transmitter.transmit(last).header
            if isinstance(header, CommandHeader) and header.replay_request:
                assert header.ack_req_seq == 1, "the number is latched with the first copy"
                slots.append(slot)
                last = 30
        assert len(slots) == 3 and transmitter.tx_replay_req_count == 0
        assert len({slot // group for slot in slots}) == 3
        first_command = phase if phase % 7 != 6 else phase + 1
        assert slots[0] == first_command
        assert slots[2] <= first_command + 2 * group + 2


@pytest.mark.req("DL-163")
def test_skipped_slots_advance_the_group():
    transmitter = ReplayTransmitter(group_flits=4)
    transmitter.request_replay()
    assert transmitter.transmit(9).header.replay_request and not transmitter.transmit(9).header.replay_request
    transmitter.skip_slot()
    transmitter.skip_slot()
    assert transmitter.transmit(9).header.replay_request


@pytest.mark.req("DL-121", "DL-122", "DL-157", "DL-167")
@pytest.mark.parametrize(("depth", "most"), [(2, 2), (64, 64), (255, 255), (400, 255)])
def test_full_buffer(depth, most):
    transmitter = ReplayTransmitter(depth=depth)
    for n in range(most):
        assert transmitter.can_accept
        transmitter.transmit(511, n)
    assert not transmitter.can_accept
    with pytest.raises(ValueError, match="no payload"):
        transmitter.transmit(511, "more")
    assert not transmitter.transmit(511).header.payload
    transmitter.receive(ack(1))
    assert transmitter.can_accept


@pytest.mark.req("DL-142", "DL-165")
def test_forward_progress():
    transmitter = ReplayTransmitter(tx_ack_time_out=10)
    for _ in range(30):
        transmitter.transmit(511)
    assert not transmitter.timed_out, "nothing is unacknowledged"
    transmitter.transmit(511, "a")
    for _ in range(9):
        transmitter.transmit(511)
    assert transmitter.tx_ack_counter == 1
    transmitter.receive(ack(511))
    assert transmitter.tx_ack_counter == 1, "an Ack that removes nothing rearms nothing"
    transmitter.transmit(511, "b")
    assert transmitter.timed_out
    transmitter.receive(ack(1))
    assert transmitter.tx_ack_counter == 10
    never = ReplayTransmitter(tx_ack_time_out=0)
    for _ in range(50):
        never.transmit(511, "x")
    assert not never.timed_out
