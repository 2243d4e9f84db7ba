"""Reading side of one UPLI channel: every beat is held against the rules that concern it alone."""

from .accounts import CreditAccounts
from .bus import ChannelBus, reader
from .channel import Beat, parity_of
from .rules import ProtocolError
from .slots import Slots

__all__ = ["BeatReader"]

QUALIFICATION = 2
"""Cycles in which a sender must have seen CreditInitDone before its first beat (UALink_200 §2.6)."""


class BeatReader:
    """Gives the beats of one channel, checked for parity, port, TDM slot, credit, connection and CreditInitDone.

    Whoever uses it keeps ``open`` (beats may come), ``accounts`` (what the sender holds) and ``init_done[port]`` (the
    cycle from which CreditInitDone can be seen, None before). ``beats`` counts those received, per port.
    """

    def __init__(self, bus: ChannelBus, slots: Slots):
        self.channel = bus.channel
        self.slots = slots
        self.ports = slots.ports
        self.open = False
        self.beats = [0] * self.ports
        self.accounts = CreditAccounts(self.channel, self.ports)
        self.init_done: list[int | None] = [None] * self.ports
        self._vld = reader(bus.vld, self.channel)
        self._vld_parity = reader(bus.vld_parity, self.channel)
        self._fields = [(name, reader(handle, self.channel)) for name, handle in bus.fields.items()]
        self._parities = [(name, reader(handle, self.channel)) for name, handle in bus.parities.items()]

    def sample(self, cycle: int) -> Beat | None:
        """The beat of this cycle, if there is one."""
        valid = self._vld()
        if self._vld_parity() != valid:
            raise ProtocolError(self.channel, "vld_parity")
        if not valid:
            return None
        if not self.open:
            raise ProtocolError(self.channel, "connection", "a beat")
        beat = {name: read() for name, read in self._fields}
        expected = parity_of(self.channel, beat)
        for name, read in self._parities:
            if read() != expected[name]:
                raise ProtocolError(self.channel, "beat_parity", f"{name} of {beat}")
        port = beat["port_id"]
        if port >= self.ports:
            raise ProtocolError(self.channel, "port", f"a beat of port {port}")
        if not self.slots.owns(port, cycle):
            raise ProtocolError(self.channel, "tdm_phase", f"port {port}")
        done = self.init_done[port]
        if done is None or cycle - done < QUALIFICATION:
            raise ProtocolError(self.channel, "init_done", f"port {port}")
        self.accounts.spend(beat)
        self.beats[port] += 1
        return beat
