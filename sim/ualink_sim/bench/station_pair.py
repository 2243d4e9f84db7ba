"""Runs two stations of chosen ports."""

import json
import tempfile
from functools import cache
from pathlib import Path

from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.station import Station

from .. import late_inputs
from ..simulator import Model, SimulatorError, build_once
from .rows import Unavailable
from .station_top import StationTop, station_config
from .tl_patterns import Kind, Pattern

__all__ = ["MODES", "latencies", "throughput"]

MODES = {"1x4": 1, "2x2": 2, "4x1": 4}
"""Ports by what they are called."""
SETTLE = 20_000
"""Cycles before the window opens, in which all queues grow to their lengths."""
WINDOW = 3 * 4 * 42 * 160
"""What is packed repeats with 42 flits, and what of DL flits with 160, of one of four ports."""
OUTSTANDING = 256
TOP, STATION = "station_pair", "ualink_station"


@cache
def _model() -> Model:
    def sources() -> dict[str, str]:
        station = Station(station_config())
        top = StationTop(lambda _: Blackbox(station, STATION))
        return {f"{STATION}.v": to_verilog(station, STATION), f"{TOP}.v": to_verilog(top, TOP)}

    folder = Path(__file__).parent
    hardware = ("station_device.py", "station_top.py", "link_wire.py", "tl_pair_*.py")
    own_code = [path.read_text() for pattern in hardware for path in sorted(folder.glob(pattern))]
    try:
        return build_once(sources, TOP, "\0".join(own_code), blocks={STATION: late_inputs.station(station_config())})
    except SimulatorError as error:
        raise Unavailable(str(error)) from None


def _simulate(test: str, mode: str, kind: Kind, **job) -> dict:
    ports = MODES[mode]
    # As of ``BifurcationMode``.
    levels = {**Pattern(kinds=(kind,)).levels(), "wanted": ports >> 1}
    model = _model()
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        result = Path(folder, "result")
        environment = {
            "UALINK_JOB": json.dumps({"levels": levels, "ports": ports, **job}),
            "UALINK_RESULT": str(result),
        }
        model.run("ualink_sim.bench.station_bench", testcase=test, environment=environment)
        return json.loads(result.read_text())


@cache
def throughput(mode: str, kind: Kind) -> float:
    """Beats of data in a cycle out of the station that gives fewer, both asking for ``kind`` all the time."""
    found = _simulate("traffic", mode, kind, outstanding=OUTSTANDING, settle=SETTLE, window=WINDOW)
    return min(found["beats"]) / WINDOW


@cache
def latencies(mode: str, kind: Kind, tries: int) -> tuple[int, ...]:
    """Cycles of each of ``tries`` Requests on idle links, from UPLI to UPLI with the wire."""
    return tuple(_simulate("latency", mode, kind, tries=tries)["latencies"])
