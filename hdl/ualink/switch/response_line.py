"""Where responses wait for their turn behind the buffers."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.lib.shift_queue import ShiftQueue
from ualink.lib.through_queue import ThroughQueue
from ualink.switch.arrival import FOUND_LAYOUT, ResponseArrival
from ualink.switch.queue_depths import EGRESS_DEPTH, egress_room
from ualink.switch.transfer import MAX_BEATS
from ualink.upli.channels import CODED_LAYOUTS

__all__ = ["ResponseLine", "judged_response"]


def judged_response(channel: str) -> data.StructLayout:
    """A beat of ``channel``, and what was found of it."""
    return data.StructLayout({"beat": CODED_LAYOUTS[channel], "found": FOUND_LAYOUT})


class ResponseLine(wiring.Component):
    """A queue of beats, in the order in which they come. One cycle from input to output.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.

    Attributes
    ----------
    arrival : ``ResponseArrival``, seen from here.
    leads, follows : 1 bit each, from registers: the oldest beat is the first of its transfer, or another one of it.
    oldest : ``judged_response(channel)``, the oldest beat.
    take : 1 bit: it leaves, if there is one.
    under_way : 1 bit, from registers: something is here.
    """

    def __init__(self, channel: str):
        self.channel = channel
        super().__init__(
            {
                "arrival": In(ResponseArrival(channel)),
                **{name: Out(1) for name in ("leads", "follows")},
                "oldest": Out(judged_response(channel)),
                "take": In(1),
                "under_way": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.beats = beats = Queue(CODED_LAYOUTS[self.channel], EGRESS_DEPTH)
        m.submodules.firsts = firsts = ShiftQueue(1, EGRESS_DEPTH)
        # What is known of beats a cycle later, when they can be taken.
        m.submodules.found = found = ThroughQueue(FOUND_LAYOUT, EGRESS_DEPTH)
        arrival, came = self.arrival, Signal()  # ``come`` of the cycle before
        m.d.sync += [
            came.eq(arrival.come),
            arrival.room.eq(egress_room(beats.level, beats=1 if self.channel == "wr_rsp" else MAX_BEATS)),
        ]
        m.d.comb += [
            beats.input.valid.eq(arrival.come),
            beats.input.p.eq(arrival.beat),
            firsts.input.valid.eq(arrival.come),
            firsts.input.p.eq(arrival.first),
            found.input.valid.eq(came),
            found.input.p.wrong.eq(arrival.wrong),
            found.input.p.poison.eq(arrival.poison),
            self.leads.eq(firsts.output.valid & firsts.output.p),
            self.follows.eq(firsts.output.valid & ~firsts.output.p),
            self.oldest.beat.eq(beats.output.p),
            self.oldest.found.eq(found.output.p),
            *(queue.output.ready.eq(self.take) for queue in (beats, firsts, found)),
            self.under_way.eq(beats.level != 0),
        ]
        return m
