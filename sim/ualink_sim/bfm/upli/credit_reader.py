"""Reading side of a credit return interface (UALink_200 §2.6)."""

from collections.abc import Sequence
from typing import NamedTuple

from .bus import ChannelBus, reader
from .rules import ProtocolError

__all__ = ["CreditReader", "CreditReturn"]


class CreditReturn(NamedTuple):
    """``number`` credits of one class and VC for ``port``; ``initial`` while its first release goes on."""

    port: int
    pool: int
    vc: int
    number: int
    initial: bool


class CreditReader:
    """Gives the credits that come back on one channel, checked for parity, port, connection and CreditInitDone.

    ``open`` is kept by its user: credits may come. ``init_done[port]`` is the cycle since which CreditInitDone is seen,
    None before.
    """

    def __init__(self, bus: ChannelBus, ports: int):
        self.channel = bus.channel
        self.ports = ports
        self.open = False
        self.init_done: list[int | None] = [None] * ports
        credit = bus.credit
        self._done = 0
        self._read_done = reader(credit.init_done, self.channel)
        self._vld = reader(credit.vld, self.channel)
        self._vld_parity = reader(credit.vld_parity, self.channel)
        self._pool = reader(credit.pool, self.channel)
        self._parity = reader(credit.parity, self.channel)
        self._nums = [reader(handle, self.channel) for handle in credit.port_num]
        self._vcs = [reader(handle, self.channel) for handle in credit.port_vc]

    def sample(self, cycle: int) -> Sequence[CreditReturn]:
        """The credits that are returned in this cycle."""
        done = self._read_done()
        if done != self._done:
            self._note_done(done, cycle)
        valid = self._vld()
        if self._vld_parity() != valid.bit_count() & 1:
            raise ProtocolError(self.channel, "credit_vld_parity")
        if not valid:
            return ()
        self._check_source(valid)
        pool = self._pool()
        nums = [read() for read in self._nums]
        vcs = [read() for read in self._vcs]
        ones = pool.bit_count() + sum(value.bit_count() for value in (*nums, *vcs))
        if self._parity() != ones & 1:
            raise ProtocolError(self.channel, "credit_parity")
        return [
            CreditReturn(port, pool >> port & 1, vcs[port], nums[port] + 1, not done >> port & 1)
            for port in range(self.ports)
            if valid >> port & 1
        ]

    def _note_done(self, done: int, cycle: int) -> None:
        self._check_source(done)
        for port in range(self.ports):
            if self._done & ~done:
                raise ProtocolError(self.channel, "init_done_sticky", f"{self._done:04b} became {done:04b}")
            if done >> port & 1 and self.init_done[port] is None:
                self.init_done[port] = cycle
        self._done = done

    def _check_source(self, ports: int) -> None:
        if not self.open:
            raise ProtocolError(self.channel, "connection", "a credit or CreditInitDone")
        if ports >> self.ports:
            raise ProtocolError(self.channel, "port", f"credits or CreditInitDone of ports {ports:04b}")
