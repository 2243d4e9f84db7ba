"""Counts what the flits of one direction hold."""

from functools import reduce
from operator import add

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.tl.format.fields import FType
from ualink.tl.receive.control_decoder import ControlDecoder
from ualink.tl.receive.error import ReceiveError
from ualink.tl.receive.sequence import ReceiveSequence

__all__ = ["COUNTS", "Meter"]

COUNTS = ("cycles", "flits", "controls", "data", "byte_enables", "requests", "compressed", "responses", "credits")
"""Cycles, flits; half-flits: Control, data, byte enables; fields: Requests, those that are compressed, Responses;
Control half-flits that return credits."""


class Meter(wiring.Component):
    """Looks at the flits that pass; a window opens behind one of them and closes with another.

    Members
    -------
    flit, passes : a flit, and that it passes in this cycle.
    authentication : AuthTags half-flits are in use.
    window : flits of the window, 1 or more; constant while it is open.
    start : pulse: forget what was counted; the window opens behind the next flit.
    done : the window is closed.
    cycles … credits : what was counted (``COUNTS``); as many cycles as lie between the two flits.
    fields, ends : level: a Request or Response, or the last of the data of one, is in the flit that passes.
    broken : sticky: a flit was not legal.
    """

    def __init__(self, config: TLConfig):
        self._config = config
        super().__init__(
            {
                "flit": In(TL_FLIT_LAYOUT),
                "passes": In(1),
                "authentication": In(1),
                "window": In(24),
                "start": In(1),
                "done": Out(1),
                **{name: Out(24) for name in COUNTS},
                "fields": Out(1),
                "ends": Out(1),
                "broken": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = ControlDecoder(self._config)
        m.submodules.sequence = sequence = ReceiveSequence()
        lower, upper = self.flit.data[:256], self.flit.data[256:]
        decoded = decoder.decoded
        m.d.comb += [
            decoder.half_flit.eq(lower),
            sequence.valid.eq(self.passes),
            sequence.message.eq(self.flit.message),
            sequence.lower_type.eq(lower[:8]),
            sequence.upper_type.eq(upper[:8]),
            sequence.upper_is_zero.eq(~upper.any()),
            sequence.data_fields.eq(decoded.data_fields),
            sequence.data_field.eq(decoded.data_field),
            sequence.tagged.eq(decoded.tagged),
            sequence.too_many_tagged.eq(decoded.too_many_tagged),
            sequence.authentication.eq(self.authentication),
            self.fields.eq(sequence.control & decoded.tagged),
            self.ends.eq((sequence.lower.valid & sequence.lower.last) | (sequence.upper.valid & sequence.upper.last)),
        ]
        illegal = (sequence.error != ReceiveError.NONE) | (sequence.control & (decoded.error != ReceiveError.NONE))
        with m.If(self.passes & illegal):
            m.d.sync += self.broken.eq(1)

        waits, opened = Signal(), Signal()
        slots = sequence.lower, sequence.upper
        requests = [sequence.control & decoded.requests[pair] for pair in range(4)]
        compressed = [
            request & (lower[64 * pair + 60 : 64 * pair + 64] == FType.COMPRESSED_REQUEST)
            for pair, request in enumerate(requests)
        ]
        gained: dict[str, Value] = {
            "cycles": opened,
            "flits": self.passes,
            "controls": sequence.control,
            "data": _sum(slot.valid & ~slot.byte_enables for slot in slots),
            "byte_enables": _sum(slot.valid & slot.byte_enables for slot in slots),
            "requests": _sum(requests),
            "compressed": _sum(compressed),
            "responses": _sum(sequence.control & bit for bit in decoded.responses),
            "credits": sequence.control & decoded.credits.valid,
        }
        with m.If(opened):
            for name, gain in gained.items():
                count = getattr(self, name)
                m.d.sync += count.eq(count + gain)
            with m.If(self.passes & (self.flits + 1 == self.window)):
                m.d.sync += [opened.eq(0), self.done.eq(1)]
        with m.Elif(waits & self.passes):
            m.d.sync += [waits.eq(0), opened.eq(1)]
        with m.If(self.start):
            m.d.sync += [waits.eq(1), opened.eq(0), self.done.eq(0)]
            m.d.sync += [getattr(self, name).eq(0) for name in COUNTS]
        return m


def _sum(bits) -> Value:
    return reduce(add, bits)
