"""One direction of a link for simulations: latency, residual bit errors and lost flits, repeatable by seed."""

import math
import random
from collections import deque
from dataclasses import dataclass

__all__ = ["BAD", "CONTROL", "CUT", "DATA", "GOOD", "IDLE", "REMOTE_FAULT", "START", "Beat", "Noise", "Wire"]

DATA, IDLE, REMOTE_FAULT = 0, 1, 2
"""Kinds of a transmitted flit slot, as ``ualink.phy.interface.TxKind``."""

START = 3
"""Kind of the first beat of a slot that begins with a Start sequence; the beats behind it have that of the slot."""

CUT = 4
"""Kind of a beat that arrives while the cable is cut."""

GOOD, BAD, CONTROL = 0, 1, 2
"""What the receiver is told of a slot with its last beat, as ``ualink.phy.interface.SlotStatus``."""

BEAT_BITS = 512

Beat = tuple[int, bool, bool, int, int]
"""512 bits, first beat of a slot, last beat of a slot, status (with the last beat), kind."""

DARKNESS: Beat = (0, False, False, BAD, CUT)


@dataclass(frozen=True)
class Noise:
    """What disturbs a wire.

    ``bit_error_rate`` flips bits of data flits after FEC, so that only the CRC shows them: their slots stay GOOD.
    With probability ``drop_rate`` a loss begins at a slot and lasts ``burst`` slots, whatever they hold.
    """

    bit_error_rate: float = 0.0
    drop_rate: float = 0.0
    burst: int = 1

    def __post_init__(self):
        if self.burst < 1:
            raise ValueError(f"burst is {self.burst}; it must be 1 or more")
        for key in ("bit_error_rate", "drop_rate"):
            rate = getattr(self, key)
            if not 0 <= rate < 1:
                raise ValueError(f"{key} is {rate}; it must be from 0 to below 1")


QUIET = Noise()


class Wire:
    """Carries whole flit slots of ten beats; ``cycle`` is called once per clock cycle.

    A slot that is lost to ``noise`` arrives BAD and without content. ``name`` and ``seed`` together fix every random
    choice.

    While ``cut`` is not 0 nothing gets through, and what arrives in its place is of kind CUT. A slot that is under way
    when the cable is cut arrives in part; when it is whole again, the next slot is the first that arrives.

    Attributes
    ----------
    slots, data_flits, lost_slots, lost_flits, errored_flits, flipped_bits : counts since the start, at the transmitting
        end; ``lost_flits`` are the lost and the cut slots that held a data flit, ``errored_flits`` the flits with
        flipped bits.
    cut_slots : slots that the cut cable did not carry, or not whole.
    cut : how many cuts are in force.
    """

    def __init__(self, latency_cycles: int = 1, noise: Noise = QUIET, *, seed: int = 1, name: str = ""):
        if latency_cycles < 1:
            raise ValueError(f"latency_cycles is {latency_cycles}; it must be 1 or more")
        self.slots = self.data_flits = self.lost_slots = self.lost_flits = self.errored_flits = self.flipped_bits = 0
        self.cut_slots = self.cut = 0
        self._dark = False
        self._burst = noise.burst
        self._bit_gaps = _Gaps(noise.bit_error_rate, f"{seed}/{name}/bits")
        self._slot_gaps = _Gaps(noise.drop_rate, f"{seed}/{name}/slots")
        self._bits_to_error = self._bit_gaps.draw()
        self._slots_to_loss = self._slot_gaps.draw()
        self._loss_left = 0
        self._lost = self._errored = False
        self._in_flight: deque[Beat | None] = deque([None] * latency_cycles)

    def cycle(self, data: int | None = None, kind: int = DATA, first: bool = False, last: bool = False) -> Beat | None:
        """Put one beat on the wire (``data`` None: nothing in this cycle) and return the beat that arrives, if any."""
        flight = self._in_flight
        if first and data is not None:
            self._begin_slot(kind)
        elif self.cut and not self._dark:
            self._go_dark(data is not None, kind)
        if self._dark:
            flight.append(DARKNESS)
        elif data is None:
            flight.append(None)
        else:
            if kind != DATA or self._lost:
                data = 0
            elif self._bits_to_error < BEAT_BITS:
                data = self._flip(data)
            else:
                self._bits_to_error -= BEAT_BITS
            status = BAD if self._lost else CONTROL if kind != DATA else GOOD
            if last and self._errored:
                self.errored_flits += 1
            flight.append((data, first, last, status, kind))
        return flight.popleft()

    def _begin_slot(self, kind: int) -> None:
        self.slots += 1
        self.data_flits += kind == DATA
        self._errored = False
        if self._loss_left == 0 and self._slots_to_loss == 0:
            self._loss_left = self._burst
            self._slots_to_loss = self._slot_gaps.draw()
        elif self._loss_left == 0:
            self._slots_to_loss -= 1
        self._lost = self._loss_left > 0
        if self._lost:
            self._loss_left -= 1
            self.lost_slots += 1
        self._dark = self.cut > 0
        self.cut_slots += self._dark
        self.lost_flits += kind == DATA and (self._lost or self._dark)

    def _go_dark(self, within_slot: bool, kind: int) -> None:
        """The cable is cut, maybe within a slot of this kind."""
        self._dark = True
        if within_slot:
            self.cut_slots += 1
            self.lost_flits += kind == DATA and not self._lost

    def _flip(self, data: int) -> int:
        position = self._bits_to_error
        while position < BEAT_BITS:
            data ^= 1 << position
            self.flipped_bits += 1
            position += 1 + self._bit_gaps.draw()
        self._bits_to_error = position - BEAT_BITS
        self._errored = True
        return data


class _Gaps:
    """Numbers of untouched trials between two events of probability ``rate``: one draw per event, none per trial."""

    NEVER = 1 << 200

    def __init__(self, rate: float, seed: str):
        self._random = random.Random(seed)
        self._scale = 1 / math.log1p(-rate) if rate else 0.0

    def draw(self) -> int:
        if not self._scale:
            return self.NEVER
        return int(math.log(1.0 - self._random.random()) * self._scale)
