"""The time division calendar of an interface: port 0, 1, … in turn (UALink_200 §2.5)."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_choice
from ualink.lib.ports_used import last_port, slot_after, used_member

__all__ = ["Calendar", "CalendarCheck", "check_ports"]


def check_ports(owner: str, ports: int, choosable: bool = False) -> int:
    """``ports`` when it is a bifurcation of a station, ConfigError naming ``owner`` otherwise; four of them where it is
    ``choosable`` at run time how many are used."""
    check_choice(f"{owner}.ports", ports, (1, 2, 4))
    if choosable and ports != 4:
        raise ConfigError(f"{owner}.ports is {ports}; it must be 4 for any number of them to be chosen")
    return ports


class Calendar(wiring.Component):
    """Gives every cycle to one port, in ascending order from port 0 after reset; always port 0 with ``ports`` = 1.

    Attributes
    ----------
    slot : port that owns the groups that this device sends in this cycle.
    """

    def __init__(self, ports: int):
        self.ports = check_ports("calendar", ports)
        super().__init__(
            {
                "slot": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self.ports > 1:
            m.d.sync += self.slot.eq((self.slot + 1) & (self.ports - 1))
        return m


class CalendarCheck(wiring.Component):
    """Learns the phase of a group from its first beat and checks every beat against it (UALink_200 §2.5, requirement
    90).

    Only a beat with good control parity is to be shown to it (ruling A-50 of UPLI); one of a port that does not exist
    sets nothing. ``slot`` and ``locked`` are registers, other outputs are of the same cycle. With ``ports`` = 1 there
    is no phase and no register, and ``slot`` is 0.

    Parameters
    ----------
    ports : 1, 2 or 4.
    choosable : it does what one for as many ports does as are used; there is ``used``, as of ``ports_used``.

    Attributes
    ----------
    vld : the beat that sets the phase: Req for the {Req, OrigData} group, RdRsp or WrRsp for its own.
    coming_id : 2 bits, the port of what comes in the next cycle, good or not.
    in_slot : what came in this one has the port that was ``following`` in the cycle before.
    locked : 1 bit, the phase was set by an earlier beat; a register.
    known : 1 bit, the phase is set, by this cycle's beat or an earlier one.
    slot, following : port that owns this cycle, and the next one, valid with ``known``.
    error : 1 bit, this cycle's beat belongs to another port's slot or to a port that does not exist.
    """

    def __init__(self, ports: int, *, choosable: bool = False):
        self.ports = check_ports("calendar", ports, choosable)
        self._choosable = choosable
        super().__init__(
            {
                **used_member(choosable),
                "vld": In(1),
                "coming_id": In(2),
                "in_slot": In(1),
                "locked": Out(1),
                "known": Out(1),
                "slot": Out(2),
                "following": Out(2),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.error.eq(self.vld & ~self.in_slot)
        if self.ports == 1:
            m.d.comb += [self.locked.eq(1), self.known.eq(1), self.slot.eq(Const(0)), self.following.eq(Const(0))]
            return m

        used = self.used if self._choosable else None
        last = self.ports - 1 if used is None else last_port(used)
        locked = Signal()
        m.d.comb += [
            self.locked.eq(locked),
            self.known.eq(locked | (self.vld & ~self.error)),
            # Before the first beat the slot is that of whatever comes.
            self.following.eq(Mux(self.known, slot_after(self.slot, self.ports, used), self.coming_id & last)),
        ]
        if self._choosable:
            # There is but one phase of one port.
            with m.If(self.used[0]):
                m.d.comb += [self.locked.eq(1), self.known.eq(1)]
        m.d.sync += [locked.eq(self.known), self.slot.eq(self.following)]
        return m
