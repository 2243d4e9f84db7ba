"""A ring allreduce: each member ends with the sums, and nobody hands on what it has not got."""

import struct
from collections import Counter, defaultdict

import pytest

from ualink_sim.pod.scenario import ScenarioError, parse_scenario
from ualink_sim.pod.workload import build_requests
from ualink_sim.request import check

BASE = 0x100000


def requests(accelerators, size, *, vpods="", more=""):
    workload = f'[[workload]]\nkind = "allreduce"\nbytes = {size}\nbase = {BASE}\n{more}'
    return build_requests(parse_scenario(f"[pod]\naccelerators = {accelerators}\n{vpods}\n{workload}", "a.toml"))


def words(data):
    return struct.unpack(f"<{len(data) // 4}I", data)


def carried_out(made, members, size):
    """What each member's memory holds, when it executes the requests in any order that ``after`` allows: here latest
    first among those that may go. Checks that each is the sum of what came before and of something of the sender's
    own, the same wherever it is added; returns memories and these inputs, by member and place in the buffer."""
    chunk, memory, inputs = size // len(members), defaultdict(dict), defaultdict(dict)
    waiting, done = {r.line: r for r in made}, set()
    while waiting:
        line = max(line for line, r in waiting.items() if all(before in done for before in r.after))
        r = waiting.pop(line)
        done.add(line)
        place = r.addr - BASE
        if place >= size:
            place -= size
            came = memory[r.src].get(r.addr, bytes(256))
            inputs[r.src][place] = [(a - b) % (1 << 32) for a, b in zip(words(r.data), words(came))]
        else:
            own = members.index(r.src)
            if place // chunk == (own + 1) % len(members):
                came = memory[r.src][r.addr + size]
                inputs[r.src][place] = [(a - b) % (1 << 32) for a, b in zip(words(r.data), words(came))]
            else:
                assert memory[r.src][r.addr] == r.data
        assert r.addr not in memory[r.dst]
        memory[r.dst][r.addr] = r.data
    return memory, inputs


@pytest.mark.parametrize(("accelerators", "size"), [(2, 512), (3, 2304), (4, 4096)])
def test_every_member_gets_the_sums(accelerators, size):
    members = list(range(accelerators))
    made = requests(accelerators, size)
    assert all(check(r) is None for r in made)
    memory, inputs = carried_out(made, members, size)
    places = range(0, size, 256)
    sums = {
        place: [sum(column) % (1 << 32) for column in zip(*(inputs[m][place] for m in members))] for place in places
    }
    for member in members:
        assert inputs[member].keys() == set(places)
        own = range((member + 1) % accelerators * (size // accelerators), size)[: size // accelerators]
        written = {place for place in places if place not in own}
        assert {a - BASE for a in memory[member] if a - BASE < size} == written
        assert all(list(words(memory[member][BASE + place])) == sums[place] for place in written)


def test_a_member_sends_what_an_allreduce_must():
    made = requests(4, 8192)
    assert Counter(r.src for r in made) == {member: 2 * 3 * 8192 // 4 // 256 for member in range(4)}
    assert {(r.src, r.dst) for r in made} == {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert [r.line for r in made] == list(range(1, len(made) + 1))
    # Nobody but in the first step goes before what its sender needs has come, and that has come to the sender.
    by_line = {r.line: r for r in made}
    assert sum(not r.after for r in made) == 4 * 8192 // 4 // 256
    assert all(by_line[before].dst == r.src and before < r.line for r in made for before in r.after)


def test_virtual_pods_sum_for_themselves_and_seeds_change_the_data():
    vpods = "[[vpod]]\nmembers = [3, 1]\n[[vpod]]\nmembers = [2]\n[[vpod]]\nmembers = [0, 4, 5]"
    made = requests(6, 1536, vpods=vpods)
    assert {(r.src, r.dst) for r in made} == {(3, 1), (1, 3), (0, 4), (4, 5), (5, 0)}
    memory, inputs = carried_out([r for r in made if r.src in (3, 1)], [3, 1], 1536)
    assert list(words(memory[3][BASE])) == [(a + b) % (1 << 32) for a, b in zip(inputs[1][0], inputs[3][0])]
    assert made == requests(6, 1536, vpods=vpods)
    assert made[0].data != requests(6, 1536, vpods=vpods, more="seed = 2")[0].data


@pytest.mark.parametrize(
    ("size", "more", "reason"),
    [
        (2560, "", "4: workload.bytes: is 2560; it must be a multiple of 1024, 256 for each of 4 members"),
        (0, "", "4: workload.bytes: is 0"),
        (1024, "outstanding = 0", "6: workload.outstanding: is 0"),
        (1024, "sizes = [64]", "6: workload.sizes: unknown key; known are kind, bytes"),
    ],
)
def test_what_is_wrong_is_one_line(size, more, reason):
    text = f'[pod]\naccelerators = 4\n[[workload]]\nbytes = {size}\nkind = "allreduce"\n{more}'
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(text, "a.toml")
    assert str(refusal.value).startswith(f"a.toml:{reason}")


def test_a_buffer_that_does_not_fit_is_refused():
    text = f'[pod]\naccelerators = 2\n[[workload]]\nkind = "allreduce"\nbytes = 1024\nbase = {(1 << 57) - 1024}'
    with pytest.raises(ScenarioError, match=r"a\.toml:5: workload\.bytes: 2048 bytes at 0x1fffffffffffc00 do not fit"):
        parse_scenario(text, "a.toml")
