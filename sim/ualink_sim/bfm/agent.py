"""What every bus model has: a ``tick`` per cycle, a ``reset``, and a coroutine that calls them."""

from abc import ABC, abstractmethod
from typing import Any

from cocotb.triggers import FallingEdge, ReadOnly

__all__ = ["BusModel"]


class BusModel(ABC):
    """Something that lives on a UPLI interface and moves once per cycle, on the falling edge of UPLIClk.

    On that edge the device's outputs are settled, and what is driven is seen at the next rising edge.
    """

    passive = False
    """It only looks, and must see what others drive on the same edge."""

    @abstractmethod
    def tick(self) -> Any:
        """One cycle."""

    @abstractmethod
    def reset(self) -> Any:
        """Back to the state after reset; nothing survives."""

    async def start(self, clock: Any, reset: Any = None, *, active_low: bool = False) -> None:
        """Call ``tick`` on every falling edge of ``clock``, forever; ``reset()`` instead while ``reset`` is active."""
        fall, settled = FallingEdge(clock), ReadOnly()
        in_reset = False
        while True:
            await fall
            if self.passive:
                await settled
            if reset is not None and bool(int(reset.value)) != active_low:
                if not in_reset:
                    self.reset()
                in_reset = True
            else:
                in_reset = False
                self.tick()
