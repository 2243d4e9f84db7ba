"""How the TL of an Accelerator tells the Originator that a link has gone down (UALink_200 §3.1.4.3)."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.calendar import check_ports
from ualink.upli.channels import beat_stream
from ualink.upli.code import control_bits, recoded
from ualink.upli.commands import Status

__all__ = ["IsolateRequest"]


class IsolateRequest(wiring.Component):
    """Puts one Write Response with status ISOLATE between those that the TL gives to its Completer, latency 0.

    It goes in the first slot of the port that went down in which the TL has no Write Response; if the Completer has no
    place there, in the next slot of a port that has one (ruling A-21 of RAS). In Drop Mode the TL has none for long.
    From there it goes as every other: with a credit of its port, of the Pool or of the VC that the last Write Response
    had. All else in it is 0. Its code is right if that one's was.

    One is sent for all links that go down before Drop Mode has been cleared at every port.

    Parameters
    ----------
    ports : 1, 2 or 4.
    coded : Write Responses have a code, as of ``beat_stream``.

    Members
    -------
    slot : 2 bits, the port of this cycle; all that follows is of it.
    down : 1 bit, its link went down in this cycle.
    dropping : level, its TL is in Drop Mode, from the cycle of ``down`` on or the next one of the port.
    tl, completer : Write Responses from the TL and to the Completer.
    """

    def __init__(self, ports: int, *, coded: bool = False):
        self._ports = check_ports("isolate request", ports)
        self._coded = coded
        super().__init__(
            {
                "slot": In(2),
                "down": In(1),
                "dropping": In(1),
                "tl": In(beat_stream("wr_rsp", coded=coded)),
                "completer": Out(beat_stream("wr_rsp", coded=coded)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        tl, completer = self.tl, self.completer
        waits, failed, elsewhere = Signal(), Signal(2), Signal()
        vc = Signal(2)
        offers, one = Signal(), Signal.like(completer.p)
        m.d.comb += [
            offers.eq(waits & ~tl.valid & (elsewhere | (self.slot == failed))),
            one.status.eq(Status.ISOLATE),
            one.vc.eq(vc),
            completer.valid.eq(tl.valid | offers),
            Value.cast(completer.p).eq(Mux(offers, Value.cast(one), Value.cast(tl.p))),
            tl.ready.eq(completer.ready),
        ]
        with m.If(tl.valid & tl.ready):
            m.d.sync += vc.eq(tl.p.vc)
        if self._coded:
            self._code(m, one, vc)
        # Ports that drop since the link went down, as each of them last said.
        owing, told = Signal(self._ports), Signal()
        with m.If(self.down & ~told):
            m.d.sync += [waits.eq(1), failed.eq(self.slot), elsewhere.eq(0), told.eq(1)]
        with m.Elif(offers):
            m.d.sync += [waits.eq(~completer.ready), elsewhere.eq(1)]
        with m.Elif(told & ~waits & ~owing.any() & ~self.dropping):
            m.d.sync += told.eq(0)
        for number, bit in enumerate(owing):
            with m.If(self.slot == number if self._ports > 1 else 1):
                m.d.sync += bit.eq(self.dropping | self.down)
        return m

    def _code(self, m, one, vc):
        """That of ``one``, out of one that is kept with ``vc``."""
        tl, kept = self.tl, Signal(name="vc_code")
        with m.If(tl.valid & tl.ready):
            m.d.sync += kept.eq(recoded(tl.p.vc, of=control_bits("wr_rsp", tl.p), code=tl.p.code.control))
        m.d.comb += one.code.control.eq(recoded((one.status, one.vc), of=vc, code=kept))
