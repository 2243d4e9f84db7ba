"""Millions of Control half-flits through transmitter and receiver: the executable model finds no difference.

Traffic, wires and restarts are hardware (``support.tl.soak_top``); taps write down all that passes, which
``support.tl.soak_judge`` then looks at. CI runs a slice; ``make soak`` (UALINK_SOAK=1) the whole.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from support.dl import soak_traffic as dl_soak_traffic
from support.tl import soak_tap, soak_top, soak_traffic
from support.tl.soak_cases import MODELS, cases
from support.tl.soak_tap import TAP_VERILOG
from support.tl.soak_top import SoakTop
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import Model, build_once

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("tl_soak")]

WHOLE = bool(os.environ.get("UALINK_SOAK"))
CASES, CYCLES = (24, 250_000) if WHOLE else (3, 8_000)
TOGETHER = 10_000_000
"""Control half-flits with a field that the whole soak sees at least."""


def soak_model(name: str) -> Model:
    """The Verilated bench ``name`` of ``MODELS``."""
    chosen = MODELS[name]
    texts = [Path(module.__file__ or "").read_text() for module in (soak_tap, soak_top, soak_traffic, dl_soak_traffic)]
    top = f"tl_soak_{name}"

    def sources() -> dict[str, str]:
        bench = SoakTop(chosen.configs, chosen.ports, chosen.latency)
        return {f"{top}.v": to_verilog(bench, top), "soak_tap.v": TAP_VERILOG}

    return build_once(sources, top, "\0".join([*texts, repr(chosen)]))


SPOILS = 300 if WHOLE else 20
"""Changes of one bit or one record in what was seen, each of which the judge must notice."""

SEEN = {
    "requests": 0.01,
    "read_responses": 0.01,
    "write_responses": 0.01,
    "compressed_responses": 0.02,
    "data_half_flits": 0.05,
    "poisoned_half_flits": 0.001,
    "compressed_requests": 0.001,
    "cache_loads": 0.001,
    "full_control_half_flits": 0.0005,
}
"""What there must have been, per cycle, for a soak to be one."""


@pytest.mark.req("TL-001", "TL-002", "TL-014", "TL-015", "TL-022", "TL-026", "TL-038", "TL-040", "TL-042", "TL-043")
@pytest.mark.req("TL-045", "TL-047", "TL-048", "TL-050", "TL-052", "TL-053", "TL-076", "TL-077", "TL-082", "TL-085")
@pytest.mark.req("TL-093", "TL-096", "TL-101", "TL-104", "TL-121", "TL-124", "TL-128", "TL-131", "TL-134", "TL-146")
@pytest.mark.req("TL-150", "TL-160", "TL-161", "TL-163", "TL-164", "TL-183", "TL-208", "TL-211", "TL-212", "TL-213")
@pytest.mark.req("TL-181", "TL-214", "TL-217", "TL-218", "TL-219", "TL-221", "TL-224")
@pytest.mark.parametrize("name", sorted(MODELS) if WHOLE else ["tiny"])
def test_the_model_finds_no_difference(tmp_path, name):
    # The last case is short, because the judge has to look at it many times.
    made = cases(name, CASES, CYCLES) + cases(name, 1, 4000)
    results = tmp_path / "results.json"
    environment = {"MODEL": name, "CASES": json.dumps(made), "RESULTS": str(results), "SPOIL": str(SPOILS)}
    soak_model(name).run("support.tl.soak_bench", environment=environment)
    total: Counter[str] = Counter()
    for case, seen in zip(made, json.loads(results.read_text()), strict=True):
        print(json.dumps({"model": name, **case, **seen}))
        total.update(seen)
    for what, least in SEEN.items():
        assert total[what] > least * CASES * CYCLES, (what, total[what])
    # Buckets of VCs are in use where there are any; the link restarts, and all that was begun is accounted for.
    assert total["vc_fields"] > 0 or name == "large"
    assert total["sessions"] > CASES
    if WHOLE:
        assert total["control_half_flits"] > TOGETHER / len(MODELS), total["control_half_flits"]
