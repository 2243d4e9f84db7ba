"""docs/integration.md: its tables are those of the code, and what it says of clocks, memories and names is so."""

import re

import pytest

from support.integration_page import PAGE, tables, with_tables
from ualink.config import PhyConfig, StationConfig
from ualink.emit.ports import described_ports
from ualink.station import Station
from ualink.station_registers import StationRegisters

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text()


def test_tables_are_those_of_the_code(page):
    assert with_tables(page) == page


def test_every_table_has_its_place(page):
    assert set(re.findall(r"<!-- made by tests/support/integration_page.py: (\w+) -->", page)) == tables().keys()


def test_a_wrong_bit_would_be_seen(page):
    wrong = page.replace("| `rs.tx.payload` | 513:512 |", "| `rs.tx.payload` | 512:511 |")
    assert wrong != page
    assert with_tables(wrong) == page


def test_ports_that_the_text_names_exist(page):
    chosen = StationConfig(ports=4, choosable_ports=True)
    configs = StationConfig(separate_upli_clock=True), StationConfig(phy=PhyConfig()), chosen
    rows = [row for config in configs for row in described_ports(Station(config))]
    names = {re.sub(r"__\d+__", "__n__", row["name"]) for row in rows}
    text = re.sub(r"<!-- made .*?<!-- end -->", "", page, flags=re.DOTALL)
    named = set(re.findall(r"`((?:dl|rs|upli|tl)_\w+|clk|rst)`", text))
    assert len(named) >= 9
    windows = StationRegisters(StationConfig(separate_upli_clock=True, phy=PhyConfig())).blocks.keys()
    assert named <= names | {row["path"].split(".")[0] for row in rows} | windows
