"""The inputs that act on outputs of parts of pods in the same cycle are those that are named."""

import os

import pytest

from ualink.config import PhyConfig, StationConfig, SwitchConfig
from ualink.emit.door_table import SMALL
from ualink.emit.doors import doors
from ualink.presets import station_preset
from ualink.station import Station
from ualink.switch.core_agent import CoreAgent
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_bank import RequestBank
from ualink.switch.response_bank import ResponseBank
from ualink_sim import late_inputs
from ualink_sim.pod.top import make_controller, make_switch

KINDS = {
    "one port": SMALL,
    "four ports": SMALL.replace(ports=4),
    "chosen ports": SMALL.replace(ports=4, choosable_ports=True),
    "reconciliation": SMALL.replace(phy=PhyConfig()),
    "compact": station_preset("compact"),
    "balanced": station_preset("balanced"),
}
kinds = pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
WHOLE = KINDS if os.environ.get("UALINK_SOAK") else ("one port",)
"""A station takes half a minute; the simulations of the tests look at those of all kinds (``UALINK_CHECK_INPUTS``)."""


def _acting(component) -> set[str]:
    """Its inputs, named as in Verilog, that act on outputs in the same cycle."""
    return {name.replace(".", "__") for door in doors(component, ("",))[""] for name in door.inputs}


def _switch(config: StationConfig, **others) -> SwitchConfig:
    return SwitchConfig(stations=2, station=config, **others)


@kinds
@pytest.mark.parametrize("side", ["ingress", "egress"])
def test_inputs_of_an_agent_of_the_core(config, side):
    assert _acting(CoreAgent(side, config)) == set(late_inputs.core_agent(side, config))


@kinds
@pytest.mark.parametrize("injection", [False, True])
def test_inputs_of_the_registers_of_a_station_of_a_switch(config, injection):
    windows = make_switch(_switch(config, injection=injection)).station_windows
    assert _acting(windows) == set(late_inputs.switch_registers(config))


@pytest.mark.parametrize("ingresses", [1, 3])
def test_inputs_of_banks(ingresses):
    depths = QueueDepths.of_credits(SMALL.upli)
    assert _acting(RequestBank(ingresses, 2, depths)) == set(late_inputs.BANK)
    assert _acting(ResponseBank("rd_rsp", ingresses, 2, depths.rd_rsp, depths.shared)) == set(late_inputs.BANK)


@pytest.mark.soak
@pytest.mark.parametrize("kind", WHOLE)
def test_inputs_of_a_station(kind):
    config = _switch(KINDS[kind]).station_of_switch
    assert _acting(Station(config)) == set(late_inputs.station(config))


@pytest.mark.soak
@pytest.mark.parametrize("kind", WHOLE)
def test_inputs_of_a_controller(kind):
    assert _acting(make_controller(_switch(KINDS[kind]))) == set(late_inputs.CONTROLLER)
