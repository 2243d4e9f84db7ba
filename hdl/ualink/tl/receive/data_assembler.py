"""Routes Data half-flits to the data buffers of Requests and of Read Responses."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.credit.data_buffer import HALF_BEAT_LAYOUT

from .sequence import DATA_SLOT_LAYOUT

__all__ = ["DataAssembler"]


class DataAssembler(wiring.Component):
    """Takes up to two Data half-flits per cycle and never stalls. ``DataRoom`` kept a place for each. Where they go is
    made out a cycle before they do.

    The half-flits of a field alternate between lower and upper halves, a byte-enable half-flit follows an upper half,
    and the next field starts with a lower half. So two half-flits of one flit never go to the same memory, and at most
    one of them is the last of its field.

    Attributes
    ----------
    slots : the lower and upper half-flit as ``ReceiveSequence`` describes them; half_flits : their 32 bytes, one cycle
        later. accept : with these, the flit is accepted; without it nothing is written.
    request_low, request_high, response_low, response_high : halves of beats to the data buffers.
    byte_enables : byte-enable half-flits, one per Request that has one.
    request_done, response_done : the last Data half-flit of a field of this class is written in this cycle.
    """

    def __init__(self):
        super().__init__(
            {
                "slots": In(data.ArrayLayout(DATA_SLOT_LAYOUT, 2)),
                "half_flits": In(data.ArrayLayout(256, 2)),
                "accept": In(1),
                "request_low": Out(stream.Signature(HALF_BEAT_LAYOUT)),
                "request_high": Out(stream.Signature(HALF_BEAT_LAYOUT)),
                "response_low": Out(stream.Signature(HALF_BEAT_LAYOUT)),
                "response_high": Out(stream.Signature(HALF_BEAT_LAYOUT)),
                "byte_enables": Out(stream.Signature(256)),
                "request_done": Out(1),
                "response_done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        poison = Signal(2)
        m.d.sync += poison.eq(Cat(slot.poison for slot in self.slots))
        done = (self.response_done, self.request_done)
        halves = ((self.response_low, self.response_high), (self.request_low, self.request_high))

        def route(sink, name, matches):
            hits = [slot.valid & matches(slot) for slot in self.slots]
            comes, from_lower = Signal(name=f"{name}_comes"), Signal(name=f"{name}_from_lower")
            m.d.sync += [comes.eq(hits[0] | hits[1]), from_lower.eq(hits[0])]
            m.d.comb += sink.valid.eq(comes & self.accept)
            return Mux(from_lower, self.half_flits[0], self.half_flits[1]), from_lower

        for is_request, kind in enumerate(("response", "request")):
            for half, sink in enumerate(halves[is_request]):

                def matches(slot, is_request=is_request, half=half):
                    return (slot.is_request == is_request) & ~slot.byte_enables & (slot.half == half)

                content, from_lower = route(sink, f"{kind}_{('low', 'high')[half]}", matches)
                m.d.comb += [
                    sink.p.data.eq(content),
                    sink.p.poison.eq(Mux(from_lower, poison[0], poison[1])),
                ]
            ends, ended = [slot.valid & slot.last & (slot.is_request == is_request) for slot in self.slots], Signal()
            m.d.sync += ended.eq(ends[0] | ends[1])
            m.d.comb += done[is_request].eq(self.accept & ended)
        content, _ = route(self.byte_enables, "byte_enables", lambda slot: slot.byte_enables)
        m.d.comb += self.byte_enables.p.eq(content)
        return m
