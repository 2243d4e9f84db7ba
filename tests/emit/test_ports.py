"""Ports of the generated tops: each one is described, has its clock and its idle value, and they are true."""

import json
import re
from itertools import pairwise

import pytest

from ualink.config import ControllerConfig, PhyConfig, StationConfig, SwitchConfig, SwitchDeviceConfig
from ualink.controller import Controller
from ualink.emit.ports import described_ports, group_texts
from ualink.station import Station
from ualink.switch.device import SwitchDevice
from ualink.switch.switch import Switch

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")

CHOSEN = StationConfig(ports=4, choosable_ports=True)
TOPS = {
    "one port": lambda: Station(StationConfig()),
    "four ports": lambda: Station(StationConfig(ports=4)),
    "chosen ports": lambda: Station(CHOSEN),
    "controller of chosen ports": lambda: Controller(ControllerConfig(station=CHOSEN)),
    "switch of chosen ports": lambda: Switch(SwitchConfig(stations=2, route_entries=8, station=CHOSEN)),
    "switch of chosen ports on its bus": lambda: SwitchDevice(
        SwitchDeviceConfig(switch=SwitchConfig(stations=2, route_entries=8, station=CHOSEN))
    ),
    "two clocks": lambda: Station(StationConfig(ports=2, separate_upli_clock=True)),
    "with reconciliation": lambda: Station(StationConfig(ports=2, separate_upli_clock=True, phy=PhyConfig())),
    "controller": lambda: Controller(ControllerConfig(station=StationConfig(ports=2, separate_upli_clock=True))),
    "controller on APB": lambda: Controller(ControllerConfig(bus="apb", station=StationConfig(phy=PhyConfig()))),
    "switch with reconciliation": lambda: Switch(
        SwitchConfig(stations=2, route_entries=8, station=StationConfig(phy=PhyConfig()))
    ),
    "switch": lambda: Switch(SwitchConfig(stations=2, route_entries=8)),
    "switch on its bus": lambda: SwitchDevice(SwitchDeviceConfig(switch=SwitchConfig(stations=2, route_entries=8))),
}


@pytest.fixture(scope="module", params=TOPS)
def top(request):
    return TOPS[request.param]()


def test_every_port_has_everything(top):
    rows = described_ports(top)
    keys = {"name", "direction", "width", "path", "clock", "idle", "description"}
    clocks = {row["name"] for row in rows if row["name"].endswith("clk")}
    for row in rows:
        assert row.keys() - {"fields"} == keys
        assert row["direction"] in ("input", "output") and row["width"] >= 1
        assert row["clock"] in clocks | {"asynchronous"}
        assert 0 <= row["idle"] < 1 << row["width"]
        assert re.fullmatch(r"[A-Z0-9].{7,}\.", row["description"]), row
        assert not re.search(r"``|as of|\(\*\)", row["description"]), row
    assert len({row["name"] for row in rows}) == len(rows)
    json.dumps(rows)


def test_every_group_is_described(top):
    groups = {row["path"].split(".")[0] for row in described_ports(top)} - {"clk", "rst", "upli_clk", "upli_rst"}
    texts = group_texts(top)
    assert groups == texts.keys()
    assert all(len(text) > 8 for text in texts.values())


def test_ports_of_the_standard_have_its_names():
    told = {row["path"]: row["description"] for row in described_ports(Station(StationConfig()))}
    assert told["upli_completer.req.src_phys_acc_id"].startswith("ReqSrcPhysAccID: ")
    assert told["upli_originator.rd_rsp.credit.port_num.2"].startswith("RdRspCreditPort2Num: ")
    assert told["upli_completer.orig_data.data_parity"].endswith("(UALink_200 Table 2-14).")
    assert told["dl_status.0.tx_replay"] == "A replay is being sent."
    assert told["dl_status.0.crc_errors"] == "Data flits with bad CRC. Wraps around."


def test_a_member_without_documentation_is_refused():
    class Undocumented(Station):
        """Says nothing of its members."""

    with pytest.raises(LookupError, match="Undocumented does not say what its member upli_completer is for"):
        described_ports(Undocumented(StationConfig()))


def test_fields_of_structures_lie_side_by_side(top):
    rows = [row for row in described_ports(top) if "fields" in row]
    below = "rs" if "rs" in top.signature.members else "pcs"
    firmware = {"dl_config"} if "dl_config" in top.signature.members else set()
    assert {below} | firmware <= {row["path"].split(".")[0] for row in rows}
    for row in rows:
        bits = [tuple(map(int, field["bits"].split(":"))) for field in row["fields"]]
        assert bits[0][1] == 0 and bits[-1][0] == row["width"] - 1
        assert all(after[1] == before[0] + 1 for before, after in pairwise(bits))


def test_idle_values_are_those_of_the_signatures():
    idle = {row["path"]: row["idle"] for row in described_ports(Station(StationConfig(ports=2)))}
    assert idle["dl_config.1.enable"] == 0
    assert idle["dl_config.1.channel_0_online"] == 1
    assert idle["dl_config.0.pace"] == idle["dl_status.1.partner_rate"] == 31_250
