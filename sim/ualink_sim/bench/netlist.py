"""Figures of a mapped netlist, as Yosys writes it in JSON."""

from collections import Counter
from graphlib import TopologicalSorter

__all__ = ["cells", "lut_levels"]

_LOGIC = {"LUT4": 1, "PFUMX": 0, "L6MUX21": 0, "CCU2C": 1, "TRELLIS_DPR16X4": 1}


def cells(module: dict) -> Counter:
    """How many cells of each type a module has."""
    return Counter(cell["type"] for cell in module["cells"].values())


def lut_levels(module: dict) -> int:
    """Most ECP5 LUTs between two registers, memories or ports.

    The multiplexers of a slice that make one large LUT of several add nothing; each two bits of a carry chain count as
    one. What is written into a LUT RAM does not come out of it in the same cycle.
    """
    driver: dict[int, str] = {}
    inputs: dict[str, list] = {}
    for name, cell in module["cells"].items():
        if cell["type"] in _LOGIC:
            ports = cell["port_directions"]
            inputs[name] = [
                bit
                for port, bits in cell["connections"].items()
                if ports[port] == "input" and (cell["type"] != "TRELLIS_DPR16X4" or port == "RAD")
                for bit in bits
            ]
            driver.update(
                (bit, name)
                for port, bits in cell["connections"].items()
                if ports[port] == "output"
                for bit in bits
                if isinstance(bit, int)
            )
    before = {name: {driver[bit] for bit in bits if bit in driver} for name, bits in inputs.items()}
    levels: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        cost = _LOGIC[module["cells"][name]["type"]]
        levels[name] = cost + max((levels[other] for other in before[name]), default=0)
    return max(levels.values(), default=0)
