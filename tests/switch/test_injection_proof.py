"""Injection that is off does nothing, proved: stages are wires, no parity is spoilt, whatever firmware writes."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.switch.injection.station_injection import StationInjection
from ualink.switch.injection.upli_strike import UPLIStrike
from ualink.upli.channels import CHANNEL_LAYOUTS

WAYS = (("link_in", "core_out"), ("core_in", "link_out"))


class Off(wiring.Component):
    """A ``StationInjection`` whose inputs are free, but for one of the two that let it inject: that is ``off``."""

    def __init__(self, off):
        self._injection = StationInjection(1)
        self._off = off
        super().__init__({name: member for name, member in self._injection.signature.members.items()} | {"at": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.injection = injection = self._injection
        for path, member, outer in self.signature.flatten(self):
            if path[0] == "at":
                continue
            inner = injection
            for part in path:
                inner = inner[part] if isinstance(part, int) else getattr(inner, part)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        control = injection.control
        m.d.comb += Assume(~(injection.allowed if self._off == "allowed" else control.enable))
        m.d.comb += [
            Assert(injection.idle),
            Assert(injection.spoil == 0),
            Assert(~control.injected),
            Assert(~control.struck),
        ]
        for came, leaves in WAYS:
            for channel in CHANNEL_LAYOUTS:
                before, behind = (getattr(injection, f"{end}_{channel}")[0] for end in (came, leaves))
                m.d.comb += [
                    Assert(behind.valid == before.valid),
                    Assert(before.ready == behind.ready),
                    Assert(Value.cast(behind.p) == Value.cast(before.p)),
                ]
        return m


@pytest.mark.req("SW-081", "SW-082")
@pytest.mark.parametrize("off", ["allowed", "enable"])
def test_injection_that_is_off_is_a_wire(off):
    prove(Off(off), mode="prove", depth=2)


class Unspoilt(wiring.Component):
    """Both sides of a ``UPLIStrike`` that is told to spoil nothing."""

    def __init__(self):
        self._strike = UPLIStrike()
        super().__init__(dict(self._strike.signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.strike = strike = self._strike
        for path, member, outer in self.signature.flatten(self):
            inner = strike
            for part in path:
                inner = inner[part] if isinstance(part, int) else getattr(inner, part)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        m.d.comb += Assume(strike.spoil == 0)
        sides = (strike.originator, strike.completer)
        for one, other in zip(*(side.signature.flatten(side) for side in sides), strict=True):
            m.d.comb += Assert(Value.cast(one[2]) == Value.cast(other[2]))
        return m


@pytest.mark.req("SW-081")
def test_a_stage_that_spoils_nothing_is_a_wire():
    prove(Unspoilt(), mode="prove", depth=2)
