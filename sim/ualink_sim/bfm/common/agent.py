"""What every bus model has: a ``tick`` per cycle, a ``reset``, a coroutine that calls them, and waiting with an end."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from cocotb.triggers import FallingEdge, First, ReadOnly, Timer

__all__ = ["BusModel", "ModelTimeoutError"]


class ModelTimeoutError(TimeoutError):
    """What a model or a bench waited for did not come; the message says what is outstanding."""


class BusModel(ABC):
    """Something that lives on a UPLI interface and moves once per cycle, on the falling edge of UPLIClk.

    On that edge the device's outputs are settled, and what is driven is seen at the next rising edge.
    """

    passive = False
    """It only looks, and must see what others drive on the same edge."""

    standstill_us = 100
    """Simulated time without a falling edge after which a model counts as not started, or its clock as stopped."""

    moves = 0
    """Falling edges that ``start`` has seen, in reset or out of it."""

    _clock: Any = None

    @abstractmethod
    def tick(self) -> Any:
        """One cycle."""

    @abstractmethod
    def reset(self) -> Any:
        """Back to the state after reset; nothing survives."""

    def pending(self) -> str:
        """What is outstanding, for whoever waited in vain."""
        return "nothing is known to be outstanding"

    async def start(self, clock: Any, reset: Any = None, *, active_low: bool = False) -> None:
        """Call ``tick`` on every falling edge of ``clock``, forever; ``reset()`` instead while ``reset`` is active."""
        self._clock = clock
        fall, settled = FallingEdge(clock), ReadOnly()
        in_reset = False
        while True:
            await fall
            self.moves += 1
            if self.passive:
                await settled
            if reset is not None and bool(int(reset.value)) != active_low:
                if not in_reset:
                    self.reset()
                in_reset = True
            else:
                in_reset = False
                self.tick()

    async def until(self, condition: Callable[[], bool], what: str, *, cycles: int = 100_000) -> None:
        """Wait until ``condition()`` holds; ModelTimeoutError, with ``what`` was waited for, after so many cycles.

        For a model that is started; a bench with its own loop counts for itself.
        """
        await self._moving()
        for _ in range(cycles):
            if condition():
                return
            await self._moving(FallingEdge(self._clock))
        raise ModelTimeoutError(f"{type(self).__name__}: {what} did not come in {cycles:,} cycles; {self.pending()}")

    async def _moving(self, trigger: Any = None) -> None:
        """Wait for ``trigger``; ModelTimeoutError when none comes because the model does not move."""
        if trigger is None:
            await Timer(1, unit="step")  # Who was started just before this has begun then.
            if self._clock is not None:
                return
        moves = self.moves
        standstill = Timer(self.standstill_us, unit="us")
        if trigger is None:
            await standstill
        elif await First(trigger, standstill) is not standstill:
            return
        if self.moves == moves:
            raise self._stands_still()

    def _stands_still(self) -> ModelTimeoutError:
        return ModelTimeoutError(
            f"{type(self).__name__} has not moved for {self.standstill_us} us: its coroutine start(clock, reset) was "
            f"not started, or its clock stands still; {self.pending()}"
        )
