"""Design ``pair``, whole: two links in one device that reach each other over loopback plugs.

It takes minutes to compile, so only ``make soak`` (UALINK_SOAK=1) does it; that a link works is shown by
test_link_pair.py, and how lanes are shared out by test_pair.py.
"""

import json
import re
from pathlib import Path

import pytest

import ualink_boards
from support.boards import pair_top
from support.boards.pair_top import PairTop
from ualink.emit.verilog import to_verilog
from ualink_boards.board import LED_MEANINGS
from ualink_sim import serdes_cable
from ualink_sim.simulator import build_once

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("pair")]

REQUESTS = 64
"""Of each link, twice: they fill the memory of the other one and read it."""
CUT = 1
"""A lane that link b hears."""
WRONG = ("wrong_bytes_low", "unexpected_tags", "duplicate_responses", "status_errors", "beat_errors", "poisoned_beats")


LINK = "pair_top__design__a"
"""The module of both links."""


def _sources(verilog: str) -> dict[str, str]:
    """A file of the top and one of ``LINK``, each with all modules that it has instances of."""
    modules = dict(re.findall(r"^(?=module (\\?\S+?)[ (])(.*?^endmodule$)", verilog, re.MULTILINE | re.DOTALL))

    def below(name, without=()):
        found, left = {}, [name]
        while left:
            one = left.pop()
            found[one] = modules[one]
            words = set(re.findall(r"^ +(\\?\S+) ", modules[one], re.MULTILINE))
            left += [word for word in words if word in modules and word not in found and word not in without]
        return "\n".join(found.values())

    return {"pair_top.v": below("pair_top", without=(LINK,)), f"{LINK}.v": below(LINK)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    top = PairTop()
    paths = [Path(pair_top.__file__), Path(serdes_cable.__file__)]
    paths += sorted((Path(ualink_boards.__file__).parent / "designs").glob("*.py"))
    texts = "\0".join(path.read_text() for path in paths)
    model = build_once(lambda: _sources(to_verilog(top, "pair_top")), "pair_top", texts, blocks={LINK: None})
    job = {
        "registers": top.design.registers.to_dict(),
        "results": str(folder / "results.json"),
        "requests": REQUESTS,
        "cut": CUT,
    }
    (folder / "job.json").write_text(json.dumps(job))
    model.run("support.boards.pair_bench", environment={"PAIR": str(folder / "job.json")})
    return json.loads((folder / "results.json").read_text())


def lit(leds):
    return {meaning for number, meaning in enumerate(LED_MEANINGS) if leds >> number & 1} - {"alive"}


def test_both_links_come_up(found):
    assert lit(found["up"]) == {"reference", "signal", "words", "locked"}


@pytest.mark.parametrize("link", [0, 1])
def test_each_link_fills_the_memory_of_the_other_and_finds_it_right(found, link):
    traffic, phy = found["traffic"][link], found["phy"][link]
    assert traffic["requests_low"] == traffic["responses_low"] == traffic["served_requests"] == 2 * REQUESTS
    assert {name: traffic[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert traffic["foreign_requests"] == 0 and phy["received_bad"] == 0


def test_a_lane_that_is_cut_takes_both_links_down_and_only_its_own_out_of_step(found):
    assert found["aligned"] == [1, 0]
    assert lit(found["down"]) & {"signal", "words", "locked"} == set()
