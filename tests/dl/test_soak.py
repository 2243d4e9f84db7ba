"""Millions of TL flits over wires that lose and damage DL flits: none lost, doubled, changed or out of order.

Traffic, wires and checkers are hardware (``support.dl.soak_top``). CI runs a slice; ``make soak`` (UALINK_SOAK=1) the
whole.
"""

import json
import os
import random
from pathlib import Path

import pytest

from support.dl import soak_channel, soak_top, soak_traffic
from support.dl.soak_top import SoakTop
from ualink.config import DLConfig
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import Model, build_once

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("dl_soak")]

WHOLE = bool(os.environ.get("UALINK_SOAK"))
PORTS = (1, 2, 4) if WHOLE else (1,)
FLITS = 150_000 if WHOLE else 5_000
"""TL flits that each direction delivers at least over damaged wires, per case, all ports together."""
SEEDS = 4 if WHOLE else 1

REPLAY_DEPTH = {1: 255, 2: 64, 4: 20}
MARGIN = 30
"""Flit times of Rx_replay_limit above the round trip: three Replay Requests and their groups fit in between."""

PER_MILLE = 65
QUIET = {"loss": 0, "burst": 0, "group_loss": 0, "corruption": 0, "ack_loss": 0, "control": 0, "gap": 0, "stall": 0}
PROFILES = {
    "every kind of damage": QUIET
    | {name: PER_MILLE for name in ("loss", "corruption", "ack_loss", "control")}
    | {"burst": PER_MILLE // 8, "group_loss": PER_MILLE // 2, "gap": 500, "stall": 500},
    "flipped bits": QUIET | {"corruption": 20 * PER_MILLE, "stall": 3000},
    "groups and bursts": QUIET | {"group_loss": 10 * PER_MILLE, "burst": 2 * PER_MILLE, "gap": 2000, "control": 200},
    "lost Acks": QUIET | {"ack_loss": 50 * PER_MILLE, "loss": PER_MILLE},
    "storm": QUIET | {"loss": 40 * PER_MILLE, "corruption": 20 * PER_MILLE, "burst": PER_MILLE, "stall": 9000},
}
LATE = "late and spurious Replay Requests"
"""The partner's Rx_replay_limit is below the round trip, so that its Requests come in the middle of replays. Explicit
flits are not lost here: without the one that a replay begins with, three bits can mislead a partner whose limit is set
like that, whatever its sender does."""
PROFILES[LATE] = QUIET | {"ack_loss": 15 * PER_MILLE, "gap": 300, "stall": 300}
LATENCIES = (3, 20, 100, 400, 900)
RATES = (0xFFFF, 0xFFFF, 0x8000, 0x0600)


def cases(ports: int, group: int) -> list[dict]:
    """The cases of one run: every profile, with wires, traffic and seeds at random."""
    rng = random.Random(f"{ports}/{group}")
    made = []
    for profile, damage in PROFILES.items():
        for _ in range(SEEDS):
            # Requests and Acks come in any cycle of the sender's slot.
            latency = rng.choice(LATENCIES[2:] if profile == LATE else LATENCIES) + rng.randrange(10)
            round_trip = 2 * latency // 10 + 6
            rate = rng.choice(RATES)
            settings = {"seed": rng.getrandbits(32), "latency": latency, "codeword_group": group, "longest_burst": 40}
            made.append(
                {
                    "profile": profile,
                    "damage": settings | damage,
                    "rate": rate,
                    "rx_replay_limit": min(round_trip // 2 if profile == LATE else round_trip + MARGIN, 255),
                    # Sparse traffic takes its time.
                    "flits": (FLITS if rate >= 0x8000 else FLITS // 10) // ports,
                    # Several times in a row all that heals a loss may be lost itself.
                    "longest_wait": 20 * 10 * (round_trip + MARGIN + 80) + 4000,
                }
            )
    return made


def model(ports: int) -> Model:
    """The Verilated bench with ``ports`` ports."""
    texts = [Path(module.__file__ or "").read_text() for module in (soak_channel, soak_top, soak_traffic)]
    name = f"dl_soak_{ports}"
    config = DLConfig(replay_depth=REPLAY_DEPTH[ports])
    return build_once(
        lambda: {f"{name}.v": to_verilog(SoakTop(ports, config), name)}, name, "\0".join([*texts, repr(config)])
    )


@pytest.mark.req("DL-004", "DL-119", "DL-122", "DL-123", "DL-124", "DL-126", "DL-128", "DL-131", "DL-155", "DL-156")
@pytest.mark.req("DL-158", "DL-160", "DL-167", "DL-180", "DL-183")
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("ports", PORTS)
def test_nothing_is_lost_doubled_or_out_of_order(tmp_path, ports, group):
    made = cases(ports, group)
    results = tmp_path / "results.json"
    environment = {"PORTS": str(ports), "CASES": json.dumps(made), "RESULTS": str(results)}
    model(ports).run("support.dl.soak_bench", environment=environment)
    for case, result in zip(made, json.loads(results.read_text()), strict=True):
        assert min(result["delivered"]) >= case["flits"]
        assert min(result["damaged"]) > 0 and sum(result["replays_accepted"]) > 0
        if case["damage"]["corruption"]:
            assert sum(result["crc_errors"]) > 0
        print(json.dumps({"ports": ports, "group": group, **case, **result}))
