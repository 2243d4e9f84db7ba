"""Responses of one egress port from all rows of ingress ports, one after the other."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.switch.arrival import ResponseArrival
from ualink.switch.matching.turns import above, first_of
from ualink.switch.response_line import ResponseLine, judged_response

__all__ = ["ResponseMerge"]


class ResponseMerge(wiring.Component):
    """Takes a transfer of each row that has one, in turns. What a row has is taken in its order.

    Nobody starves while the egress takes what it gets: the oldest transfer of a row waits for one of each other row at
    the most. One cycle from ``arrivals`` to ``arrival``.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.
    rows : int.

    Attributes
    ----------
    arrivals : ``ResponseArrival`` of each row, seen from here.
    arrival : ``ResponseArrival``, to the egress.
    under_way : 1 bit, from registers: something is here.
    """

    def __init__(self, channel: str, rows: int):
        self.channel, self.rows = channel, rows
        super().__init__(
            {
                "arrivals": In(ResponseArrival(channel)).array(rows),
                "arrival": Out(ResponseArrival(channel)),
                "under_way": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        arrival = self.arrival
        lines = [ResponseLine(self.channel) for _ in range(self.rows)]
        for row, line in enumerate(lines):
            m.submodules[f"line_{row}"] = line
            wiring.connect(m, wiring.flipped(self.arrivals[row]), line.arrival)
        leads, follows = (Cat(getattr(line, name) for line in lines) for name in ("leads", "follows"))
        place = Signal(self.rows)
        goes = Signal(self.rows)
        oldest = Signal(judged_response(self.channel))
        # The beats of a transfer came one after the other, so behind one of them the next is there.
        starts = Signal()
        m.d.comb += [
            starts.eq(~follows.any()),
            goes.eq(Mux(starts, Mux(arrival.room, first_of(leads, place), 0), follows)),
            Value.cast(oldest).eq(select_one(goes, [line.oldest for line in lines])),
            *(line.take.eq(goes[row]) for row, line in enumerate(lines)),
            arrival.come.eq(goes.any()),
            arrival.beat.eq(oldest.beat),
            arrival.first.eq(starts),
            self.under_way.eq(Cat(line.under_way for line in lines).any()),
        ]
        m.d.sync += [arrival.wrong.eq(oldest.found.wrong), arrival.poison.eq(oldest.found.poison)]
        with m.If(starts & goes.any()):
            m.d.sync += place.eq(above(goes))
        return m
