"""Generated workloads: legal, repeatable, and of the asked shape."""

from collections import Counter
from itertools import pairwise

import pytest

from ualink_sim.pod.scenario import ScenarioError, load_scenario, parse_scenario
from ualink_sim.pod.workload import build_requests
from ualink_sim.request import check

MIX = "{ read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }"


def scenario(kind, *, accelerators=4, vpods="", workload=""):
    return parse_scenario(
        f'[pod]\naccelerators = {accelerators}\n{vpods}\n[[workload]]\nkind = "{kind}"\n{workload}\n', "w.toml"
    )


def test_every_request_is_legal_and_of_an_asked_size():
    workload = f'transactions = 3000\nsizes = [4, 64, 100, 256]\nmix = {MIX}\nbase = "0x40000000000"\nfootprint = 2048'
    requests = build_requests(scenario("uniform", workload=workload))
    assert [request.line for request in requests] == list(range(1, 3001))
    for request in requests:
        assert check(request) is None
        assert request.addr >= 0x40000000000
        assert request.addr + request.len <= 0x40000000800
        if not request.is_atomic:
            assert request.len in (4, 64, 100, 256)
    counts = Counter(request.op for request in requests)
    for op, fraction in (("read", 0.4), ("write", 0.2), ("write_full", 0.2), ("atomic", 0.1), ("atomic_nr", 0.1)):
        assert abs(counts[op] / 3000 - fraction) < 0.04
    pairs = Counter((request.src, request.dst) for request in requests)
    assert len(pairs) == 12
    assert min(pairs.values()) > 150


def test_requests_know_their_workload(tmp_path):
    (tmp_path / "trace.jsonl").write_text('\n{"src": 0, "dst": 1, "op": "read", "addr": "0x0", "len": 4}\n')
    generated = '[[workload]]\nkind = "uniform"\ntransactions = 3\n'
    text = f'[pod]\naccelerators = 2\n{generated}[[workload]]\nkind = "trace"\ntrace = "trace.jsonl"\n{generated}'
    requests = build_requests(parse_scenario(text, tmp_path / "w.toml"))
    assert [(request.line, request.workload) for request in requests] == [
        *((1, 0), (2, 0), (3, 0), (5, 1), (6, 2), (7, 2), (8, 2)),
    ]


def test_seed_fixes_the_requests():
    def requests(seed):
        return build_requests(scenario("uniform", workload=f"transactions = 50\nseed = {seed}"))

    assert requests(3) == requests(3)
    assert requests(3) != requests(4)


def test_neighbour_and_alltoall_visit_the_pairs_in_turn():
    ring = build_requests(scenario("neighbour", workload="transactions = 8"))
    assert [(request.src, request.dst) for request in ring] == [(0, 1), (1, 2), (2, 3), (3, 0)] * 2
    every = build_requests(scenario("alltoall", workload="transactions = 24"))
    pairs = [(request.src, request.dst) for request in every]
    assert pairs[:12] == pairs[12:]
    assert len(set(pairs)) == 12
    for start in range(0, 24, 4):
        assert sorted(dst for _, dst in pairs[start : start + 4]) == [0, 1, 2, 3]


def test_a_hot_spot_gets_its_share_and_others_the_rest():
    for share in (0, 0.3, 1):
        workload = f"transactions = 3000\ntarget = 2\nshare = {share}"
        pairs = Counter((r.src, r.dst) for r in build_requests(scenario("hotspot", workload=workload)))
        hot = {pair: count for pair, count in pairs.items() if pair[1] == 2}
        assert abs(sum(hot.values()) / 3000 - share) < 0.03
        assert len(hot) == (3 if share else 0) and len(pairs) == 3 * (share > 0) + 9 * (share < 1)
        assert not hot or min(hot.values()) > 0.9 * max(hot.values()) - 40


def test_a_hot_spot_is_the_first_that_others_can_reach():
    vpods = "[[vpod]]\nmembers = [0]\n[[vpod]]\nmembers = [3, 1]"
    requests = build_requests(scenario("hotspot", vpods=vpods, workload="transactions = 9\nshare = 1"))
    assert {(request.src, request.dst) for request in requests} == {(1, 3)}


@pytest.mark.parametrize("kind", ["uniform", "neighbour", "alltoall", "hotspot"])
def test_virtual_pods_keep_to_themselves(kind):
    vpods = "[[vpod]]\nmembers = [0, 3]\n[[vpod]]\nmembers = [2]"
    requests = build_requests(scenario(kind, vpods=vpods, workload="transactions = 40"))
    assert {(request.src, request.dst) for request in requests} == {(0, 3), (3, 0)}


def test_nobody_to_talk_to_is_one_clear_line():
    with pytest.raises(ScenarioError, match=r"^w\.toml:6: workload\.kind: uniform needs a virtual pod of two"):
        build_requests(scenario("uniform", vpods="[[vpod]]\nmembers = [2]"))


@pytest.mark.parametrize("kind", ["hotspot", "allreduce"])
def test_nobody_to_sum_or_to_crowd_is_one_clear_line(kind):
    with pytest.raises(ScenarioError, match=rf"^w\.toml:6: workload\.kind: {kind} needs a virtual pod of two"):
        build_requests(scenario(kind, vpods="[[vpod]]\nmembers = [2]"))


def test_workloads_follow_one_another():
    second = 'transactions = 5\noutstanding = 3\n[[workload]]\nkind = "neighbour"\ntransactions = 5\noutstanding = 9'
    requests = build_requests(scenario("uniform", workload=second))
    assert [request.line for request in requests] == list(range(1, 11))
    assert [request.window for request in requests] == [3] * 5 + [9] * 5
    assert all(a.line < b.line for a, b in pairwise(requests))


def test_examples_build(root):
    quickstart = build_requests(load_scenario(root / "examples" / "quickstart.toml"))
    assert len(quickstart) >= 2000
    assert {request.src for request in quickstart} == {0, 1, 2, 3}
    assert all(64 <= request.len <= 256 for request in quickstart if not request.is_atomic)
    assert len(build_requests(load_scenario(root / "examples" / "handwritten.toml"))) == 10
