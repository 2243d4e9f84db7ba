"""Drop Mode of the transaction layer of one port (UALink_200 §3.1.3)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DROP_CAUSE_LAYOUT", "DropMode"]

DROP_CAUSE_LAYOUT = data.StructLayout({"link_down": 1, "control_error": 1})
"""What has led to Drop Mode since it was last left."""


class DropMode(wiring.Component):
    """Enters Drop Mode by an event and leaves it by management only, never because the link is up again.

    A control error enters with its rising edge, or as soon as reset ends if it is high then; a level that stays high
    does not enter a second time. A link that goes down enters if it is to. An event in the cycle of ``clear`` wins. Off
    after reset. Latency 1 cycle from an event to ``dropping``.

    If the link was up while dropping, the partner has lost what it sent meanwhile and believes its session to go on.
    After Drop Mode the link then has to go down once (``restart``), which is no event, before ``up`` can rise again.

    Attributes
    ----------
    control_error : a control error on UPLI.
    drop_on_link_down : a link that goes down is an event.
    online : channel 0 of the link is online.
    clear : pulse: leave Drop Mode, forget the causes.
    dropping : level, Drop Mode.
    cause : every event since ``clear``.
    up : level, the transmitter and the receiver are online: the link is, in a session that no Drop Mode has cut.
    restart : level, not dropping any more: the link has to go down.
    """

    def __init__(self):
        super().__init__(
            {
                "control_error": In(1),
                "drop_on_link_down": In(1),
                "online": In(1),
                "clear": In(1),
                "dropping": Out(1),
                "cause": Out(DROP_CAUSE_LAYOUT),
                "up": Out(1),
                "restart": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        was_error, was_online, cut = Signal(), Signal(), Signal()
        m.d.sync += [
            was_error.eq(self.control_error),
            was_online.eq(self.online),
            cut.eq(self.online & (self.dropping | cut)),
        ]
        events = Signal(DROP_CAUSE_LAYOUT)
        m.d.comb += [
            events.control_error.eq(self.control_error & ~was_error),
            events.link_down.eq(was_online & ~self.online & self.drop_on_link_down & ~self.restart),
            self.dropping.eq(self.cause.as_value().any()),
            self.restart.eq(cut & ~self.dropping),
            self.up.eq(self.online & ~self.dropping & ~cut),
        ]
        with m.If(self.clear):
            m.d.sync += self.cause.eq(events)
        with m.Else():
            m.d.sync += self.cause.eq(self.cause.as_value() | events.as_value())
        return m
