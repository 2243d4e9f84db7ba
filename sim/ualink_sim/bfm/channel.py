"""Sending and receiving side of one UPLI channel, one ``tick`` per clock cycle (UALink_200 §2.5, §2.6).

A tick belongs to the falling edge: the device's outputs are settled, what is driven is seen at the next rising edge.
"""

from collections import deque
from collections.abc import Callable

from .bus import ChannelBus, parity_of

__all__ = ["ChannelReceiver", "ChannelSender", "ProtocolError"]

Beat = dict[str, int]


class ProtocolError(AssertionError):
    """The device broke a rule of UPLI; the message names the channel and the rule."""


class ChannelSender:
    """Drives one channel: holds the credits of each port, spends one per beat, generates parity.

    ``credits[port]`` is ``[pool, vc0, vc1, vc2, vc3]``; ``beats`` counts those sent, per port.
    """

    def __init__(self, bus: ChannelBus, ports: int, *, init_done_qualification: int = 2):
        self.bus = bus
        self.ports = ports
        self.credits = [[0] * 5 for _ in range(ports)]
        self.ready = [False] * ports
        self.beats = [0] * ports
        self._qualification = init_done_qualification
        self._seen = [0] * ports
        self._driving = False
        self._parity_names = list(bus.parities)
        self._last: Beat = {}
        bus.vld.value = 0
        bus.vld_parity.value = 0
        for handle in (*bus.fields.values(), *bus.parities.values()):
            handle.value = 0

    def sample(self) -> None:
        """Take the credits that are returned in this cycle."""
        credit = self.bus.credit
        if not all(self.ready):
            done = int(credit.init_done.value)
            for port in range(self.ports):
                self._seen[port] = self._seen[port] + 1 if done >> port & 1 else 0
                self.ready[port] |= self._seen[port] >= self._qualification
        valid = int(credit.vld.value)
        if int(credit.vld_parity.value) != valid.bit_count() & 1:
            raise ProtocolError(f"{self.bus.channel}: CreditVldParity is wrong")
        if not valid:
            return
        pool = int(credit.pool.value)
        nums = [int(handle.value) for handle in credit.port_num]
        vcs = [int(handle.value) for handle in credit.port_vc]
        ones = pool.bit_count() + sum(value.bit_count() for value in (*nums, *vcs))
        if int(credit.parity.value) != ones & 1:
            raise ProtocolError(f"{self.bus.channel}: CreditParity is wrong")
        for port in range(self.ports):
            if valid >> port & 1:
                account = 0 if pool >> port & 1 else 1 + vcs[port]
                self.credits[port][account] += nums[port] + 1

    def affords(self, port: int, vc: int, beats: int) -> bool:
        """Whether ``beats`` beats of ``vc`` may be sent on ``port`` with what is in hand."""
        return self.ready[port] and self.credits[port][0] + self.credits[port][1 + vc] >= beats

    def drive(self, beat: Beat) -> None:
        """Send ``beat`` (its ``pool`` is chosen here) in the coming cycle."""
        account = self.credits[beat["port_id"]]
        self.beats[beat["port_id"]] += 1
        beat = {**beat, "pool": int(account[0] > 0)}
        account[0 if beat["pool"] else 1 + beat["vc"]] -= 1
        bus = self.bus
        for name, value in beat.items():
            if self._last.get(name) != value:
                bus.fields[name].value = value
        for name, value in parity_of(bus.channel, beat).items():
            bus.parities[name].value = value
        self._last = beat
        if not self._driving:
            bus.vld.value = 1
            bus.vld_parity.value = 1
            self._driving = True

    def idle(self) -> None:
        """Send nothing in the coming cycle."""
        if self._driving:
            self.bus.vld.value = 0
            self.bus.vld_parity.value = 0
            if "auth_tag" in self._last:
                self.bus.fields["auth_tag"].value = 0
            self._last = {}
            self._driving = False


class ChannelReceiver:
    """Receives one channel: checks parity and TDM phase of every beat and returns its credit.

    ``pool`` and ``vc`` credits are released at the start, per port. The credit of a beat goes back ``hold()`` cycles
    after it came (default: at once), so that a test can press on the sender. ``beats`` counts those received, per port.
    """

    def __init__(self, bus: ChannelBus, ports: int, *, pool: int, vc: tuple = (0, 0, 0, 0), hold: Callable = lambda: 0):
        self.bus = bus
        self.ports = ports
        self.beats = [0] * ports
        self._owed: list[deque] = [deque() for _ in range(ports)]
        self._initial = [[count for count in self._split(pool, *vc)] for _ in range(ports)]
        self._hold = hold
        self._cycle = 0
        self._phase: int | None = None
        self._returning = False
        credit = bus.credit
        for handle in (credit.init_done, credit.vld, credit.pool, credit.vld_parity, credit.parity):
            handle.value = 0
        for handle in (*credit.port_vc, *credit.port_num):
            handle.value = 0
        self._done = 0

    @staticmethod
    def _split(pool: int, *vcs: int):
        """Initial releases as (pool, vc, count) with at most four credits each."""
        for is_pool, vc, count in ((1, 0, pool), *((0, vc, count) for vc, count in enumerate(vcs))):
            while count > 0:
                yield is_pool, vc, min(count, 4)
                count -= 4

    def sample(self) -> Beat | None:
        """The beat of this cycle, if there is one."""
        bus = self.bus
        self._cycle += 1
        valid = int(bus.vld.value)
        if int(bus.vld_parity.value) != valid:
            raise ProtocolError(f"{bus.channel}: VldParity is wrong")
        if not valid:
            return None
        beat = {name: int(handle.value) for name, handle in bus.fields.items()}
        for name, value in parity_of(bus.channel, beat).items():
            if int(bus.parities[name].value) != value:
                raise ProtocolError(f"{bus.channel}: {name} of a beat is wrong: {beat}")
        port = beat["port_id"]
        phase = (port - self._cycle) % self.ports
        if port >= self.ports or (self._phase is not None and phase != self._phase):
            raise ProtocolError(f"{bus.channel}: a beat of port {port} came outside its TDM slot")
        self._phase = phase
        self.beats[port] += 1
        self._owed[port].append((self._cycle + self._hold(), beat["pool"], beat["vc"]))
        return beat

    def drive_credits(self) -> None:
        """Return what is due; call it once per cycle when the direction of the credits is open."""
        valid = pool = 0
        vcs, nums = [0] * 4, [0] * 4
        for port in range(self.ports):
            give = self._due(port)
            if give is not None:
                valid |= 1 << port
                pool |= give[0] << port
                vcs[port], nums[port] = give[1], give[2] - 1
        credit = self.bus.credit
        if valid or self._returning:
            credit.vld.value = valid
            credit.vld_parity.value = valid.bit_count() & 1
            credit.pool.value = pool
            for handle, value in zip((*credit.port_vc, *credit.port_num), (*vcs, *nums)):
                handle.value = value
            credit.parity.value = (pool.bit_count() + sum(v.bit_count() for v in (*vcs, *nums))) & 1
            self._returning = bool(valid)
        elif self._done != (1 << self.ports) - 1:
            self._done = sum(1 << port for port in range(self.ports) if not self._initial[port])
            credit.init_done.value = self._done

    def _due(self, port: int) -> tuple[int, int, int] | None:
        if self._initial[port]:
            return self._initial[port].pop(0)
        owed = self._owed[port]
        if not owed or owed[0][0] > self._cycle:
            return None
        _, pool, vc = owed.popleft()
        count = 1
        while count < 4 and owed and owed[0][0] <= self._cycle and owed[0][1:] == (pool, vc):
            owed.popleft()
            count += 1
        return pool, vc, count
