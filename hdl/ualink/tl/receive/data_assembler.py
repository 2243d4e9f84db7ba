"""Routes Data half-flits to the data buffers of Requests and of Read Responses."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.credit.data_signatures import BYTE_ENABLES_LAYOUT, KINDS, HalvesSignature, of_both

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
        later; codes : even parity over each 64 bits of them, of the lowest also over ``poison``. accept : with these,
        the flit is accepted; without it nothing is written.
    halves : halves of beats to the data buffers of each class; ``done`` with the last one of a field.
    byte_enables : byte-enable half-flits, one per Request that has one.
    """

    def __init__(self):
        super().__init__(
            {
                "slots": In(data.ArrayLayout(DATA_SLOT_LAYOUT, 2)),
                "half_flits": In(data.ArrayLayout(256, 2)),
                "codes": In(data.ArrayLayout(4, 2)),
                "accept": In(1),
                "halves": Out(of_both(HalvesSignature())),
                "byte_enables": Out(stream.Signature(BYTE_ENABLES_LAYOUT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        poison = Signal(2)
        m.d.sync += poison.eq(Cat(slot.poison for slot in self.slots))

        def route(sink, name, matches):
            hits = [slot.valid & matches(slot) for slot in self.slots]
            comes, from_lower = Signal(name=f"{name}_comes"), Signal(name=f"{name}_from_lower")
            m.d.sync += [comes.eq(hits[0] | hits[1]), from_lower.eq(hits[0])]
            m.d.comb += sink.valid.eq(comes & self.accept)
            return *(Mux(from_lower, *both) for both in (self.half_flits, self.codes)), from_lower

        for kind in KINDS:
            is_request, halves = kind == "request", getattr(self.halves, kind)
            for half, sink in enumerate((halves.low, halves.high)):

                def matches(slot, is_request=is_request, half=half):
                    return (slot.is_request == is_request) & ~slot.byte_enables & (slot.half == half)

                content, code, from_lower = route(sink, f"{kind}_{('low', 'high')[half]}", matches)
                m.d.comb += [
                    sink.p.data.eq(content),
                    sink.p.code.eq(code),
                    sink.p.poison.eq(Mux(from_lower, poison[0], poison[1])),
                ]
            ends, ended = [slot.valid & slot.last & (slot.is_request == is_request) for slot in self.slots], Signal()
            m.d.sync += ended.eq(ends[0] | ends[1])
            m.d.comb += halves.done.eq(self.accept & ended)
        content, code, _ = route(self.byte_enables, "byte_enables", lambda slot: slot.byte_enables)
        m.d.comb += [self.byte_enables.p.enables.eq(content), self.byte_enables.p.code.eq(code)]
        return m
