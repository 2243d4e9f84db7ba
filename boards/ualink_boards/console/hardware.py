"""The hardware of a simulated board: its compiled model, and the pins at which its serial line is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ualink_sim.simulator import Model

__all__ = ["CLOCK_HZ", "CYCLES_PER_BIT", "SIMULATED_BAUD", "Hardware", "hardware_of"]

CYCLES_PER_BIT = 8
SIMULATED_BAUD = 1_000_000
CLOCK_HZ = CYCLES_PER_BIT * SIMULATED_BAUD
"""What the simulated design believes; how fast the simulation is does not matter to the line."""


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """``model`` finds or makes the compiled model, which takes ``minutes`` when it is new.

    ``clocks`` are ports that all have the same clock, ``reset``, ``rx`` and ``tx`` are ports, ``inputs`` those that
    keep a value.
    """

    model: Callable[[], "Model"]
    minutes: int
    clocks: tuple[str, ...] = ("clk",)
    reset: str = "rst"
    rx: str = "rx"
    tx: str = "tx"
    inputs: Mapping[str, int] = field(default_factory=dict)

    def pins(self) -> dict[str, Any]:
        """What the bench needs to know of the ports."""
        return {
            "clocks": list(self.clocks),
            "reset": self.reset,
            "rx": self.rx,
            "tx": self.tx,
            "inputs": dict(self.inputs),
        }


def hardware_of(name: str, make_top: Callable[[int, int], Any], minutes: int = 1) -> Hardware:
    """Of a component with the members ``rx`` and ``tx`` that ``make_top`` makes for a clock in Hz and a baud rate."""

    def model() -> "Model":
        from ualink.emit.verilog import to_verilog
        from ualink_sim.simulator import build_once

        top = f"board_{name}"
        return build_once(lambda: {f"{top}.v": to_verilog(make_top(CLOCK_HZ, SIMULATED_BAUD), top)}, top, _own_code())

    return Hardware(model=model, minutes=minutes)


def _own_code() -> str:
    """Everything in this package that hardware may be made of."""
    folder = Path(__file__).resolve().parents[1]
    return "\0".join(path.read_text() for path in sorted(folder.rglob("*.py")))
