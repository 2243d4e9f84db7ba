"""Scenario files: what they say, and one clear line for everything that is wrong with them."""

import pytest

from ualink.config import AddressCacheConfig, Credits, PhyConfig
from ualink.description.lines import KeyLines
from ualink_sim.pod.scenario import ScenarioError, load_scenario, parse_scenario
from ualink_sim.pod.workload_table import Mix

FULL = """\
[pod]
accelerators = 3
bifurcation = "x4"
clock_mhz = 156.25

[link]
latency_cycles = 7
bit_error_rate = 1e-6
burst = 4
drop_rate = 0.001
seed = 11

[tl]
compression = false
authentication = true
req_cmd = { pool = 8, vc = [1, 2, 3, 4] }

[dl]
replay_depth = 32

[switch]
route_entries = 64

[[vpod]]
members = [0, 2]

[[workload]]
kind = "neighbour"
transactions = 10
sizes = [4, 64]
mix = { read = 0.25, write = 0.75 }
outstanding = 3
base = "0x1000"
footprint = 4096
seed = 5
"""
LEAST = '[pod]\naccelerators = 2\n[[workload]]\nkind = "uniform"\n'


def test_everything_a_scenario_says_is_kept():
    scenario = parse_scenario(FULL, "full.toml")
    assert (scenario.pod.accelerators, scenario.pod.bifurcation, scenario.pod.clock_mhz) == (3, "x4", 156.25)
    link = scenario.link
    assert (link.latency_cycles, link.bit_error_rate, link.burst, link.drop_rate, link.seed) == (7, 1e-6, 4, 0.001, 11)
    assert (scenario.compression, scenario.authentication) == (False, True)
    assert scenario.station.tl.req_cmd == Credits(pool=8, vc=(1, 2, 3, 4))
    assert scenario.station.dl.replay_depth == 32
    assert (scenario.switch.stations, scenario.switch.route_entries) == (3, 64)
    assert scenario.vpods == ((0, 2),)
    assert scenario.memberships == {"0": [(0, 2)]}
    (workload,) = scenario.workloads
    assert (workload.kind, workload.transactions, workload.sizes) == ("neighbour", 10, (4, 64))
    assert workload.mix == Mix(read=0.25, write=0.75)
    assert (workload.outstanding, workload.base, workload.footprint, workload.seed) == (3, 0x1000, 4096, 5)


def test_defaults():
    scenario = parse_scenario(LEAST, "least.toml")
    assert scenario.pod.clock_mhz == 1562.5
    assert scenario.vpods == ((0, 1),)
    assert scenario.station.ports == 1
    assert (scenario.link.bit_error_rate, scenario.link.burst, scenario.link.drop_rate) == (0, 1, 0)


def test_compression_and_authentication_are_decided_while_one_pod_runs():
    def tl(text):
        return parse_scenario(f"{LEAST}[tl]\n{text}", "tl.toml")

    scenarios = [tl(""), tl("compression = false"), tl("authentication = true")]
    assert [(s.compression, s.authentication) for s in scenarios] == [(True, False), (False, False), (True, True)]
    assert len({s.switch for s in scenarios}) == 1
    built = scenarios[0].station.tl
    assert (built.device, built.authentication) == ("either", True)
    assert built.tx_cache == built.rx_cache == AddressCacheConfig(rows=2, ways=4)
    given = tl("tx_cache = { ways = 1 }\nrx_cache = { rows = 8 }\ncompression = false").station.tl
    assert (given.tx_cache, given.rx_cache) == (AddressCacheConfig(rows=2, ways=1), AddressCacheConfig(rows=8, ways=4))


@pytest.mark.parametrize(("name", "ports"), [("x4", 1), ("2x2", 2), ("4x1", 4)])
def test_bifurcation_gives_the_ports_of_every_station(name, ports):
    scenario = parse_scenario(LEAST.replace("= 2\n", f'= 2\nbifurcation = "{name}"\n'), "ports.toml")
    assert scenario.pod.ports == scenario.station.ports == ports


@pytest.mark.parametrize(
    ("name", "ports", "rate", "markers"), [("x4", 1, 800, 16384), ("2x2", 2, 400, 8192), ("4x1", 4, 200, 4096)]
)
def test_chosen_ports_change_no_hardware(name, ports, rate, markers):
    """It is that of four ports, whatever ``bifurcation`` says: what firmware chooses, all of them if it does not."""
    text = LEAST.replace("= 2\n", "= 2\nchoosable_ports = true\n") + "[phy]\nreconciliation = true\n"
    four, chosen = (parse_scenario(text, "chosen.toml", more) for more in ([], [f'pod.bifurcation="{name}"']))
    assert (four.pod.bifurcation, chosen.pod.bifurcation) == ("4x1", name)
    assert four.switch == chosen.switch
    assert chosen.station.choosable_ports and (chosen.station.ports, chosen.pod.ports) == (4, ports)
    assert (chosen.port_phy.rate, chosen.port_phy.marker_slots) == (rate, markers)
    said = parse_scenario(text, "said.toml", [f'pod.bifurcation="{name}"', "phy.rate=400", "phy.marker_interval=64"])
    assert (said.port_phy.rate, said.port_phy.marker_slots) == (rate // 2, 64)


@pytest.mark.parametrize(
    ("accelerators", "name", "stations"),
    [(2, "x4", 2), (64, "x4", 64), (5, "2x2", 6), (8, "2x2", 8), (3, "4x1", 4), (16, "4x1", 16)],
)
def test_the_switch_has_a_station_for_each_accelerator(accelerators, name, stations):
    """As many, rounded up to whole stations of each logical switch; the Address Caches have a row for each."""
    text = LEAST.replace("= 2\n", f'= {accelerators}\nbifurcation = "{name}"\n')
    scenario = parse_scenario(text, "stations.toml")
    assert scenario.switch.stations == stations
    assert scenario.station.tl.rx_cache.rows == accelerators


def test_a_pod_whose_switch_is_too_large_is_refused():
    text = LEAST.replace("= 2\n", '= 17\nbifurcation = "4x1"\n')
    with pytest.raises(ScenarioError) as error:
        parse_scenario(text, "large.toml")
    assert str(error.value) == "large.toml:2: pod.accelerators: is 17; with bifurcation 4x1 at most 16"


@pytest.mark.parametrize(("name", "rate", "markers"), [("x4", 800, 16384), ("2x2", 400, 8192), ("4x1", 200, 4096)])
def test_reconciliation_sublayers_have_the_rate_of_their_ports(name, rate, markers):
    """That of lanes of 212.5 Gb/s, or half of it; the marker interval is the standard's unless it is given."""
    text = LEAST.replace("= 2\n", f'= 2\nbifurcation = "{name}"\n')
    assert parse_scenario(text + "[phy]\nmarker_interval = 64\n", "off.toml").station.phy is None
    phy = parse_scenario(text + "[phy]\nreconciliation = true\n", "on.toml").station.phy
    assert (phy, phy.marker_slots) == (PhyConfig(rate=rate), markers)
    slow = parse_scenario(f"{text}[phy]\nrate = {rate // 2}\n", "slow.toml", ["phy.reconciliation=true"]).station.phy
    assert (slow, slow.marker_slots) == (PhyConfig(rate=rate // 2), max(4096, markers // 2))
    given = parse_scenario(text + "[phy]\nreconciliation = true\nmarker_interval = 2048\n", "given.toml").station.phy
    assert given == PhyConfig(rate=rate, marker_interval=2048)


def test_a_cut_is_of_a_cable_or_of_one_direction():
    both = ("acc1.0>sw1.0", "sw1.0>acc1.0")
    text = LEAST + "".join(f'[[cut]]\nlink = "{link}"\nat = 500\ncycles = 20\n' for link in ("acc1.0", "sw1.0", *both))
    cuts = parse_scenario(text, "cuts.toml").cuts
    assert [cut.directions for cut in cuts] == [both, both, both[:1], both[1:]]
    assert {(cut.at, cut.cycles) for cut in cuts} == {(500, 20)}


def test_reseeding_reaches_links_and_every_workload():
    scenario = parse_scenario(LEAST + '[[workload]]\nkind = "alltoall"\nseed = 9\n', "seed.toml").reseed(40)
    assert scenario.link.seed == 40
    assert [workload.seed for workload in scenario.workloads] == [40, 41]


CASES = [
    ("accelerators = 3", "accelerators = 65", 2, "pod.accelerators: is 65; it must be a whole number from 2 to 64"),
    ("accelerators = 3", 'accelerators = "3"', 2, "pod.accelerators: is '3'"),
    ("accelerators = 3", "accelerators = true", 2, "pod.accelerators: is True"),
    ("accelerators = 3\n", "", 1, "pod.accelerators: is missing"),
    ('"x4"', '"x3"', 3, "pod.bifurcation: is 'x3'; it must be one of x4, 2x2, 4x1"),
    ("clock_mhz = 156.25", "clock_mhz = 0", 4, "pod.clock_mhz: is 0"),
    ("clock_mhz", "clock", 4, "pod.clock: unknown key; known are accelerators, bifurcation, choosable_"),
    ("latency_cycles = 7", "latency_cycles = 0", 7, "link.latency_cycles: is 0"),
    ("bit_error_rate = 1e-6", "bit_error_rate = 2", 8, "link.bit_error_rate: is 2"),
    ("bit_error_rate = 1e-6", "bit_error_rate = nan", 8, "link.bit_error_rate: is nan"),
    ("burst = 4", "burst = 1.5", 9, "link.burst: is 1.5"),
    ("drop_rate = 0.001", "drop_rate = -1", 10, "link.drop_rate: is -1"),
    ("compression = false", 'compression = "no"', 14, "tl.compression: is 'no'; it must be true or false"),
    ("authentication = true", "authentication = 1", 15, "tl.authentication: is 1; it must be true or false"),
    ("compression = false", 'device = "switch"', 14, "tl.device: is 'switch'; an accelerator cannot be one"),
    ("compression = false", "uncompressed = true", 14, "tl.uncompressed: unknown key; known are compression, "),
    ("compression = false", "build_authentication = false", 15, "tl.authentication: is true; tl.build_authentication"),
    ('"x4"', '"x4"\nseparate_upli_clock = true', 4, "pod.separate_upli_clock: is true; a simulated pod has one clock"),
    (
        "= 3\nbifurc",
        "= 17\nchoosable_ports = true\nbifurc",
        2,
        "pod.accelerators: is 17; with choosable_ports at most 16",
    ),
    ('"x4"', '"x1"\nchoosable_ports = true', 3, "pod.bifurcation: is 'x1'; it must be one of x4, 2x2, 4x1"),
    ('"x4"', '"x4"\nchoosable_ports = 1', 4, "pod.choosable_ports: is 1; it must be true or false"),
    (
        "[link]",
        "[run]\nmax_cycles = 0\n[link]",
        7,
        "run.max_cycles: is 0; it must be a whole number from 1 to 1000",
    ),
    ("[link]", "[upli]\nreq = { pool = 0 }\n[link]", 7, "upli.req: upli.req has 0 credits; it needs 1 or more"),
    (
        "compression = false",
        "tx_cache = {rows = 5}",
        14,
        "tl.tx_cache: tx_cache of 5 rows, 4 ways does not fit",
    ),
    (
        "compression = false",
        "rx_cache = {ways = 2}",
        14,
        "tl.rx_cache: tx_cache of 3 rows, 4 ways does not fit",
    ),
    ("compression = false", "rx_cache = 4", 14, "tl.rx_cache: is 4; it must be a table"),
    ("compression = false", "rx_cache = {rows = 2000}", 14, "tl.rx_cache: address cache.rows is 2000"),
    ("compression = false", "compression = 0", 14, "tl.compression: is 0; it must be true or false"),
    ("pool = 8", "pool = 9999", 16, "tl.req_cmd: credits.pool is 9999"),
    ("pool = 8", "pol = 8", 16, "tl.req_cmd: unknown key 'pol'"),
    ("vc = [1, 2, 3, 4]", "vc = [1]", 16, "tl.req_cmd: credits.vc is (1,)"),
    ("{ pool = 8, vc = [1, 2, 3, 4] }", "8", 16, "tl.req_cmd: is 8; it must be a table"),
    ("replay_depth = 32", "replay_depth = 1", 19, "dl.replay_depth: dl.replay_depth is 1"),
    ("replay_depth = 32", "cycles_per_beat = 4", 19, "dl.cycles_per_beat: is 4; links of a pod have a beat in every"),
    ("replay_depth = 32", "replay_dept = 32", 19, "dl.replay_dept: unknown key 'replay_dept'"),
    ("route_entries = 64", "route_entries = 8", 22, "switch.route_entries: is 8"),
    ("route_entries = 64", "stations = 8", 22, "switch.stations: is 8; the switch of a pod of 3 has 3"),
    ("[0, 2]", "[0, 3]", 25, "vpod.members: 3 is outside the pod of accelerators 0 to 2"),
    ("[0, 2]", "[0, 0]", 25, "vpod.members: 0 is a member already"),
    ("[0, 2]", '["0"]', 25, "vpod.members: '0' is not an accelerator number"),
    ("[0, 2]", "[]", 25, "vpod.members: is []"),
    ("[0, 2]", "[\n  0,\n  7,\n]", 25, "vpod.members: 7 is outside the pod"),
    ("members", "member", 25, "vpod.member: unknown key"),
    (
        '"neighbour"',
        '"gather"',
        28,
        "workload.kind: is 'gather'; it must be one of uniform, neighbour, alltoall, hotspot, allreduce, trace",
    ),
    ('"neighbour"', '"allreduce"', 29, "workload.transactions: unknown key; known are kind, bytes,"),
    ("seed = 5", "share = 0.5", 35, "workload.share: unknown key"),
    ("seed = 5", "bytes = 1024", 35, "workload.bytes: unknown key"),
    ('"neighbour"', '"hotspot"\ntarget = 1', 29, "workload.target: 1 shares a virtual pod with nobody"),
    ('"neighbour"', '"hotspot"\ntarget = 3', 29, "workload.target: is 3; it must be a whole number from 0 to 2"),
    ('"neighbour"', '"hotspot"\nshare = 2', 29, "workload.share: is 2"),
    ('kind = "neighbour"\n', "", 27, "workload.kind: is missing"),
    ("transactions = 10", "transactions = 0", 29, "workload.transactions: is 0"),
    ("sizes = [4, 64]", "sizes = [4, 65]", 30, "workload.sizes: 65 is not a multiple of 4"),
    ("sizes = [4, 64]", "sizes = 64", 30, "workload.sizes: is 64; it must list sizes"),
    ("write = 0.75", "write = 0.5", 31, "workload.mix: the fractions add up to 0.75, not to 1"),
    ("write = 0.75", "wrte = 0.75", 31, "workload.mix.wrte: unknown key"),
    ("outstanding = 3", "outstanding = 4096", 32, "workload.outstanding: is 4096"),
    ('"0x1000"', '"0x1001"', 33, "workload.base: is '0x1001'; it must be a 57-bit address"),
    ('"0x1000"', '"0x200000000000000"', 33, "workload.base: is '0x200000000000000'"),
    ('"0x1000"', '"here"', 33, "workload.base: is 'here'"),
    ("footprint = 4096", "footprint = 16", 34, "workload.footprint: is 16"),
    (
        '"0x1000"',
        '"0x1ffffffffffff00"',
        34,
        "workload.footprint: 4096 bytes at 0x1ffffffffffff00 do not fit in 57 bits",
    ),
    ("seed = 5", "seed = 5\nspeed = 1", 36, "workload.speed: unknown key"),
    (
        "[link]",
        "[lnk]",
        6,
        "lnk: unknown key; known are pod, link, upli, upli_checker, tl, dl, phy, switch, run, vpod, vpod_change, cut,",
    ),
    ("[link]", "[[link]]", 6, "link: must be one table, [link]"),
    ("[[vpod]]", "[vpod]", 24, "vpod: must be an array of tables, [[vpod]]"),
    ("clock_mhz = 156.25", "clock_mhz =", 4, "not TOML: Invalid value"),
    ("seed = 11", "seed = 11\nseed = 12", 12, "not TOML: Cannot overwrite a value"),
    ("seed = 5", 'seed = "', 35, "not TOML: "),
]

CASES += [
    ("[link]", f"[phy]\n{text}\n[link]", line, reason)
    for text, line, reason in (
        ("reconciliation = 1", 7, "phy.reconciliation: is 1; it must be true or false"),
        ("recon = true", 7, "phy.recon: unknown key; known are reconciliation, rate, marker_interval, idle_interval, "),
        ("reconciliation = true\nrate = 200", 8, "phy.rate: is 200; a port of a station of 1 carries 800 or 400 Gb/s"),
        ("rate = 800.0", 7, "phy.rate: is 800.0; a port"),
        ("rate = true", 7, "phy.rate: is True; a port"),
        ("rate = 400\nmarker_interval = 16384", 8, "phy.marker_interval: is 16384; it must be a whole number from 4 "),
        ("marker_interval = 3", 7, "phy.marker_interval: is 3; it must be a whole number from 4 to 16384"),
        ("marker_interval = 1536", 7, "phy.marker_interval: is 1536; it must be a multiple of phy.idle_interval, "),
        (
            "idle_interval = 1000",
            7,
            "phy.idle_interval: is 16384; it must be a multiple of phy.idle_interval, ",
        ),
        ("control_flit_blocks = 301", 7, "phy.control_flit_blocks: phy.control_flit_blocks is 301; it must be a mult"),
        ("ppm = 10001", 7, "phy.ppm: is 10001; it must be a number from -10000 to 10000"),
        (
            "reconciliation = true\nppm = -294",
            8,
            "phy.ppm: is -294; with control flits every 1024 slots at most 292 match",
        ),
        (
            "reconciliation = true\nmarker_interval = 64\nppm = 1172",
            9,
            "phy.ppm: is 1172; with control flits every 64 slots at most 1171 match",
        ),
    )
]
CASES += [
    ("[link]", f"[[cut]]\n{text}\n[link]", line, reason)
    for text, line, reason in (
        ("at = 1\ncycles = 1", 6, "cut.link: is missing"),
        ('link = "acc0.1"\nat = 1\ncycles = 1', 7, "cut.link: is 'acc0.1'; it must name a link of the pod, such as "),
        ('link = "acc0.0>sw1.0"\nat = 1\ncycles = 1', 7, "cut.link: is 'acc0.0>sw1.0'; it must name a link"),
        ('link = ["acc0.0"]\nat = 1\ncycles = 1', 7, "cut.link: is ['acc0.0']; it must name a link"),
        ('link = "acc0.0"\ncycles = 1', 6, "cut.at: is missing"),
        ('link = "acc0.0"\nat = -1\ncycles = 1', 8, "cut.at: is -1; it must be a whole number from 0 to"),
        ('link = "acc0.0"\nat = 1\ncycles = 0', 9, "cut.cycles: is 0; it must be a whole number from 1 to"),
        ('link = "acc0.0"\nat = 1\ncycles = 1\nend = 3', 10, "cut.end: unknown key; known are link, at, cycles"),
    )
]

DIGITS = "9" * 5000
HEX = "0x1" + "0" * 5000
CASES += [
    ("accelerators = 3", f"accelerators = {DIGITS}", 2, "holds a number of more than 4300 digits"),
    ("accelerators = 3", f"accelerators = {HEX}", 2, "pod.accelerators: is a number of about 6021 digits"),
    ("sizes = [4, 64]", f"sizes = [4,\n{DIGITS}]", 31, "holds a number of more than 4300 digits"),
    ("sizes = [4, 64]", f"sizes = [{HEX}]", 30, "workload.sizes: a number of about 6021 digits is not a multiple"),
    ("[0, 2]", f"[{HEX}]", 25, "vpod.members: a number of about 6021 digits is outside the pod"),
    ("bit_error_rate = 1e-6", f"bit_error_rate = {HEX}", 8, "link.bit_error_rate: is a number of about 6021 digits"),
    ('"0x1000"', f'"{HEX}"', 33, "workload.base: is '0x1000"),
    ('"0x1000"', f'"{DIGITS}"', 33, "workload.base: is '999"),
    ("pool = 8", f"pool = {HEX}", 16, "tl.req_cmd: credits.pool is a number of about 6021 digits"),
    ("replay_depth = 32", f"replay_depth = {HEX}", 19, "dl.replay_depth: dl.replay_depth is a number of about 6021"),
    ("replay_depth = 32", "k" * 5000 + " = 1", 19, "dl.'kkk"),
    ("seed = 11", f"seed = {'[' * 100_000}", 11, "is nested deeper than 100 levels"),
    ("seed = 11", f"seed = {'{a=' * 100_000}", 11, "is nested deeper than 100 levels"),
    ("seed = 11", f"seed{'.a' * 100_000} = 1", 11, "is nested deeper than 100 levels"),
    ("[tl]", f"[tl{'.a' * 100_000}]", 13, "is nested deeper than 100 levels"),
    ("seed = 11", f"seed{'.a' * 90} = 1", 11, "link.seed: is {'a': {"),
    ("seed = 11", "seed = 0 # a\u2028 line\nburst = 0", 12, "not TOML: Cannot overwrite a value"),
    ("seed = 11", "# a\u2028 line\nseed = -1", 12, "link.seed: is -1"),
    ('"neighbour"', '"neigh\u2028bour"', 28, "workload.kind: is 'neigh\\u2028bour'"),
    ("seed = 5", '"se\u2028ed" = 5', 35, "workload.'se\\u2028ed': unknown key"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), CASES, ids=range(len(CASES)))
def test_one_line_names_file_line_key_and_reason(old, new, line, reason):
    assert old in FULL
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(FULL.replace(old, new, 1), "here/bad.toml")
    assert str(caught.value).startswith(f"here/bad.toml:{line}: {reason}")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400


def test_missing_parts_are_named():
    with pytest.raises(ScenarioError, match=r"^e\.toml:1: pod: is missing$"):
        parse_scenario("", "e.toml")
    with pytest.raises(ScenarioError, match=r"^e\.toml:1: workload: is missing"):
        parse_scenario("[pod]\naccelerators = 2\n", "e.toml")
    with pytest.raises(ScenarioError, match=r"^e\.toml:5: workload\.sizes: write_full needs"):
        parse_scenario(LEAST + "sizes = [4]\n", "e.toml")
    with pytest.raises(ScenarioError, match=r"^e\.toml:3: workload\.trace: is missing"):
        parse_scenario(LEAST.replace("uniform", "trace"), "e.toml")
    with pytest.raises(ScenarioError, match=r"^e\.toml:5: workload\.trace: there is no file none\.jsonl$"):
        parse_scenario(LEAST.replace("uniform", "trace") + 'trace = "none.jsonl"\n', "e.toml")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        load_scenario(tmp_path / "none.toml")
    (tmp_path / "mark.toml").write_text("\ufeff" + FULL)
    with pytest.raises(ScenarioError, match=r"mark\.toml:1: begins with a byte order mark; save it as UTF-8 without"):
        load_scenario(tmp_path / "mark.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="is not UTF-8"):
        load_scenario(tmp_path / "bytes.toml")


def test_lines_of_keys():
    lines = KeyLines(
        '# c\na = 1\n[b]\nc = """\nd = 2\n"""\n"e f" = [\n 1, # ]\n]\ng.h = 1\n'
        "[[i]]\nj = 1\n[[i]]\nj = 2\n[i.k]\nl = 3\n"
    )
    assert [lines.line(*path) for path in [("a",), ("b",), ("b", "c"), ("b", "e f"), ("b", "g", "h")]] == [
        2,
        3,
        4,
        7,
        10,
    ]
    assert [lines.line("i", n, "j") for n in (0, 1)] == [12, 14]
    assert lines.line("i", 1, "k", "l") == 16
    assert lines.line("b", "nowhere", "deep") == 3


def test_examples_are_valid(root):
    scenario = load_scenario(root / "examples" / "quickstart.toml")
    assert (scenario.pod.accelerators, scenario.link.bit_error_rate) == (4, 1e-6)
    assert sum(workload.transactions for workload in scenario.workloads) >= 2000
    assert {size for workload in scenario.workloads for size in workload.sizes} == {64, 128, 192, 256}
    others = [load_scenario(root / "examples" / f"{name}.toml") for name in ("handwritten", "line_rate")]
    assert others[0].workloads[0].kind == "trace"
    assert all((other.pod, other.switch) == (scenario.pod, scenario.switch) for other in others), "compiled once"
