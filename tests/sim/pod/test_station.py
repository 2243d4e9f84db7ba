"""What the bench of a pod has around a station: cycles of its ports, and what it is told where they are chosen."""

from types import SimpleNamespace

import pytest

from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.pod.station import PodStation, UPLIChoice
from ualink_sim.pod.wire import Wire

SCENARIO = '[pod]\naccelerators = 2\nbifurcation = "2x2"\nchoosable_ports = {}\n[[workload]]\nkind = "uniform"\n'
BELOW = ("tx__valid", "tx__payload", "tx__ready", "rx__valid", "rx__payload", "local_fault", "remote_fault")


class Pins(SimpleNamespace):
    """The pins of the second station of each kind."""

    def __init__(self, *names):
        self.pins = {name: SimpleNamespace(value=0) for name in (*names, *(f"rs__{name}" for name in BELOW))}
        kinds = {f"acc__1__{name}": pin for name, pin in self.pins.items()}
        kinds |= {f"sw__{name.replace('__', '__1__', 1)}": pin for name, pin in self.pins.items() if "__" in name}
        super().__init__(**kinds, **{f"sw__{name}__1": self.pins[name] for name in names})


@pytest.mark.parametrize("kind", ["acc", "sw"])
def test_a_station_of_chosen_ports_carries_nothing_before_they_are_chosen(kind):
    """Nor do its wires, which are cut at both ends until then."""
    pins, wires = Pins("slot", "used"), [Wire(), Wire()]
    station = PodStation(pins, parse_scenario(SCENARIO.format("true"), "chosen"), kind, 1, wires)
    assert [wire.cut for wire in wires] == [1, 1]
    for used, slot in ((4, 3), (1, 0)):
        pins.pins["used"].value, pins.pins["slot"].value = used, slot
        assert station.slot() is None and station.chooses
    assert [wire.cut for wire in wires] == [1, 1]
    pins.pins["used"].value = 2
    for slot in (0, 1, 0):
        pins.pins["slot"].value = slot
        assert station.slot() == slot
    assert [wire.cut for wire in wires] == [0, 0] and not station.chooses


@pytest.mark.parametrize("kind", ["acc", "sw"])
def test_a_station_that_is_built_for_its_ports_carries_at_once(kind):
    pins, wires = Pins("slot"), [Wire()]
    pins.pins["slot"].value = 1
    station = PodStation(pins, parse_scenario(SCENARIO.format("false"), "built"), kind, 1, wires)
    assert (station.slot(), wires[0].cut) == (1, 0)


def test_what_moves_at_upli_is_told_when_it_changes():
    restart, moves = SimpleNamespace(value=0), SimpleNamespace(value=None)
    choice = UPLIChoice(SimpleNamespace(acc__1__restart=restart, acc__1__upli_moves=moves), 1)
    for told in (False, True, True, False):
        choice.tell(told)
        assert moves.value == int(told)
    assert not choice.restarts()
    restart.value = 1
    assert choice.restarts()
