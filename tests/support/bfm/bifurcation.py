"""A controller of which it is chosen how many ports it uses, with links that are up as soon as they are enabled."""

from amaranth.hdl import Module
from amaranth.lib import wiring

from support.few_buffers import FEW_BUFFERS
from ualink.config import ControllerConfig
from ualink.dl.interface import LinkState
from ualink.dl.layer import DataLink
from ualink.tl.layer import TransactionLayer

__all__ = ["CONFIG", "NoLayer", "UpLink"]

CONFIG = ControllerConfig(bus="native", station=FEW_BUFFERS.replace(ports=4, choosable_ports=True))


class UpLink(wiring.Component):
    """Stands for a data link: it is up while it is enabled, and carries nothing."""

    def __init__(self, config, *, shared=False):
        super().__init__(DataLink(config, shared=shared).signature)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.online.eq(self.config.enable)
        m.d.comb += self.status.link_state.eq(LinkState.IDLE)
        with m.If(self.online):
            m.d.comb += self.status.link_state.eq(LinkState.UP)
        return m


class NoLayer(wiring.Component):
    """Stands for a transaction layer, which does nothing."""

    def __init__(self, config):
        super().__init__(TransactionLayer(config).signature)

    def elaborate(self, platform):
        return Module()
