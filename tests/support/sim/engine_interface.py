"""The engine of a pod by itself: a library that Python calls as the model does, with a hand on the wires.

Accelerator 0 asks itself: what it drives as Originator it sees as Completer, and the other way round.
"""

import ctypes
import subprocess
from functools import cache
from pathlib import Path

from support.bfm.fake_interface import Wires
from ualink_sim.pod.engine.job import encode
from ualink_sim.pod.engine.ports import MODULE, devices_of, engine_ports
from ualink_sim.pod.engine.results import read_found
from ualink_sim.pod.job import Job
from ualink_sim.pod.run import ENGINE
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.pod.top import make_controller, make_switch
from ualink_sim.simulator import tools

__all__ = ["EngineInterface", "compile_engine"]

BIFURCATIONS = {1: "x4", 2: "2x2", 4: "4x1"}
SCENARIO = '[pod]\naccelerators = 2\nbifurcation = "{}"\n[[workload]]\nkind = "uniform"\n'
ASKS, ANSWERS = "acc__0__upli_completer__", "acc__0__upli_originator__"


def compile_engine(folder: Path) -> Path:
    """The engine as a library."""
    library = folder / "engine.so"
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    with tools() as environment:
        include = Path(environment["VERILATOR_ROOT"], "include", "vltstd")
        subprocess.run([*command, f"-I{include}", str(ENGINE / "engine.cpp"), "-o", str(library)], check=True)
    return library


@cache
def _pod(ports):
    """A pod whose stations have so many ``ports``, and what an engine sees of it."""
    scenario = parse_scenario(SCENARIO.format(BIFURCATIONS[ports]), "pod.toml")
    devices = devices_of(make_controller(scenario.switch).signature, 2, make_switch(scenario.switch).signature)
    return scenario, engine_ports(devices)


class EngineInterface:
    """The engine that ``library`` is, with ``requests`` of accelerator 0 to itself; ``step`` is one cycle.

    ``hand(wires, cycle)`` is called once what was driven has settled, before the engine sees it.
    """

    def __init__(
        self, library, monkeypatch, folder, requests, *, ports=1, hand=lambda wires, cycle: None, capture=None
    ):
        scenario, self._ports = _pod(ports)
        self._library, self._requests, self._hand = ctypes.CDLL(str(library)), requests, hand
        self._found = folder / "found"
        (folder / "job").write_bytes(encode(Job(scenario, requests, capture), self._ports, self._found))
        monkeypatch.setenv("UALINK_ENGINE", str(folder / "job"))
        self.wires, self.cycle, self.topology = Wires(), 0, scenario.pod.topology
        self._driven = [0] * (self._ports.parts * self._ports.driven)
        self._told = [(ctypes.c_uint32 * 2)(), (ctypes.c_uint32 * 1)(), ctypes.c_ubyte(), ctypes.c_ubyte()]

    @property
    def done(self) -> int:
        """Requests that have ended."""
        return self._told[1][0]

    @property
    def failed(self) -> bool:
        """A rule was broken."""
        return bool(self._told[3].value)

    def step(self) -> None:
        """A cycle: the engine sees the wires as they are, and drives the next."""
        self.cycle += 1
        self._hand(self.wires, self.cycle)
        shown = [0] * (self._ports.parts * self._ports.shown)
        for name, place in self._mine(driven=False):
            value = self.wires.get(name)
            for word in range(place.words):
                shown[place.at + word] = value >> 32 * word & 0xFFFFFFFF
        # In whatever order: the engine moves when all parts have been shown.
        for part in reversed(range(self._ports.parts)):
            words = (ctypes.c_uint32 * self._ports.shown)(*shown[part * self._ports.shown :][: self._ports.shown])
            assert self._call("show", part, words) == (part == 0)
        cycle, done, wake, failed = self._told
        self._call("tick", ctypes.c_ubyte(1), cycle, done, ctypes.byref(wake), ctypes.byref(failed))
        for part in range(self._ports.parts):
            words = (ctypes.c_uint32 * self._ports.driven)()
            self._call("drive", part, words)
            self._driven[part * self._ports.driven : (part + 1) * self._ports.driven] = words
        for name, place in self._mine(driven=True):
            value = sum(self._driven[place.at + word] << 32 * word for word in range(place.words))
            self.wires.wire(name).value = value
        self.wires.settle()

    def end(self):
        """What it has found."""
        self._call("end")
        return read_found(self._found, self.topology.accelerators, self.topology.ports, len(self._requests))

    def _call(self, name, *arguments):
        function = getattr(self._library, f"{MODULE}_{name}")
        function.restype = ctypes.c_ubyte if name == "show" else None
        return function(*arguments)

    def _mine(self, *, driven: bool):
        """Signals that accelerator 0 sees or drives, by their path in the interface."""
        for name, place in self._ports.places.items():
            for prefix in (ASKS, ANSWERS):
                if name.startswith(prefix) and place.driven == driven:
                    yield name.removeprefix(prefix).replace("__", "."), place
