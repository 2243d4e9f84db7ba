"""Both bus models and the monitor on wires of Python: what one sends the other receives, by the rules."""

import random
from itertools import pairwise

import pytest

from support.bfm.fake_interface import FakeInterface
from support.bfm.requests_at_random import random_response, random_transaction, shuffled
from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.bfm.upli.transaction import Transaction
from ualink_sim.model.upli import transactions as upli

CREDITS = {
    "pool": ({}, {}),
    "vc": (
        {"rd_rsp_pool": 0, "wr_rsp_pool": 0, "rd_rsp_vc": (4, 5, 4, 6), "wr_rsp_vc": (1, 2, 1, 1)},
        {"req_pool": 0, "orig_data_pool": 0, "req_vc": (1, 1, 2, 1), "orig_data_vc": (4, 4, 7, 4)},
    ),
    "mixed": (
        {"rd_rsp_pool": 3, "wr_rsp_pool": 1, "rd_rsp_vc": (1, 2, 1, 1), "wr_rsp_vc": (0, 0, 1, 0)},
        {"req_pool": 1, "orig_data_pool": 3, "req_vc": (0, 1, 0, 1), "orig_data_vc": (1, 1, 2, 3)},
    ),
}


def _run(rng, ports, count, *, originator, completer):
    answers = {}

    def handler(request, data):
        key = request["port_id"], request["src_phys_acc_id"], request["tag"]
        channel, beats = random_response(rng, request)
        answers.setdefault(key, []).append((request, data, channel, beats))
        return channel, beats

    interface = FakeInterface(ports=ports, handler=handler, originator=originator, completer=completer)
    sent = [random_transaction(rng, rng.randrange(ports)) for _ in range(count)]
    for transaction in sent:
        interface.originator.submit(transaction)
    interface.run()
    return interface, sent, answers


@pytest.mark.req("UPLI-249")
@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("credits", CREDITS)
def test_random_traffic(ports, credits):
    rng = random.Random(f"{ports} {credits}")
    originator, completer = CREDITS[credits]
    pressure = {"hold": lambda: rng.choice((0, 0, 1, 9))}
    interface, sent, answers = _run(
        rng,
        ports,
        150,
        originator={**originator, **pressure, "gap": lambda: rng.choice((0, 0, 3)), "outstanding": 20},
        completer={
            **completer,
            **pressure,
            "latency": lambda: rng.randrange(30),
            "single_beat": shuffled(rng),
            "beat_gap": lambda: rng.randrange(5),
        },
    )
    assert len(interface.completed) == len(interface.monitor.completed) == len(sent)
    for transaction in sent:
        request = transaction.request
        key = request["port_id"], request["src_phys_acc_id"], request["tag"]
        received, data, _, beats = answers[key].pop(0)
        assert {**received, "pool": 0} == {**request, "pool": 0}
        assert [{**beat, "pool": 0} for beat in data] == [
            {**beat, "pool": 0, "port_id": transaction.port} for beat in transaction.data
        ]
        got = sorted(transaction.response, key=lambda beat: beat.get("offset", 0))
        single = got[0].get("num_beats") == 0
        assert [_content(beat, single) for beat in got] == [_content(beat, single) for beat in beats]
    for channel in interface.monitor.channels.values():
        assert not channel.accounts.in_use


def _content(beat, single):
    """A Response beat without what is this interface's own, and without what Single Beat mode changes."""
    dropped = {"port_id", "pool"} | ({"num_beats", "last"} if single else set())
    return {name: value for name, value in beat.items() if name not in dropped}


def test_single_beat_mode_is_seen_on_the_bus():
    """Offsets come in the order asked for, NumBeats 0, Last on the last one, gaps and other beats in between."""
    interface = FakeInterface(
        completer={"single_beat": lambda beats: (2, 0, 3, 1), "beat_gap": lambda: 4},
    )
    reads = [Transaction(to_beat(upli.Request(cmd=upli.ReqCmd.READ, addr=0, len=length))) for length in (63, 15, 15)]
    for read in reads:
        interface.originator.submit(read)
    interface.run()
    long = reads[0].response
    assert [beat["offset"] for beat in long] == [2, 0, 3, 1]
    assert [beat["last"] for beat in long] == [0, 0, 0, 1]
    assert not any(beat["num_beats"] for beat in long)
    assert reads[0].completed > reads[2].completed


def test_gap_and_latency_and_hold_take_effect():
    rng = random.Random(5)
    gaps, latencies = [7] * 20, [50] * 20
    _, sent, _ = _run(
        rng,
        1,
        10,
        originator={"gap": gaps.pop, "hold": lambda: 60, "rd_rsp_pool": 4, "wr_rsp_pool": 1},
        completer={"latency": latencies.pop},
    )
    issued = [transaction.issued for transaction in sent]
    assert all(later - earlier >= 8 for earlier, later in pairwise(issued))
    assert all(transaction.completed - transaction.issued >= 50 for transaction in sent)
    writes = sorted(transaction.completed for transaction in sent if "offset" not in transaction.response[0])
    assert len(writes) > 1
    assert all(later - earlier >= 60 for earlier, later in pairwise(writes))


def test_tags_are_bounded_and_reused():
    rng = random.Random(6)
    interface, sent, _ = _run(rng, 2, 40, originator={"outstanding": 3}, completer={"latency": 20})
    assert {transaction.request["tag"] for transaction in sent} == {0, 1, 2}
    assert interface.originator.issued == sorted(sent, key=lambda transaction: transaction.issued)


@pytest.mark.parametrize("originator_delay", [0, 1, 30])
@pytest.mark.parametrize("completer_delay", [0, 1, 30])
def test_either_side_may_connect_late(originator_delay, completer_delay):
    rng = random.Random(7)
    interface, sent, _ = _run(
        rng,
        1,
        3,
        originator={"request_delay": originator_delay, "acknowledge_delay": completer_delay},
        completer={"request_delay": completer_delay, "acknowledge_delay": originator_delay},
    )
    assert len(interface.completed) == 3
    assert min(transaction.issued for transaction in sent) > max(originator_delay, completer_delay)


def test_reset_terminates_everything():
    rng = random.Random(8)
    interface = FakeInterface(handler=lambda request, data: random_response(rng, request), completer={"latency": 200})
    sent = [random_transaction(rng, 0) for _ in range(30)]
    for transaction in sent:
        interface.originator.submit(transaction)
    for _ in range(40):
        interface.step()
    assert any(transaction.issued for transaction in sent)
    lost = interface.originator.reset()
    interface.completer.reset()
    assert set(lost) == set(sent)
    assert all(transaction.terminated and not transaction.done for transaction in sent)
    interface.wires.settle()
    interface.monitor.reset()
    again = random_transaction(rng, 0)
    interface.originator.submit(again)
    interface.run()
    assert again.done
    assert interface.completed == [again]


def test_isolate_answers_nothing():
    """A Write Response with status ISOLATE is credited, and no tag belongs to it (UALink_200 Table 2-11)."""
    done = []

    def hand(wires, cycle):
        if wires.beat("wr_rsp") and not done:
            wires.change("wr_rsp", status=0xF, tag=2000)
            done.append(cycle)

    rng = random.Random(9)
    interface = FakeInterface(hand=hand, handler=lambda request, data: ("wr_rsp", random_response(rng, request)[1]))
    write = random_transaction(rng, 0)
    while write.request["cmd"] != 0x28:
        write = random_transaction(rng, 0)
    interface.originator.submit(write)
    for _ in range(60):
        interface.step()
    assert done
    assert interface.originator.responses.isolated
    assert interface.monitor.responses.isolated
    assert not write.done
    assert not interface.monitor.channels["wr_rsp"].accounts.in_use
