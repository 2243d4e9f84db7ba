"""A controller of which it is chosen how many ports it uses, with links that are up as soon as they are enabled."""

from amaranth.hdl import Module
from amaranth.lib import wiring

from support.few_buffers import FEW_BUFFERS
from ualink.config import ControllerConfig
from ualink.dl.interface import LinkState
from ualink.dl.layer import DataLink
from ualink.tl.layer import TransactionLayer
from ualink.tl.session.drop_mode import DropMode

__all__ = ["CONFIG", "DropLayer", "UpLink"]

CONFIG = ControllerConfig(bus="native", station=FEW_BUFFERS.replace(ports=4, choosable_ports=True))


class UpLink(wiring.Component):
    """Stands for a data link: it comes up when it is enabled, goes down when the TL wants that, and carries nothing."""

    def __init__(self, config, *, shared=False):
        super().__init__(DataLink(config, shared=shared).signature)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.online.eq((self.online | self.config.enable) & ~self.tl_error)
        m.d.comb += [
            self.status.link_state.eq(LinkState.IDLE),
            self.status.online.eq(self.online),
        ]
        with m.If(self.online):
            m.d.comb += self.status.link_state.eq(LinkState.UP)
        return m


class DropLayer(wiring.Component):
    """Stands for a transaction layer, of which it has Drop Mode alone."""

    def __init__(self, config, *, coded):
        super().__init__(TransactionLayer(config, coded=coded).signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.drop_mode = drop_mode = DropMode()
        m.d.comb += [
            drop_mode.online.eq(self.online),
            drop_mode.command.eq(self.control.enter_drop),
            drop_mode.clear.eq(self.control.clear_drop),
            self.error.eq(drop_mode.hold),
            self.status.dropping.eq(drop_mode.dropping),
            self.status.drop_cause.eq(drop_mode.cause),
        ]
        return m
