"""What went through one port of the switch core, counted for the management (UALink_200 §8.5)."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.event_counter import EventCounter
from ualink.switch.queue_depths import QueueDepths

__all__ = ["COUNTS", "HIGH_WATER", "PLANES", "DroppedSignature", "FlowCounters", "FlowSignature", "flow_events"]

PLANES = ("req", "rd_rsp", "wr_rsp")
"""Requests, Read Responses, Write Responses; the planes are named by their channel."""

COUNTS = ("dropped_in", "accepted", "denied", "stalled_in", "forwarded", "dropped_out", "stalled_out")
"""What is counted of each plane, on the way of an item.

dropped_in : items from the link that the core's agent dropped, because of Drop Mode or of a broken rule.
accepted : items that entered the core by this port; each is denied, or forwarded by some port, or still inside, or was
    lost to a Switch Core Control Error.
denied : those of them that Deny dropped.
stalled_in : cycles in which an item stood before the core, which had no room for it.
forwarded : items that left the core by this port.
dropped_out : those of them that the core's agent dropped in Drop Mode instead of sending them.
stalled_out : cycles in which a beat stood at the end of the core and was not taken; with several ports to a station
    also because the slot was another's.
"""

HIGH_WATER = {"req": "req", "orig_data": "req", "rd_rsp": "rd_rsp", "wr_rsp": "wr_rsp"}
"""Channels whose queues have a high-water mark, and the plane of each."""

COUNTER_BITS = 32


def flow_events() -> data.StructLayout:
    """A bit for each of ``COUNTS`` of each plane, called ``<plane>_<count>``: it happens in this cycle."""
    return data.StructLayout({f"{plane}_{count}": 1 for plane in PLANES for count in COUNTS})


class DroppedSignature(wiring.Signature):
    """Items that the agents of the core dropped at one port, seen from them; a pulse for each.

    Members
    -------
    req_in, rd_rsp_in, wr_rsp_in : 1 bit each, one that came from the station.
    req_out, rd_rsp_out, wr_rsp_out : 1 bit each, one that the core forwarded.
    """

    def __init__(self):
        super().__init__({f"{plane}_{way}": Out(1) for plane in PLANES for way in ("in", "out")})


class FlowSignature(wiring.Signature):
    """Counts of one port, seen from the core.

    Members
    -------
    req_accepted, … : 32 bits each, ``COUNTS`` of each of ``PLANES`` since reset, as ``<plane>_<count>``; they wrap
        around. An event is in its count three cycles later at most.
    req_under_way, rd_rsp_under_way, wr_rsp_under_way : 1 bit each, something that leaves by this port is in the core:
        from two cycles after it was looked up until it has left, and for four cycles more at the most.
    req_high_water, orig_data_high_water, rd_rsp_high_water, wr_rsp_high_water : beats that the fullest of the queues
        which begin at this port has held since reset.
    """

    def __init__(self, depth: QueueDepths):
        super().__init__(
            {
                **{f"{plane}_{count}": Out(COUNTER_BITS) for plane in PLANES for count in COUNTS},
                **{f"{plane}_under_way": Out(1) for plane in PLANES},
                **{f"{channel}_high_water": Out(range(getattr(depth, channel) + 1)) for channel in HIGH_WATER},
            }
        )


class FlowCounters(wiring.Component):
    """The counters of one port. ``events`` come out of whatever; a register takes them first.

    Members
    -------
    events : ``flow_events()``.
    req_accepted, … : as of ``FlowSignature``.
    """

    def __init__(self):
        names = flow_events().members
        super().__init__({"events": In(flow_events()), **{name: Out(COUNTER_BITS) for name in names}})

    def elaborate(self, platform):
        m = Module()
        for name in flow_events().members:
            m.submodules[name] = counter = EventCounter(COUNTER_BITS)
            m.d.comb += [counter.event.eq(self.events[name]), getattr(self, name).eq(counter.count)]
        return m
