"""Every rule that the bus models check is broken once, and found by the monitor and by the model that receives it."""

import re

import pytest

from support.bfm.broken_rules import CASES
from support.bfm.fake_interface import FakeInterface
from ualink_sim.bfm.upli.bus import reader
from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.bfm.upli.rules import RULES, ProtocolError
from ualink_sim.bfm.upli.transaction import Transaction
from ualink_sim.model.upli import transactions as upli


def _traffic(ports):
    """Reads and writes of one and four beats on every port, and an atomic."""
    requests = []
    for number in range(4):
        addr = 0x1000 * number
        write = upli.Request(cmd=upli.ReqCmd.WRITE, addr=addr, len=63, num_beats=3)
        requests += [
            (write, upli.orig_data(write, bytes(range(256)))),
            (upli.Request(cmd=upli.ReqCmd.READ, addr=addr, len=63), []),
            (upli.Request(cmd=upli.ReqCmd.READ, addr=addr, len=0), []),
            (upli.Request(cmd=upli.ReqCmd.ATOMIC_R, addr=addr, len=15), [upli.OrigDataBeat(data=bytes(64))]),
        ]
    for port in range(ports):
        for request, data in requests:
            yield Transaction(to_beat(request), [to_beat(beat) for beat in data], port=port)


def _run(hand, *, ports=1, watched=False, cycles=250, first=None, **options):
    """Traffic, after the Request and its one beat in ``first``, with ``hand`` on the wires until it returns true."""
    done = []

    def once(wires, cycle):
        if not done and hand(wires, cycle):
            done.append(cycle)

    interface = FakeInterface(ports=ports, watched=watched, hand=once, **options)
    if first is not None:
        interface.originator.submit(Transaction(to_beat(first[0]), [to_beat(first[1])]))
    for transaction in _traffic(ports):
        interface.originator.submit(transaction)
    for _ in range(cycles):
        interface.step()
    return interface, done


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_nothing_is_found_where_nothing_is_wrong(ports):
    interface, _ = _run(lambda wires, cycle: False, ports=ports, watched=True)
    assert interface.originator.idle
    assert len(interface.monitor.completed) == 16 * ports


def test_unknown_values_are_named():
    class Handle:
        _name = "upli__req__vld"

        class _handle:
            get_signal_val_binstr = staticmethod(lambda: "0X")

    with pytest.raises(ProtocolError, match=r"^req: known: .*upli__req__vld is 0X$") as caught:
        reader(Handle, "req")()
    assert caught.value.rule == "known"


@pytest.mark.parametrize("rule, channel, hand, observer, ports, options", CASES)
def test_broken_rule_is_found(rule, channel, hand, observer, ports, options):
    if observer == "monitor":
        # The monitor looks before the models do, so that whatever is found first is its finding.
        options = {**options, "watched": True}
    with pytest.raises(ProtocolError, match=f"^{channel}: {rule}: {re.escape(RULES[rule])}") as caught:
        _run(hand, ports=ports, **options)
    assert (caught.value.channel, caught.value.rule) == (channel, rule)
    frames = {entry.path.name for entry in caught.traceback}
    assert ("monitor.py" in frames) == (observer == "monitor")


def test_every_rule_is_broken_somewhere():
    assert {case.values[0] for case in CASES} | {"known"} == set(RULES)
