"""Hands that break rules of the bus models, as cases of test_rules.py."""

import pytest

from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.model.upli import transactions as upli

__all__ = ["CASES", "ORIG_DATA", "RD_RSP", "READ", "breaks", "on_beat"]

READ = to_beat(upli.Request(cmd=upli.ReqCmd.READ)) | {"port_id": 0, "pool": 1}
RD_RSP = to_beat(upli.RdRspBeat(tag=0, data=bytes(64))) | {"port_id": 0, "pool": 1}
ORIG_DATA = to_beat(upli.OrigDataBeat(data=bytes(64))) | {"port_id": 0, "pool": 1}

CASES = []


def breaks(rule, channel, *, by="both", ports=1, **options):
    """Register a hand that breaks ``rule`` on ``channel``; it returns true once it has, and is not called again.

    ``by``: who can find it, ``"monitor"``, ``"agents"`` or ``"both"``.
    """

    def register(function):
        for observer in ("monitor", "agents") if by == "both" else (by,):
            name = f"{rule}-{channel}-{function.__name__}-{observer}"
            CASES.append(pytest.param(rule, channel, function, observer, ports, options, id=name))
        return function

    return register


def on_beat(rule, channel, change, *, name, **options):
    """Break ``rule`` by ``change(wires, beat)`` on the first beat of ``channel`` for which that is not False."""

    def hand(wires, cycle):
        beat = wires.beat(channel)
        return beat is not None and change(wires, beat) is not False

    hand.__name__ = name
    breaks(rule, channel, **options)(hand)
