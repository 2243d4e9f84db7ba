"""Campaigns on the replay machines alone: the RTL keeps every rule and order, and every wrong version is caught.

All versions run side by side in one simulation (``support.dl.replay_pair``), under losses, bursts, forged headers,
spoilt flits and a partner that falls silent. A version is caught when it delivers a wrong flit, or does what the
executable model does not allow (``support.dl.replay_rules``).
"""

import json
import os
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest
from amaranth.lib import data

from support.dl import mutant_modules, replay_pair, soak_traffic
from support.dl.mutant_modules import load
from support.dl.mutants import MUTANTS, Mutant
from support.dl.replay_pair import FATE_LAYOUT, RECORD_LAYOUT, Farm
from support.dl.replay_rules import Fate, PairRules, Record, Settings
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import build_once

QUIET = {"seed": 1, "loss": 0, "burst": 0, "forgery": 0, "offer": 0xFFFF, "spoil": 0, "judge": 1}
USUAL = QUIET | {"rx_replay_limit": 40, "codeword_group": 4, "tx_ack_time_out": 1000}

PHASES = [
    # Saturated, then a silent partner.
    {
        "settings": USUAL | {"loss": 400, "tx_ack_time_out": 150, "judge": 2},
        "slots": 1500,
        "dead_from": 1250,
        "dead": 1,
    },
    # Losses, bursts, everything forged that may be.
    {
        "settings": USUAL
        | {"seed": 2, "loss": 2000, "burst": 500, "forgery": 3000, "spoil": 800, "offer": 50000}
        | {"judge": 2},
        "slots": 2500,
    },
    {
        "settings": USUAL | {"seed": 3, "loss": 9000, "burst": 1500, "codeword_group": 2, "offer": 0x8000, "judge": 5},
        "slots": 2500,
    },
    {"settings": USUAL | {"seed": 4, "loss": 3000, "burst": 300, "codeword_group": 1, "judge": 0}, "slots": 2000},
    # Hardly any traffic.
    {"settings": USUAL | {"seed": 5, "loss": 4000, "burst": 500, "offer": 6000, "tx_ack_time_out": 60}, "slots": 1500},
    # Requests are repeated before the replay can have come, and judged in every beat of the sender's slot: they come in
    # the middle of a replay, an Ack may overtake one, and order is not promised.
    *(
        {
            "settings": USUAL
            | {"seed": 20 + beat, "loss": 6000, "rx_replay_limit": 8, "codeword_group": 1, "judge": beat},
            "slots": 600,
            "stale": True,
        }
        for beat in range(6)
    ),
    # Flits so far apart that nothing waits for longer than the time-out.
    {"settings": USUAL | {"seed": 8, "offer": 700, "tx_ack_time_out": 60}, "slots": 600, "least": 2},
    # A partner that never says a word.
    {"settings": USUAL | {"seed": 9, "tx_ack_time_out": 60}, "slots": 200, "dead_from": 0, "dead": 1, "least": 0},
    # The limit is never reached, and the line falls silent while a replay is awaited (every other flit is lost, so one
    # mostly is): Rx_unexpected_count saturates.
    {
        "settings": USUAL | {"seed": 7, "loss": 30000, "rx_replay_limit": 255},
        "slots": 900,
        "dead_from": 500,
        "dead": 3,
        "least": 1,
    },
]
for _phase in PHASES:
    for _key, _default in {"dead_from": -1, "dead": 0, "stale": False, "least": 100}.items():
        _phase.setdefault(_key, _default)

SLICES = 1 if os.environ.get("UALINK_SOAK") else 10
"""CI takes one slice of the mutants, the same each time."""


@dataclass
class Verdict:
    """When and how a version was caught; ``slot`` counts through all phases."""

    slot: int
    how: str


def _unpack(layout: data.StructLayout, kind, value: int):
    members = {}
    for name, member in layout:
        members[name] = value >> member.offset & (1 << member.width) - 1
    return kind(**members)


class Campaign:
    """The records of one run over ``versions``: the RTL as it is, then mutants."""

    def __init__(self, versions: list[Mutant | None], folder: Path):
        self.versions = versions
        texts = [Path(module.__file__ or "").read_text() for module in (mutant_modules, replay_pair, soak_traffic)]
        model = build_once(
            lambda: {"farm.v": to_verilog(Farm([load(version) for version in versions]), "farm")},
            "farm",
            "\0".join([*texts, repr(versions)]),
        )
        records = folder / "records"
        model.run("support.dl.mutants_bench", environment={"PHASES": json.dumps(PHASES), "RECORDS": str(records)})
        self._lines = [[int(word, 16) for word in line.split()] for line in records.read_text().splitlines()]

    def _slots(self):
        """Phase, slot number and the line of it."""
        number = 0
        for phase in PHASES:
            for _ in range(phase["slots"]):
                yield phase, number, self._lines[number]
                number += 1

    def judge(self, version: int) -> tuple[Verdict | None, Verdict | None]:
        """What was first seen of a version by the sinks, and what by the rules."""
        delivered = broken = None
        size, fate_size = RECORD_LAYOUT.size, FATE_LAYOUT.size
        for phase, slots in groupby(self._slots(), key=lambda slot: slot[0]):
            settings = phase["settings"]
            rules = PairRules(Settings(**{name: settings[name] for name in Settings.__annotations__}))
            for _, number, (fates, records) in slots:
                own = records >> 2 * size * version
                pair = tuple(_unpack(RECORD_LAYOUT, Record, own >> size * end & (1 << size) - 1) for end in range(2))
                if delivered is None and not phase["stale"] and any(record.mismatched for record in pair):
                    delivered = Verdict(number, "wrong flit delivered")
                if broken is None:
                    two = tuple(
                        _unpack(FATE_LAYOUT, Fate, fates >> fate_size * end & (1 << fate_size) - 1) for end in range(2)
                    )
                    complaint = rules.slot(pair, two)
                    if complaint:
                        broken = Verdict(number, complaint)
                if broken and (delivered or number > broken.slot + 1500):
                    return delivered, broken
        return delivered, broken

    def progress(self, version: int) -> list[int]:
        """Flits that arrived in each phase, at the end of it, in the direction that got fewer."""
        totals = []
        for _, slots in groupby(self._slots(), key=lambda slot: slot[0]):
            *_, (_, _, (_, records)) = slots
            size = RECORD_LAYOUT.size
            own = [records >> size * (2 * version + end) & (1 << size) - 1 for end in range(2)]
            totals.append(min(_unpack(RECORD_LAYOUT, Record, record).delivered for record in own))
        return totals


@pytest.mark.soak
@pytest.mark.req(
    "DL-119", "DL-128", "DL-129", "DL-131", "DL-140", "DL-141", "DL-143", "DL-157", "DL-160", "DL-165", "DL-183"
)
def test_rules_are_kept_and_every_mutant_is_caught(tmp_path):
    chosen = MUTANTS[::SLICES]
    campaign = Campaign([None, *chosen], tmp_path)
    assert campaign.judge(0) == (None, None)
    for phase, arrived in zip(PHASES, campaign.progress(0), strict=True):
        assert arrived >= phase["least"], phase
    survivors = []
    for number, mutant in enumerate(chosen, 1):
        delivered, broken = campaign.judge(number)
        print(f"{mutant.requirement} {mutant.name}: {delivered}; {broken}")
        if not delivered and not broken:
            survivors.append(mutant.name)
    assert not survivors


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_apply(mutant):
    """The text that a mutant changes stands once in its module, and what comes of it is Python."""
    load(mutant)
