"""A station whose ports face each other in pairs, so that TL flits leave by one and come in by another."""

from amaranth.hdl import Cat, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect

from ualink.dl.layer import DataLink
from ualink.lib.parity import byte_parity, even_parity
from ualink.station import Station
from ualink.upli.calendar import Calendar
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["FlitLink", "LoopedStation"]


class FlitLink(wiring.Component):
    """Stands for a data link: a TL flit is a beat of the RS, and channel 0 is online unless there is a local fault."""

    def __init__(self, config, *, shared=False):
        super().__init__(DataLink(config, shared=shared).signature)

    def elaborate(self, platform):
        m = Module()
        flit, beat, came = self.tx_flit, self.tx, self.rx_flit
        message = Cat(self.rx.p.first, self.rx.p.last)
        m.d.comb += [
            beat.valid.eq(flit.valid & self.online),
            flit.ready.eq(beat.ready & self.online),
            beat.p.data.eq(flit.p.data),
            Cat(beat.p.first, beat.p.last).eq(flit.p.message),
            came.valid.eq(self.rx.valid & self.online),
            came.p.data.eq(self.rx.p.data),
            came.p.message.eq(message),
            came.p.parity.eq(byte_parity(self.rx.p.data)),
            came.p.control_parity.eq(even_parity(message)),
        ]
        m.d.sync += self.online.eq(~self.local_fault & ~self.tl_error)
        return m


class LoopedStation(Elaboratable):
    """A ``station`` of ``config`` whose links are joined, of four ports 0 with 2 and 1 with 3, one with itself; made
    while ``FlitLink`` stands for the data link. ``originator`` and ``completer`` are the agents of the device before
    it. ``station`` may be another component with its members."""

    def __init__(self, config, station=None):
        self.station = station or Station(config)
        self.originator = Originator(config.upli, config.ports)
        self.completer = Completer(config.upli, config.ports)
        self._ports = config.ports

    def elaborate(self, platform):
        m = Module()
        m.submodules.station, m.submodules.calendar = station, calendar = self.station, Calendar(self._ports)
        m.submodules.originator, m.submodules.completer = self.originator, self.completer
        connect(m, self.originator.upli, station.upli_completer)
        connect(m, station.upli_originator, self.completer.upli)
        m.d.comb += [
            # The device has phases of its own.
            self.originator.slot.eq((calendar.slot + 1) % self._ports),
            self.completer.slot.eq((calendar.slot + 2) % self._ports),
            station.rs.tx.ready.eq(1),
        ]
        for port in range(self._ports):
            other = port ^ self._ports // 2
            # What is given in the cycles of one port is taken in those of the other.
            kept, valid = Signal.like(station.rs.tx.p, name=f"kept_{port}"), Signal(name=f"valid_{port}")
            with m.If(station.slot == port):
                m.d.sync += [kept.eq(station.rs.tx.p), valid.eq(station.rs.tx.valid)]
            with m.If(station.slot == other):
                m.d.comb += [
                    station.rs.rx.valid.eq(valid),
                    station.rs.rx.p.port.eq(other),
                    *(getattr(station.rs.rx.p, name).eq(getattr(kept, name)) for name in ("data", "first", "last")),
                ]
        return m
