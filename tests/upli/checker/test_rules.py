"""The rules as data, their page, and the judgement of the Python monitor on the same scripts."""

import tomllib

import pytest

from support.upli.violations import SCRIPTS
from support.upli.wire import CHANNELS
from ualink.upli.checker.rules import RULES, page
from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.rules import ProtocolError

MONITOR = {
    "early": "connection",
    "parity": "beat_parity",
    "addr_parity": "beat_parity",
    "data_parity": "beat_parity",
    "byte_en_parity": "beat_parity",
    "fields_parity": "beat_parity",
    "slot": "tdm_phase",
    "credit": "credit_overrun",
    "credit_early": "connection",
    "credit_port": "port",
    "credit_done": "init_done_sticky",
    "reserved": None,
    "message": "request",
    "address": "request",
    "boundary": "request",
    "full": "request",
    "atomic": "request",
    "num_beats": "request",
    "overlap": "data_overlap",
    "tag": "unknown_tag",
    "first": "first_data",
    "owner": "data_owner",
    "gap": "contiguous",
    "range": None,
    "element": None,
    "null": None,
    "channel": "response_channel",
    "same": "status",
    "isolate": None,
}
"""The monitor's name of a rule, without the channel; None: it has no such rule."""
SPECIAL = {"rd_rsp_num_beats": "num_beats", "req_tag": "tag_in_use", "orig_data_full": None}


class Wires:
    """Stands for a simulated device whose signals have the values of one cycle of a script."""

    def __init__(self):
        self.now = {}

    def __getattr__(self, path):
        return Wire(self, path)


class Wire:
    def __init__(self, wires, path):
        self._wires, self._name = wires, path
        self._path = tuple(int(part) if part.isdigit() else part for part in path.split("."))

    @property
    def value(self):
        return self._wires.now.get(self._path, 0)


def monitored(script):
    """(cycle, channel, rule) at which the Python monitor stops, or None."""
    wires = Wires()
    monitor = UPLIMonitor(UPLIBus.from_names(wires, lambda path: path), ports=script.ports)
    for cycle, values in enumerate([*script.cycles, script.tail(), script.tail()]):
        wires.now = values
        try:
            monitor.tick()
        except ProtocolError as error:
            return cycle, error.channel, error.rule
    return None


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_monitor_judges_alike(name):
    """The first cycle that breaks the rule is where the monitor stops, for the reason that it has a name for."""
    script = SCRIPTS[name](name)
    channel, kind = next(
        ((channel, name.removeprefix(f"{channel}_")) for channel in CHANNELS if name.startswith(channel)),
        ("handshake", name),
    )
    channel = "req" if name == "orig_data_first" else channel
    expected = SPECIAL.get(name, MONITOR.get(kind, kind))
    found = monitored(script)
    if expected is None:
        assert found is None
    else:
        assert found == (script.bad[0][0], channel, expected)


def test_page_is_what_the_rules_say(root):
    text = (root / "docs" / "upli-checker.md").read_text()
    assert text == page(), "run: python -m ualink.upli.checker.rules > docs/upli-checker.md"


def test_requirements_exist(root):
    known = set()
    for chapter in ("upli", "rst"):
        known |= set(tomllib.loads((root / "docs" / "requirements" / f"{chapter}.toml").read_text()))
    assert {number for rule in RULES for number in rule.requirements} <= known
