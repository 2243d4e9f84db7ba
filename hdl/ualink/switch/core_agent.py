"""A UPLI agent of the core: what stands between it and a station, with its Drop Mode (UALink_200 §3.1.3, §10)."""

from amaranth.hdl import Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import StationConfig
from ualink.lib.forward import forward_member
from ualink.switch.mend import UPSET_LAYOUT
from ualink.upli.completer import Completer
from ualink.upli.drop_mode import AgentDropMode
from ualink.upli.originator import Originator

__all__ = ["SIDES", "CoreAgent"]

SIDES = ("ingress", "egress")
"""Of the core: what comes to it and what it sends."""


class CoreAgent(wiring.Component):
    """The Completer before the Originator of a station, which takes what the link brought, or the Originator before its
    Completer, which hands over what shall leave. A Control or a Protocol Error puts it into Drop Mode until ``clear``.

    Parameters
    ----------
    side : "ingress" or "egress".
    config : the station's.

    Members
    -------
    upli, slot, … : as of ``Completer`` or ``Originator``, all but ``drop``.
    upset : ``UPSET_LAYOUT``, a pulse or longer: the core's own code has shown it. That of control puts the agent into
        Drop Mode, too.
    clear : 1 bit: leave Drop Mode, as of ``AgentDropMode``.
    dropping : 1 bit, reset value 0: Drop Mode, from the cycle of the event on.
    restart : 1 bit: the agent, not its Drop Mode, is as after reset from the next cycle on. Exists where the number of
        ports is chosen.
    """

    def __init__(self, side: str, config: StationConfig):
        kind = Completer if side == "ingress" else Originator
        self._agent = kind(config.upli, config.ports, choosable=config.choosable_ports, coded=True)
        members = dict(self._agent.signature.members)
        del members["drop"]
        self._shown = tuple(members)
        super().__init__(
            {
                **members,
                "upset": In(UPSET_LAYOUT),
                "clear": In(1),
                "dropping": Out(1),
                **({"restart": In(1)} if config.choosable_ports else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        agent = self._agent
        m.submodules.agent = ResetInserter(self.restart)(agent) if agent.choosable else agent
        m.submodules.drop_mode = drop_mode = AgentDropMode()
        for name in self._shown:
            forward_member(m, agent, name, getattr(self, name))
        m.d.comb += [
            drop_mode.control_event.eq(agent.control_event | self.upset.control),
            drop_mode.protocol_event.eq(agent.protocol_event),
            drop_mode.clear.eq(self.clear),
            agent.drop.eq(drop_mode.drop),
            self.dropping.eq(drop_mode.drop),
        ]
        return m
