"""The device of the example: this project's two UPLI agents joined by their inner streams, in place of your RTL."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.upli.channels import UPLISignature
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["Relay"]


class Relay(wiring.Component):
    """A Completer on ``completer`` passes Requests on to an Originator on ``originator``, and Responses come back."""

    completer: In(UPLISignature())
    originator: Out(UPLISignature())

    def elaborate(self, platform):
        m = Module()
        m.submodules.completer = completer = Completer(UPLIConfig(), 1)
        m.submodules.originator = originator = Originator(UPLIConfig(), 1)
        wiring.connect(m, wiring.flipped(self.completer), completer.upli)
        wiring.connect(m, originator.upli, wiring.flipped(self.originator))
        for name in ("req", "orig_data"):
            wiring.connect(m, getattr(completer, name)[0], getattr(originator, name)[0])
        for name in ("rd_rsp", "wr_rsp"):
            wiring.connect(m, getattr(originator, name)[0], getattr(completer, name)[0])
        m.d.comb += [completer.connect.eq(1), originator.connect.eq(1)]
        return m
