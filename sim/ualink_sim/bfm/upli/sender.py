"""Sending side of one UPLI channel (UALink_200 §2.6, §2.7)."""

from .accounts import CreditAccounts
from .bus import ChannelBus, writer
from .channel import Beat, parity_of
from .credit_reader import CreditReader

__all__ = ["ChannelSender"]


class ChannelSender:
    """Drives one channel: holds the credits of each port, spends one per beat, generates parity.

    ``beats`` counts those sent, per port; ``accounts`` and ``credits`` are for whoever wants to look.
    """

    def __init__(self, bus: ChannelBus, ports: int, *, init_done_qualification: int = 2):
        self.bus = bus
        self.credits = CreditReader(bus, ports)
        self.accounts = CreditAccounts(bus.channel, ports)
        self.beats = [0] * ports
        self._qualification = init_done_qualification
        self._cycle = 0
        self._driving = False
        self._vld, self._vld_parity = writer(bus.vld), writer(bus.vld_parity)
        self._fields = {name: writer(handle) for name, handle in bus.fields.items()}
        for handle in bus.parities.values():
            handle.value = 0

    def sample(self, cycle: int) -> None:
        """Take the credits that are returned in this cycle."""
        self._cycle = cycle
        for port, pool, vc, count, initial in self.credits.sample(cycle):
            if not initial:
                self.accounts.settle(port, pool, vc, count)
            self.accounts.grant(port, pool, vc, count)

    def affords(self, port: int, vc: int, beats: int) -> bool:
        """Whether ``beats`` beats of ``vc`` may be sent on ``port`` with what is in hand."""
        done = self.credits.init_done[port]
        if done is None or self._cycle - done < self._qualification:
            return False
        return self.accounts.affords(port, vc, beats)

    def drive(self, beat: Beat) -> None:
        """Send ``beat`` (its ``pool`` is chosen here) in the coming cycle."""
        port = beat["port_id"]
        beat = {**beat, "pool": int(self.accounts.held[port][0] > 0)}
        self.accounts.spend(beat)
        self.beats[port] += 1
        for name, value in beat.items():
            self._fields[name](value)
        for name, value in parity_of(self.bus.channel, beat).items():
            # Whoever injects a wrong one writes it for one beat: the next has its own.
            self.bus.parities[name].value = value
        if not self._driving:
            self._vld(1)
            self._vld_parity(1)
            self._driving = True

    def idle(self) -> None:
        """Send nothing in the coming cycle."""
        if self._driving:
            self._vld(0)
            self._vld_parity(0)
            if "auth_tag" in self._fields:
                self._fields["auth_tag"](0)
            self._driving = False
