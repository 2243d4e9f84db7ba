"""``PodController`` against registers without hardware: who reaches whom after each single write, what is refused, how
it waits, what it counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.switch.recorded_bus import RecordedBus, finish, switch_table
from ualink.switch.grid import Grid
from ualink.switch.service import served_within
from ualink_sim.bfm.common.firmware import FirmwareTimeout
from ualink_sim.bfm.common.pod_controller import PodController, VirtualPodError
from ualink_sim.bfm.common.port_flow import KINDS
from ualink_sim.bfm.common.register_bus import RegisterError
from ualink_sim.bfm.common.switch_firmware import Route, SwitchFirmware
from ualink_sim.pod.topology import Topology
from ualink_sim.records import FlowCounts

PODS = [(4, 1), (4, 2), (4, 4), (6, 1), (3, 4)]


class Pod:
    """A controller of ``accelerators`` accelerators with ``ports`` ports each, and what its registers hold."""

    def __init__(self, accelerators, ports, **options):
        topology = Topology(accelerators, ports)
        table = switch_table(topology.stations, ports)
        self.bus = RecordedBus(table)
        self.accelerators = accelerators
        self.wiring = topology.wiring
        self.controller = PodController(SwitchFirmware(self.bus, table), self.wiring, **options)

    def reached(self):
        """Pairs of accelerators of which the first reaches the second, on all of its ports or on some."""
        found = set()
        for source, places in self.wiring.items():
            for number, (station, port) in enumerate(places):
                for destination in range(64):
                    route = self.bus.routes.get((station, destination))
                    if route is not None and port not in route.deny:
                        assert destination in self.wiring, "the way to nobody is open"
                        assert (route.station, route.port) == self.wiring[destination][number], (
                            "the way leads elsewhere"
                        )
                        found.add((source, destination, number))
        return found

    def wanted(self, pods):
        ports = range(len(self.wiring[0]))
        return {(a, b, n) for members in pods.values() for a in members for b in members for n in ports}


def ask(pod, action, name, members):
    """Do what is asked, and tell who refuses it."""
    call = {"create": pod.controller.create, "resize": pod.controller.resize}.get(action)
    return finish(call(name, members) if call else pod.controller.tear_down(name))


def change(pods, action, name, members):
    """The virtual pods after ``action``; None where it must be refused."""
    others = {accelerator for other, of in pods.items() if other != name for accelerator in of}
    if (action == "create") == (name in pods) or (action != "tear_down" and (not members or others & set(members))):
        return None
    rest = {other: of for other, of in pods.items() if other != name}
    return rest if action == "tear_down" else rest | {name: tuple(sorted(members))}


@st.composite
def stories(draw):
    accelerators, ports = draw(st.sampled_from(PODS))
    members = st.lists(st.integers(0, accelerators - 1), unique=True, max_size=accelerators)
    step = st.tuples(st.sampled_from(("create", "resize", "tear_down")), st.sampled_from("abc"), members)
    return accelerators, ports, draw(st.lists(step, max_size=12))


@pytest.mark.req("UPLI-012", "SW-060", "SW-063", "SW-072", "SW-096", "SW-100", "SW-101")
@settings(max_examples=150, deadline=None)
@given(story=stories(), fail=st.none() | st.integers(1, 400))
def test_no_virtual_pod_reaches_another_at_any_write(story, fail):
    """Whatever is asked in whatever order, and also where an access fails: a pair is open only if both are members of
    one virtual pod before the change or after it, and whom nobody has as a member reaches nobody."""
    accelerators, ports, steps = story
    pod = Pod(accelerators, ports)
    pod.bus.fail_at = fail
    pods = {}
    for action, name, members in steps:
        after = change(pods, action, name, members)
        if after is None:
            count = len(pod.bus.log)
            with pytest.raises(VirtualPodError):
                ask(pod, action, name, members)
            assert len(pod.bus.log) == count, "what is refused writes nothing"
            continue
        may, must = pod.wanted(pods) | pod.wanted(after), pod.wanted(pods) & pod.wanted(after)

        def watch(may=may, must=must):
            reached = pod.reached()
            assert reached <= may and reached >= must

        pod.bus.watch = watch
        try:
            ask(pod, action, name, members)
        except RegisterError:
            # Whoever was to leave is out, whoever was to join may not be in; asked once more, all is as it should be.
            known = pod.controller.virtual_pods
            if action != "tear_down" and name not in known:
                action = "create"
            if action != "tear_down" or name in known:
                ask(pod, action, name, members)
        assert pod.reached() == pod.wanted(after)
        assert pod.controller.virtual_pods == after
        pods = after


def test_a_pod_is_denied_before_anything_is_allowed():
    """A member that is exchanged for another: the first can be reached no more before the second can."""
    pod = Pod(4, 1)
    finish(pod.controller.create("a", [0, 1]))
    states = []
    pod.bus.watch = lambda: states.append({pair[:2] for pair in pod.reached()})
    finish(pod.controller.resize("a", [0, 2]))
    with_1 = [n for n, state in enumerate(states) if any(1 in pair for pair in state)]
    with_2 = [n for n, state in enumerate(states) if any(2 in pair for pair in state)]
    assert with_1 and with_2 and max(with_1) < min(with_2)
    assert all((0, 0) in state for state in states), "who stays reaches itself all the time"


def test_only_entries_that_change_are_written():
    pod = Pod(4, 1)
    finish(pod.controller.create("a", [0, 1]))
    count = len(pod.bus.routes)
    assert count == 4
    finish(pod.controller.create("b", [2, 3]))
    assert {station for station, _ in list(pod.bus.routes)[count:]} == {2, 3}
    before = len(pod.bus.log)
    finish(pod.controller.resize("b", [3, 2]))
    assert len(pod.bus.log) == before


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda c: c.create("a", [2]), "there is a virtual pod 'a' already"),
        (lambda c: c.create("b", [2, 1]), "accelerator 1 is in virtual pod 'a' already"),
        (lambda c: c.create("b", [2, 9]), "there is no accelerator 9"),
        (lambda c: c.create("b", [2, 2]), "accelerator 2 is named twice"),
        (lambda c: c.create("b", []), "virtual pod 'b' needs a member"),
        (lambda c: c.resize("a", []), "virtual pod 'a' needs a member"),
        (lambda c: c.resize("b", [2]), "there is no virtual pod 'b'"),
        (lambda c: c.tear_down("b"), "there is no virtual pod 'b'"),
        (lambda c: c.drop_causes("b"), "there is no virtual pod 'b'"),
        (lambda c: c.isolate(9), "there is no accelerator 9"),
    ],
)
def test_what_cannot_be_is_refused(call, refusal):
    pod = Pod(4, 1)
    finish(pod.controller.create("a", [0, 1]))
    before = pod.reached()
    with pytest.raises(VirtualPodError, match=f"^{refusal}$"):
        finish(call(pod.controller))
    assert pod.reached() == before


def test_a_station_has_the_same_port_of_all_its_accelerators():
    bus = RecordedBus(switch_table(2, 2))
    firmware = SwitchFirmware(bus, switch_table(2, 2))
    with pytest.raises(ValueError, match="station 0 has ports 0 and 1 of accelerators"):
        PodController(firmware, {0: [(0, 0), (0, 1)]})


class Egress:
    """An egress that always has Requests inside; so many have gone by whenever its counter is read."""

    def __init__(self, pod, place, items_per_read):
        self.reads = 0
        self.items_per_read = items_per_read
        pod.bus.counts[*place, "req_forwarded"] = self.forwarded
        pod.bus.counts[*place, "under_way"] = 1
        pod.bus.counts[*place, "req_high_water"] = 3

    def forwarded(self):
        self.reads += 1
        return (self.reads - 1) * self.items_per_read


def test_a_change_waits_until_the_core_holds_nothing_of_whoever_left():
    """Queues have held three, and two may stand before each: after five times what a queue may wait for, all have had
    their turns, and once more for what stood behind others. Others that go on are no reason to wait longer."""
    pod = Pod(4, 1, patience=100)
    finish(pod.controller.create("a", [0, 1, 2]))
    turn = served_within(Grid(4, 4))
    egress = Egress(pod, (1, 0), turn)
    order = []
    pod.bus.watch = lambda: order.append(egress.reads)
    finish(pod.controller.resize("a", [0, 1]))
    assert set(order) == {0}, "who leaves is denied before anything is waited for"
    assert egress.reads == 2 * (1 + 5)
    finish(pod.controller.create("b", [2]))
    assert egress.reads == 2 * (1 + 5), "what has been waited for once is over"


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_waits_for_each_kind_until_none_was_inside(kind):
    """A kind of which nothing is inside for once has gone, whatever comes later; another is waited for meanwhile."""
    pod = Pod(4, 1, patience=100)
    finish(pod.controller.create("a", [0, 1]))
    everything = {name: 1 for name in KINDS}
    looks = [everything, everything | {kind: 0}, everything, {name: 0 for name in KINDS}]
    shown = iter(looks)
    pod.bus.counts[1, 0, "under_way"] = lambda: next(shown, {})
    finish(pod.controller.tear_down("a"))
    assert next(shown, None) is None, "it has looked so often"


def test_who_left_joins_nobody_while_its_items_stand():
    pod = Pod(4, 1, patience=20)
    finish(pod.controller.create("a", [0, 1]))
    stuck = Egress(pod, (1, 0), 0)
    with pytest.raises(FirmwareTimeout, match="items stand at port 0 of station 1 after 20 looks"):
        finish(pod.controller.tear_down("a"))
    assert pod.controller.virtual_pods == {} and pod.reached() == set()
    finish(pod.controller.create("b", [2, 3]))
    with pytest.raises(FirmwareTimeout):
        finish(pod.controller.resize("b", [2, 3, 0]))
    assert pod.controller.virtual_pods == {"b": (2, 3)} and pod.reached() == pod.wanted({"b": (2, 3)})
    # Drop Mode takes what stands at the port.
    finish(pod.controller.isolate(1))
    assert pod.bus.dropping == {(1, 0)}
    stuck.items_per_read = 100_000
    finish(pod.controller.resize("b", [2, 3, 0]))
    assert pod.reached() == pod.wanted({"b": (0, 2, 3)})


@pytest.mark.req("SW-070", "SW-071")
def test_drop_mode_is_told_and_cleared_of_one_accelerator_alone():
    """Ports of a station belong to different virtual pods; clearing one leaves the other as it is."""
    pod = Pod(4, 4)
    finish(pod.controller.create("a", [0, 1]))
    finish(pod.controller.create("b", [2, 3]))
    finish(pod.controller.isolate(0))
    finish(pod.controller.isolate(2))
    places = pod.wiring
    assert finish(pod.controller.drop_causes("a")) == {place: {"command"} for place in places[0]}
    assert finish(pod.controller.drop_causes("b")) == {place: {"command"} for place in places[2]}
    finish(pod.controller.readmit(0))
    assert pod.bus.dropping == set(places[2])
    assert finish(pod.controller.drop_causes("a")) == {}
    assert pod.reached() == pod.wanted(pod.controller.virtual_pods)


@pytest.mark.req("SW-097")
def test_items_are_counted_for_the_virtual_pod_that_the_port_was_of():
    pod = Pod(4, 1)
    bus, controller = pod.bus, pod.controller

    def go(station, **counts):
        for name, count in counts.items():
            key = station, 0, name
            bus.counts[key] = (bus.counts.get(key, 0) + count) % (1 << 32)

    go(0, req_accepted=(1 << 32) - 5, req_denied=7)
    finish(controller.create("a", [0, 1]))
    go(0, req_accepted=10, rd_rsp_accepted=3, wr_rsp_denied=2, wr_rsp_accepted=2)
    go(1, req_forwarded=13, req_dropped_out=1, req_dropped_in=2)
    go(3, req_accepted=50, req_denied=50)
    assert finish(controller.counters("a")) == FlowCounts(15, 2, 13, 3)
    assert finish(controller.counters(None)) == FlowCounts((1 << 32) - 5 + 50, 7 + 50, 0, 0)
    finish(controller.resize("a", [1]))
    go(0, req_accepted=100)
    go(1, req_accepted=1)
    assert finish(controller.counters("a")) == FlowCounts(16, 2, 13, 3)
    finish(controller.create("b", [0]))
    go(0, req_accepted=1000)
    finish(controller.tear_down("b"))
    go(0, req_accepted=10000)
    finish(controller.create("b", [0]))
    go(0, req_accepted=1)
    assert finish(controller.counters("b")).accepted == 1001
    assert finish(controller.counters("a")).accepted == 16
    assert finish(controller.counters("nobody yet")) == FlowCounts()


def test_an_entry_that_may_have_been_written_is_written_again():
    """The access that reads an entry back fails: it is open, and nobody asks for it any more."""
    pod = Pod(4, 1)

    def fail_next():
        pod.bus.fail_at = pod.bus.fail_at or pod.bus.accesses + 1

    pod.bus.watch = fail_next
    with pytest.raises(RegisterError):
        finish(pod.controller.create("a", [0, 1]))
    assert pod.controller.virtual_pods == {} and pod.reached() == {(0, 0, 0)}
    finish(pod.controller.create("b", [2, 3]))
    assert pod.reached() == pod.wanted({"b": (2, 3)})


def test_one_change_is_made_at_a_time():
    pod = Pod(4, 1)
    refused = []

    def watch():
        with pytest.raises(VirtualPodError, match="another virtual pod is being changed"):
            finish(pod.controller.create("b", [2]))
        refused.append(pod.controller.virtual_pods)

    pod.bus.watch = watch
    finish(pod.controller.create("a", [0, 1]))
    assert len(refused) == 4
    assert pod.controller.virtual_pods == {"a": (0, 1)}
    assert pod.bus.routes[0, 1] == Route(1, 0, frozenset({1, 2, 3}))
