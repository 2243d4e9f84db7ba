"""Routes Data half-flits to the data buffers of Requests and of Read Responses."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract
from ualink.tl.credit.data_signatures import KINDS, HalvesSignature, of_both

from .sequence import DATA_SLOT_LAYOUT

__all__ = ["DataAssembler"]


class DataAssembler(wiring.Component):
    """Takes up to two Data half-flits per cycle and never stalls. ``DataRoom`` kept a place for each. Where they go is
    made out a cycle before they do.

    The half-flits of a field alternate between lower and upper halves, a byte-enable half-flit follows an upper half,
    and the next field starts with a lower half. So two half-flits of one flit never go to the same half, of whichever
    class, nor both to the byte enables: one choice for each is enough. At most one of them is the last of its field.

    Attributes
    ----------
    slots : the lower and upper half-flit as ``ReceiveSequence`` describes them; half_flits : their 32 bytes, one cycle
        later. accept : with these, the flit is accepted; without it nothing is written.
    halves : halves of beats to the data buffers of each class; ``done`` with the last one of a field.
    byte_enables : byte-enable half-flits, one per Request that has one.
    """

    def __init__(self):
        super().__init__(
            {
                "slots": In(data.ArrayLayout(DATA_SLOT_LAYOUT, 2)),
                "half_flits": In(data.ArrayLayout(256, 2)),
                "accept": In(1),
                "halves": Out(of_both(HalvesSignature())),
                "byte_enables": Out(stream.Signature(256)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        poison = Signal(2)
        m.d.sync += poison.eq(Cat(slot.poison for slot in self.slots))

        for half, name in enumerate(("low", "high")):
            hits = [slot.valid & ~slot.byte_enables & (slot.half == half) for slot in self.slots]
            from_lower = self._choose(m, name, hits)
            for kind in KINDS:
                sink = getattr(getattr(self.halves, kind), name)
                comes = self._comes(m, f"{kind}_{name}", [hit & _is(kind, slot) for hit, slot in zip(hits, self.slots)])
                m.d.comb += [
                    sink.valid.eq(comes),
                    sink.p.data.eq(Mux(from_lower, *self.half_flits)),
                    sink.p.poison.eq(Mux(from_lower, poison[0], poison[1])),
                ]
        for kind in KINDS:
            ends = [slot.valid & slot.last & _is(kind, slot) for slot in self.slots]
            m.d.comb += getattr(self.halves, kind).done.eq(self._comes(m, f"{kind}_end", ends))
        hits = [slot.valid & slot.byte_enables for slot in self.slots]
        m.d.comb += [
            self.byte_enables.valid.eq(self._comes(m, "byte_enables", hits)),
            self.byte_enables.p.eq(Mux(self._choose(m, "byte_enables", hits), *self.half_flits)),
        ]
        return m

    def _choose(self, m, name, hits):
        """Whether it is the lower half-flit that goes to one kind of memory, of either class, a cycle later."""
        from_lower = Signal(name=f"{name}_from_lower")
        m.d.sync += from_lower.eq(hits[0])

        def one_at_most(m):
            both = Signal()
            m.d.sync += both.eq(hits[0] & hits[1])
            return ~(both & self.accept)

        contract(m, one_at_most, f"slots: one half-flit at most is for {name}")
        return from_lower

    def _comes(self, m, name, hits):
        """One of the half-flits is such a one, a cycle later."""
        comes = Signal(name=f"{name}_comes")
        m.d.sync += comes.eq(hits[0] | hits[1])
        return comes & self.accept


def _is(kind, slot):
    return slot.is_request == (kind == "request")
