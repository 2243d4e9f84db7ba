"""docs/scenarios.md against the code: every key, every default, both ends of every range, and what builds anew."""

import re
from functools import cache
from pathlib import Path

import pytest

from ualink_sim.pod.scenario import ScenarioError, parse_scenario

PAGE = Path(__file__).parents[3] / "docs" / "scenarios.md"
LEAST = """[pod]
accelerators = 4
[[vpod]]
members = [0, 1, 2, 3]
[[vpod_change]]
at = 9
action = "resize"
vpod = "0"
members = [0]
[[cut]]
link = "acc0.0"
at = 9
cycles = 9
[[workload]]
kind = "{kind}"
{more}"""
WITHOUT_LINKS = '[pod]\naccelerators = 4\n[[workload]]\nkind = "{kind}"\n{more}'
HEADS = {
    "pod": "pod",
    "run": "run",
    "link": "link",
    "upli": "upli",
    "tl": "tl",
    "dl": "dl",
    "phy": "phy",
    "cut": "cut",
    "switch": "switch",
    "vpod": "vpod",
    "vpod_change": "vpod_change",
    "Workloads that are generated": "workload",
    "Hot spots": "hotspot",
    "Allreduce": "allreduce",
    "Traces": "trace",
}
KINDS = ("trace", "hotspot", "allreduce")
"""Workloads whose keys differ from those of the others."""


@cache
def rows():
    """(table, key, default, range, builds) of every row that describes a key; kinds of workloads are told apart."""
    found, table = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            table = HEADS.get(line.lstrip("#").strip().strip("[]"), "")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if table and len(cells) == 6 and re.fullmatch(r"`\w+`", cells[0]):
            found.append((table, cells[0].strip("`"), cells[2], cells[3], cells[4]))
    return found


@pytest.fixture(scope="module")
def parse(tmp_path_factory):
    """Parses the least scenario with overrides; of a trace for the rows of traces."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "t.jsonl").write_text('{"src":0,"dst":1,"op":"read","addr":"0x0","len":4}\n')

    def parse(table, *overrides):
        kind = table if table in KINDS else "uniform"
        # There are no cables to cut, nor firmware that changes virtual pods, where there are no links.
        least = WITHOUT_LINKS if 'pod.fidelity="upli"' in overrides else LEAST
        text = least.format(kind=kind, more='trace = "t.jsonl"\n' if kind == "trace" else "")
        return parse_scenario(text, folder / "s.toml", overrides)

    return parse


def beside(table, key):
    """What must be said as well for ``key`` to count, or to be taken."""
    if key == "accelerators":
        return ["vpod.members=[0]"]
    return ["phy.reconciliation=true"] if table == "phy" and key != "reconciliation" else []


def option(table, key, value):
    return f"{'workload' if table in KINDS else table}.{key}={value}"


@pytest.mark.parametrize("table", sorted(set(HEADS.values())))
def test_the_page_names_the_keys_that_are_known(parse, table):
    with pytest.raises(ScenarioError) as refusal:
        parse(table, option(table, "nonsense", 1))
    known = re.search(r"known are (.*)$", str(refusal.value))
    keys = [key for of, key, *_ in rows() if of in (table, "workload" if table == "hotspot" else table)]
    assert sorted(keys) == sorted(known[1].split(", ")), refusal.value


def test_defaults_are_those_of_the_page(parse):
    checked = 0
    for table, key, default, *_ in rows():
        said = re.match(r"`(.*?)`", default)
        assert said or default in ("needed", "all of them", "none", "all"), (table, key)
        if said:
            value = said[1]
            more = beside(table, key)
            assert parse(table, *more, option(table, key, value)) == parse(table, *more), (table, key)
            checked += 1
    assert checked > 45


def test_both_ends_of_each_range_are_taken_and_nothing_beyond(parse):
    checked = 0
    for table, key, _, span, _ in rows():
        ends = re.fullmatch(r"([0-9.]+) to ([0-9.]+)", span)
        if ends is None or key == "members":
            continue
        low, high = (float(end) if "." in end or key == "clock_mhz" else int(end) for end in ends.groups())
        for end, step in ((low, -1), (high, 1)):
            more = beside(table, key)
            parse(table, *more, option(table, key, end))
            with pytest.raises(ScenarioError, match=re.escape(f"{key}: ")):
                parse(table, *more, option(table, key, end + step))
        checked += 1
    assert checked > 25


def test_choices_are_those_of_the_page(parse):
    for table, key, _, span, _ in rows():
        if not re.fullmatch(r"(`[^`]*`(, )?)+", span) or key in (
            "kind",
            "separate_upli_clock",
            "bus",
            "action",
        ):
            continue
        choices = re.findall(r"`([^`]*)`", span)
        values = [parse(table, option(table, key, choice)) for choice in choices]
        assert len({repr(value) for value in values}) == len(choices), key
        with pytest.raises(ScenarioError):
            parse(table, option(table, key, '"other"'))


def test_the_page_says_what_builds_anew(parse):
    """A key changes the hardware exactly if its row says so."""
    others = {"req": "{pool=9}", "orig_data": "{pool=9}", "rd_rsp": "{pool=9}", "wr_rsp": "{pool=9}"}
    others |= {key: "{pool=99}" for key in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")}
    others |= {"tx_cache": "{ways=2}", "rx_cache": "{rows=9}", "mix": "{read=1}", "sizes": "[64]", "base": "256"}
    others |= {
        "bytes": "4096",
        "members": "[0]",
        "trace": '"t.jsonl"',
        "accelerators": "3",
        "cmd_counter_bits": "12",
        "stations": None,
    }
    others |= {"data_counter_bits": "12", "separate_upli_clock": None, "kind": None}
    # Another one is refused for a pod.
    others |= {"cycles_per_beat": None}
    others |= {"name": '"0"', "vpod": '"0"', "action": None, "drain": "false"}
    others |= {"rate": "400", "ppm": "5", "link": '"acc1.0"'}
    for table, key, _, span, builds in rows():
        ends = re.fullmatch(r"([0-9.]+) to ([0-9.]+)", span)
        choices = re.findall(r"`([^`]*)`", span)
        value = others[key] if key in others else ends[1] if ends else choices[1]
        if value is None:
            continue
        more = beside(table, key)
        changed, least = parse(table, *more, option(table, key, value)), parse(table, *more)
        pods = [(s.pod.accelerators, s.pod.fidelity, s.switch) for s in (changed, least)]
        if pods[0] == pods[1] and builds == "yes":
            changed = parse(table, *more, option(table, key, ends[2]))
            pods[0] = changed.pod.accelerators, changed.pod.fidelity, changed.switch
        assert (pods[0] != pods[1]) == (builds == "yes"), (table, key)


def test_fields_of_a_trace_line_are_told():
    from ualink_sim.pod.trace import KEYS

    text = PAGE.read_text(encoding="utf-8")
    fields = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)))
    assert set(KEYS) <= set(fields)
