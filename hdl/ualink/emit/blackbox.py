"""A component whose contents are a Verilog module made elsewhere."""

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Blackbox"]


class Blackbox(wiring.Component):
    """Stands for ``component`` as an instance of Verilog module ``module``, made of it by ``ualink.emit.verilog``.

    The module has the component's ports under their paths joined by ``__``, and ``clk`` and ``rst``.
    """

    def __init__(self, component: wiring.Component, module: str):
        self.module = module
        super().__init__(component.signature)

    def elaborate(self, platform):
        m = Module()
        ports = {
            f"{'i' if member.flow == In else 'o'}_{'__'.join(map(str, path))}": value
            for path, member, value in self.signature.flatten(self)
        }
        m.submodules.instance = Instance(self.module, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)
        return m
