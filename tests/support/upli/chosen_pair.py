"""Both agents for as many ports as are built, and beside each one of four ports of which so many are used."""

from amaranth.hdl import ResetInserter

from support.lib.beside import Beside
from support.upli.pair import Pair
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["ChosenPair"]


class ChosenPair(Pair):
    """A ``Pair`` to which ``Traffic`` goes; the agents beside it get what these get, and ``check`` compares."""

    def __init__(self, config, ports, faults=()):
        super().__init__(config, ports, faults)
        self._chosen = Originator(config, 4, choosable=True), Completer(config, 4, choosable=True)
        self._beside: list[Beside] = []

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for name, chosen, built in zip(("o", "c"), self._chosen, (self.originator, self.completer)):
            m.submodules[f"chosen_{name}"] = ResetInserter(self.reset)(chosen)
            # A group of one port has no phase.
            self._beside.append(Beside(m, chosen, built, self.ports))
        return m

    def check(self, ctx, told) -> None:
        for beside in self._beside:
            beside.check(ctx, told)
