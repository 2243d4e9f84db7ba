"""Drop Mode of the transaction layer of one port (UALink_200 §3.1.3)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DROP_CAUSE_LAYOUT", "DropMode"]

DROP_CAUSE_LAYOUT = data.StructLayout({"link_down": 1, "control_error": 1, "protocol_error": 1, "command": 1})
"""What has led to Drop Mode since ``clear``."""


class DropMode(wiring.Component):
    """Enters Drop Mode by an event and leaves it by management only, never because the link is up again.

    Every event enters, whatever was there before. One in the cycle of ``clear`` wins. Off after reset; a link that
    comes up for the first time is no event. Latency 0 from an event to ``dropping``, 1 cycle to ``cause``.

    A session in which one end has dropped flits cannot be taken up again. So a link that is down stays down until
    Drop Mode is cleared (``hold``), and one that was up while dropping goes down once afterwards, which is no event.
    Dropping ends with the next session: beats for a link that is down do not wait (ruling A-12 of RAS).

    Attributes
    ----------
    online : channel 0 of the link is online; when it falls, that is an event.
    other_down : event: the link of another port went down that this port goes with.
    control_error, protocol_error : event: an error of that class at an agent of this TL.
    command : event: management puts the port into Drop Mode.
    clear : leave Drop Mode, forget the causes.
    dropping : level, beats and flits are dropped.
    cause : every event since ``clear``; 0 while dropping: Drop Mode is cleared, and ends when the link is up.
    up : level, the transmitter and the receiver are online: the link is, in a session in which nothing was dropped.
    hold : level, the link has to go down, or has to stay so.
    fell : pulse: the link of this port went down, and had not to.
    """

    def __init__(self):
        super().__init__(
            {
                "online": In(1),
                "other_down": In(1),
                "control_error": In(1),
                "protocol_error": In(1),
                "command": In(1),
                "clear": In(1),
                "dropping": Out(1),
                "cause": Out(DROP_CAUSE_LAYOUT),
                "up": Out(1),
                "hold": Out(1),
                "fell": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        was_online = Signal()
        cut = Signal()  # something was dropped in this session
        ending = Signal()  # Drop Mode was cleared, the next session ends it
        events = Signal(DROP_CAUSE_LAYOUT)
        active = Signal()
        m.d.comb += [
            self.fell.eq(was_online & ~self.online & ~(cut & ~self.cause.as_value().any())),
            events.link_down.eq(self.fell | self.other_down),
            events.control_error.eq(self.control_error),
            events.protocol_error.eq(self.protocol_error),
            events.command.eq(self.command),
            active.eq(self.cause.as_value().any() | events.as_value().any()),
            self.up.eq(self.online & ~active & ~cut),
            self.dropping.eq(active | (ending & ~self.up)),
            self.hold.eq((cut & ~active) | (active & ~self.online)),
        ]
        m.d.sync += [
            was_online.eq(self.online),
            cut.eq(self.online & (active | cut)),
            ending.eq(self.dropping),
        ]
        with m.If(self.clear):
            m.d.sync += self.cause.eq(events)
        with m.Else():
            m.d.sync += self.cause.eq(self.cause.as_value() | events.as_value())
        return m
