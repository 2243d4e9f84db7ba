"""A station of a simulated pod as the bench sees it: what is below it, in the cycles of its ports, and its choice."""

from collections.abc import Iterable
from typing import Any

from ..bfm.upli.bus import reader
from .block_port import BlockPort
from .link import BeatPort
from .scenario import Scenario
from .wire import Wire
from .wiring import make_port

__all__ = ["PodStation", "UPLIChoice"]


class PodStation:
    """Station ``device`` of the pod ``dut``, of an accelerator ("acc") or of the switch ("sw").

    Where the ports are chosen nothing comes from it, nor gets to it, while it does not use those of the pod; and
    ``wires`` of its links carry nothing.

    Attributes
    ----------
    kind, device : which one it is.
    below : what it sends and receives.
    chooses : it has not been seen to use the ports of the pod yet.
    """

    def __init__(self, dut: Any, scenario: Scenario, kind: str, device: int, wires: Iterable[Wire]):
        def handle(member: str) -> Any:
            return getattr(dut, f"acc__{device}__{member}" if kind == "acc" else f"sw__{member}__{device}")

        self.kind, self.device = kind, device
        self.below: BeatPort | BlockPort = make_port(dut, scenario, kind, device)
        self._ports = scenario.pod.ports
        self._slot = reader(handle("slot"), "slot")
        self.chooses = scenario.pod.choosable_ports
        if self.chooses:
            self._used = reader(handle("used"), "used")
            # Cut until both ends have begun: the first slot that arrives is then a whole one.
            self._wires = list(wires)
            for wire in self._wires:
                wire.cut += 1

    def slot(self) -> int | None:
        """The port that this cycle belongs to; None while the station does not use the ports of the pod."""
        if self.chooses:
            # One-hot, as many as are used.
            if self._used() != self._ports:
                return None
            self.chooses = False
            for wire in self._wires:
                wire.cut -= 1
        return self._slot() if self._ports > 1 else 0


class UPLIChoice:
    """What a station of chosen ports and the accelerator before it tell each other beside UPLI."""

    def __init__(self, dut: Any, accelerator: int):
        self._restart = reader(getattr(dut, f"acc__{accelerator}__restart"), "restart")
        self._moves = getattr(dut, f"acc__{accelerator}__upli_moves")
        self._told: bool | None = None

    def restarts(self) -> bool:
        """The station is in reset in this cycle."""
        return bool(self._restart())

    def tell(self, moves: bool) -> None:
        """There is a beat for the station, or one of it, if ``moves``: the number of its ports must not change."""
        if moves != self._told:
            self._told = moves
            self._moves.value = int(moves)
