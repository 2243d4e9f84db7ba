"""Drop Mode of an Originator or a Completer outside of a TL (UALink_200 §3.1.3)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AgentDropMode"]


class AgentDropMode(wiring.Component):
    """Puts an agent into Drop Mode with every event, and takes it out on ``clear`` only. Off after reset. Latency 0
    from an event to ``drop``; an event in the cycle of ``clear`` wins.

    Attributes
    ----------
    control_event, protocol_event : 1 bit each, the agent met an error of that class; at a switch both enter
        (UALink_200 §3.1.4).
    clear : 1 bit, leave Drop Mode.
    drop : 1 bit, to the agent: all ports and channels, both directions.
    """

    def __init__(self):
        super().__init__(
            {
                "control_event": In(1),
                "protocol_event": In(1),
                "clear": In(1),
                "drop": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entered = Signal()
        event = self.control_event | self.protocol_event
        m.d.comb += self.drop.eq(entered | event)
        m.d.sync += entered.eq(event | (entered & ~self.clear))
        return m
