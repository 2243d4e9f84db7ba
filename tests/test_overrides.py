"""``--set``: any key, TOML values, and refusals that name the option."""

import pytest

from ualink.description.error import ScenarioError
from ualink.description.file import parse_description
from ualink_sim.pod.scenario import parse_scenario

TEXT = """\
[pod]
accelerators = 4
[link]
latency_cycles = 7
[[workload]]
kind = "uniform"
transactions = 10
[[workload]]
kind = "neighbour"
mix = { read = 0.25, write = 0.75 }
"""


def parse(*overrides):
    return parse_scenario(TEXT, "o.toml", overrides)


def test_overrides_take_the_place_of_values():
    scenario = parse(
        "link.latency_cycles=100",
        'pod.bifurcation = "2x2"',
        "tl.req_cmd={ pool = 9 }",
        "tl.req_cmd.vc=[1, 2, 3, 4]",
        "workload.transactions=5",
        "workload.1.transactions=6",
        "run.max_cycles=1_000",
        "link.latency_cycles=200 # the last one wins",
    )
    assert (scenario.link.latency_cycles, scenario.pod.ports, scenario.run.max_cycles) == (200, 2, 1000)
    assert (scenario.station.tl.req_cmd.pool, scenario.station.tl.req_cmd.vc) == (9, (1, 2, 3, 4))
    assert [workload.transactions for workload in scenario.workloads] == [5, 6]


CASES = [
    ("link.latency_cycles=0", "link.latency_cycles: is 0; it must be a whole number from 1 to 100000"),
    ("link.latncy=3", "link.latncy: unknown key; known are latency_cycles, "),
    ("lnk.latency=3", "lnk: unknown key; known are pod, link"),
    ("workload.1.sizes=[5]", "workload.sizes: 5 is not a multiple of 4"),
    ("dl.replay_depth=1", "dl.replay_depth: dl.replay_depth is 1"),
    ("tl.req_cmd.pool=9999", "tl.req_cmd: credits.pool is 9999"),
    ("link", "must be KEY=VALUE on one line, such as link.latency_cycles=100"),
    ("=4", "the key is no TOML key"),
    ("a b=4", "the key is no TOML key"),
    ("link.seed=", "the value is not TOML; text needs quotes"),
    ("pod.bifurcation=2x2", 'the value is not TOML; text needs quotes, as in pod.bifurcation="x4"'),
    ("link.seed=1\nlink.burst=2", "must be KEY=VALUE on one line"),
    ("workload.2.seed=1", "there are 2 [[workload]], counted from 0"),
    ("workload.99999999999.seed=1", "there are 2 [[workload]], counted from 0"),
    ("workload.0=1", "names a whole [[workload]]; name a key of it"),
    ("link.latency_cycles.low=1", "link.latency_cycles is a value, not a table"),
    ("link.seed=" + "9" * 5000, "the value has too many digits"),
    ("link.seed=" + "[" * 100_000, "is nested too deeply"),
    (".".join("a" * 100_000) + "=1", "is nested too deeply"),
]


@pytest.mark.parametrize(("option", "reason"), CASES, ids=range(len(CASES)))
def test_refusals_name_the_option(option, reason):
    with pytest.raises(ScenarioError) as refusal:
        parse("link.seed=3", option)
    message = str(refusal.value)
    assert message.startswith("--set ")
    assert reason in message
    assert len(message) < 300
    assert "\n" not in message
    if len(option) < 40 and option.isprintable():
        assert message.startswith(f"--set {option}: {reason}")


def test_what_the_file_and_an_option_say_together_names_both():
    with pytest.raises(ScenarioError, match=r"^o\.toml:10 with --set workload\.1\.mix\.read=0\.5: workload\.mix: the "):
        parse("workload.1.mix.read=0.5")


def test_faults_of_the_file_keep_their_line():
    with pytest.raises(ScenarioError, match=r"^o\.toml:4: link\.latency_cycles: is 0"):
        parse_scenario(TEXT.replace("= 7", "= 0"), "o.toml", ["link.seed=4", "workload.1.seed=3"])
    with pytest.raises(ScenarioError, match=r"^o\.toml:7: workload\.transactions: is 0"):
        parse_scenario(TEXT.replace("= 10", "= 0"), "o.toml", ["workload.1.transactions=4"])


def test_a_description_alone_takes_overrides_too():
    assert parse_description("", "none", ["dl.replay_depth=9"]).values == {"dl": {"replay_depth": 9}}
