"""Both agents for as many ports as are built, and beside each one of four ports of which so many are used."""

from amaranth.hdl import ResetInserter, Signal

from support.lib.beside import Beside
from support.upli.pair import Pair
from ualink.lib.ports_used import slot_after
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["ChosenPair"]


class ChosenPair(Pair):
    """A ``Pair`` to which ``Traffic`` goes; the agents beside it get what these get, and ``check`` compares.

    Agents of chosen ports would take a beat of one of several earlier: it is offered in the cycle before the port's
    slot only, as by a station, and not in the first cycle after a reset.
    """

    def __init__(self, config, ports, faults=()):
        super().__init__(config, ports, faults)
        self._chosen = Originator(config, 4, choosable=True), Completer(config, 4, choosable=True)
        self._beside: list[Beside] = []

    def elaborate(self, platform):
        m = super().elaborate(platform)
        begun = Signal()
        m.d.sync += begun.eq(~self.reset)
        for name, chosen, built in zip(("o", "c"), self._chosen, (self.originator, self.completer)):
            m.submodules[f"chosen_{name}"] = ResetInserter(self.reset)(chosen)
            before = {} if self.ports == 1 else self._before_slots(built, begun)
            for (channel, port, _), here in before.items():
                offered = getattr(built, channel)[port].valid
                m.d.comb += getattr(chosen, channel)[port].valid.eq(offered & here)
            # A group of one port has no phase.
            self._beside.append(
                Beside(
                    m,
                    chosen,
                    built,
                    self.ports,
                    unless=before,
                    alone=lambda path, before=before: path[-1] == "valid" and (*path[:-1], "ready") in before,
                )
            )
        return m

    def _before_slots(self, agent, begun) -> dict:
        """By path of ``ready`` of each beat that ``agent`` sends, whether the slot of its port is the next one, from
        the second cycle on."""
        here = [begun & (slot_after(agent.slot, self.ports) == port) for port in range(self.ports)]
        return {(channel, port, "ready"): here[port] for channel in agent.sends for port in range(self.ports)}

    def check(self, ctx, told) -> None:
        for beside in self._beside:
            beside.check(ctx, told)
