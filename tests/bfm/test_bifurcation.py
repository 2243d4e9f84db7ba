"""Firmware chooses how many ports a generated controller uses."""

import pytest

import ualink.dl.links
import ualink.station
from support.bfm.bifurcation import CONFIG, DropLayer, UpLink
from ualink.controller import Controller
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import build

pytestmark = [
    pytest.mark.xdist_group("firmware"),
    pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a test of the bench."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ualink.dl.links, "DataLink", UpLink)
        patch.setattr(ualink.station, "TransactionLayer", DropLayer)
        controller = Controller(CONFIG)
        model = build({"controller.v": to_verilog(controller, "controller")}, "controller")
    table = tmp_path_factory.mktemp("bifurcation") / "controller.json"
    table.write_text(controller.registers.to_json())
    return lambda testcase: model.run(
        "support.bfm.bifurcation_bench", testcase=testcase, environment={"TABLE": str(table)}
    )


@pytest.mark.req("PHY-008", "PHY-009")
def test_one_two_and_four_ports(run):
    run("one_two_and_four")


@pytest.mark.req("PHY-007")
def test_not_while_a_link_is_up(run):
    run("not_while_a_link_is_up")


def test_not_while_something_moves(run):
    run("not_while_something_moves")


def test_what_is_not_there_is_told(run):
    run("what_is_not_there")
