"""Receiving side of one UPLI channel: its beats and the return of their credits (UALink_200 §2.6)."""

from collections import deque
from collections.abc import Callable, Iterator

from .beat_reader import BeatReader
from .bus import ChannelBus, writer
from .channel import Beat
from .slots import Slots

__all__ = ["ChannelReceiver"]

MAX_RETURN = 4
"""Credits of one class and VC that a port can return in a cycle."""


class ChannelReceiver(BeatReader):
    """Receives one channel and returns its credits.

    ``pool`` and ``vc`` credits are released at the start, per port. The credit of a beat goes back ``hold()`` cycles
    after it came, at once when that is 0, so that a test can press on the sender.
    """

    def __init__(self, bus: ChannelBus, slots: Slots, *, pool: int, vc: tuple[int, ...], hold: Callable[[], int]):
        super().__init__(bus, slots)
        self._owed: list[deque[tuple[int, int, int]]] = [deque() for _ in range(self.ports)]
        self._initial = [deque(self._split(pool, *vc)) for _ in range(self.ports)]
        self._busy = True
        self._hold = hold
        self._cycle = 0
        self._returning = False
        self._done = False
        credit = bus.credit
        self._credit_init_done, self._credit_vld = writer(credit.init_done), writer(credit.vld)
        self._credit_vld_parity, self._credit_parity = writer(credit.vld_parity), writer(credit.parity)
        self._credit_pool = writer(credit.pool)
        self._credit_ports = [*map(writer, credit.port_vc), *map(writer, credit.port_num)]

    @staticmethod
    def _split(pool: int, *vcs: int) -> Iterator[tuple[int, int, int]]:
        """Initial releases as (pool, vc, count) with at most four credits each."""
        for is_pool, vc, count in ((1, 0, pool), *((0, vc, count) for vc, count in enumerate(vcs))):
            for released in range(0, count, MAX_RETURN):
                yield is_pool, vc, min(count - released, MAX_RETURN)

    def sample(self, cycle: int) -> Beat | None:
        """The beat of this cycle, if there is one."""
        self._cycle = cycle
        beat = super().sample(cycle)
        if beat is not None:
            self._busy = True
            self._owed[beat["port_id"]].append((cycle + self._hold(), beat["pool"], beat["vc"]))
        return beat

    def drive_credits(self) -> None:
        """Return what is due; call it once per cycle when the direction of the credits is open."""
        if not self._busy:
            return
        valid = pool = 0
        vcs, nums = [0] * 4, [0] * 4
        for port in range(self.ports):
            give = self._due(port)
            if give is not None:
                valid |= 1 << port
                pool |= give[0] << port
                vcs[port], nums[port] = give[1], give[2] - 1
                self.accounts.grant(port, *give)
        if valid or self._returning:
            self._credit_vld(valid)
            self._credit_vld_parity(valid.bit_count() & 1)
            self._credit_pool(pool)
            for write, value in zip(self._credit_ports, (*vcs, *nums)):
                write(value)
            self._credit_parity((pool.bit_count() + sum(v.bit_count() for v in (*vcs, *nums))) & 1)
            self._returning = bool(valid)
        elif not self._done:
            self._done = True
            self.init_done = [self._cycle] * self.ports
            self._credit_init_done((1 << self.ports) - 1)
        else:
            self._busy = any(self._owed)

    def _due(self, port: int) -> tuple[int, int, int] | None:
        if self._initial[port]:
            return self._initial[port].popleft()
        owed = self._owed[port]
        if not owed or owed[0][0] > self._cycle:
            return None
        _, pool, vc = owed.popleft()
        count = 1
        while count < MAX_RETURN and owed and owed[0][0] <= self._cycle and owed[0][1:] == (pool, vc):
            owed.popleft()
            count += 1
        self.accounts.settle(port, pool, vc, count)
        return pool, vc, count
