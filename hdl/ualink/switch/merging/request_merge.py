"""Requests of one egress port from all rows of ingress ports, one after the other."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.switch.arrival import RequestArrival
from ualink.switch.merging.request_turns import RequestTurns
from ualink.switch.request_line import JUDGED_BEAT, JUDGED_REQUEST, RequestLine

__all__ = ["RequestMerge"]


class RequestMerge(wiring.Component):
    """Takes what the rows have in turns, as of ``RequestTurns``; what one row has in its order.

    One cycle from ``arrivals`` to ``arrival``.

    Parameters
    ----------
    rows : int.

    Attributes
    ----------
    arrivals : ``RequestArrival`` of each row, seen from here.
    arrival : ``RequestArrival``, to the egress.
    under_way : 1 bit, from registers: something is here.
    """

    def __init__(self, rows: int):
        self.rows = rows
        super().__init__(
            {
                "arrivals": In(RequestArrival()).array(rows),
                "arrival": Out(RequestArrival()),
                "under_way": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        arrival = self.arrival
        m.submodules.turns = turns = RequestTurns(self.rows)
        lines = [RequestLine() for _ in range(self.rows)]
        for row, line in enumerate(lines):
            m.submodules[f"line_{row}"] = line
            wiring.connect(m, wiring.flipped(self.arrivals[row]), line.arrival)
            m.d.comb += [line.take.eq(turns.take[row]), line.take_beat.eq(turns.beat_of[row])]
        request, beat = Signal(JUDGED_REQUEST), Signal(JUDGED_BEAT)
        m.d.comb += [
            turns.has_data.eq(Cat(line.has_data for line in lines)),
            turns.has_none.eq(Cat(line.has_none for line in lines)),
            turns.room.eq(arrival.room),
            turns.data_room.eq(arrival.data_room),
            turns.ends.eq(beat.transfer.end),
            Value.cast(request).eq(select_one(turns.take, [line.request for line in lines])),
            Value.cast(beat).eq(select_one(turns.beat_of, [line.beat for line in lines])),
            arrival.come.eq(turns.take.any()),
            arrival.item.eq(request.item),
            # A Request that came otherwise than it says is bad, and what it says is asked no more.
            arrival.with_data.eq((turns.take & turns.has_data).any()),
            arrival.come_data.eq(turns.beat_of.any()),
            arrival.transfer.eq(beat.transfer),
            arrival.stray.eq(Cat(line.stray for line in lines).any()),
            self.under_way.eq(Cat(line.under_way for line in lines).any()),
        ]
        m.d.sync += [
            arrival.wrong.eq(request.bad),
            arrival.beat_wrong.eq(beat.found.wrong),
            arrival.poison.eq(beat.found.poison),
        ]
        return m
