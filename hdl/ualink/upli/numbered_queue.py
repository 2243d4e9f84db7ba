"""A queue of received beats that notices when an upset has lost one, doubled it or put it out of order."""

from collections.abc import Callable
from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.parity import protects_data
from ualink.upli.code import code_of

__all__ = ["NumberedQueue"]


class NumberedQueue(wiring.Component):
    """A queue of coded beats, which numbers them as they come and looks whether the one that leaves is the one due.

    No code of a beat covers which beat it is. So each is stored with its number, and with the parity of the members
    beside it. What is offered without being due leaves with a wrong code of control: a beat doubled or out of order,
    one behind another that was lost, one of which a member beside it has changed, or what is none. Data may be in a
    memory of their own: their code is stored with the number in it, so that of the data of another beat is wrong. In
    each cycle the numbers also say whether there is a beat: one that stays inside is not waited for in silence.

    What stands at ``input`` without coming has number 0, which is that of no beat. A memory that every beat goes
    through has no row left of a number that comes again, unless from before a reset; of one that only some go through
    ``torn`` says when nobody knows which rows count. After an upset beats may be wrong until the queue has been empty.

    What is ``WithoutDataParity`` is the plain queue.

    Parameters
    ----------
    kind : makes the queue of a layout and a depth. If that has a member ``torn``, 1 bit, what it offers with it is
        wrong.
    shape : layout with the member ``beat``, of ``CODED_LAYOUTS``, and others.
    depth : int, beats that fit.
    delay : 0, 1 or 2: so many cycles later than a prompt ``Queue`` does ``kind`` offer what comes.

    Members
    -------
    input, output, level : as of ``Queue``; ``input.valid`` only where there is room.
    upset : 1 bit, a register, reset value 0: in the cycle before, what was offered was not what was due, or nothing was
        offered though a beat was due.
    """

    def __init__(self, kind: Callable, shape: data.StructLayout, depth: int, *, delay: int = 0):
        self._kind, self._shape, self.depth, self._delay = kind, shape, depth, delay
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "upset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        own = {name: field.shape for name, field in self._shape}
        # More than rows of memories, of which two in turn have one more than there are beats.
        number = Shape.cast(range(self.depth + 3))
        numbered = data.StructLayout({**own, "number": number, "beside": 1}) if protects_data() else self._shape
        m.submodules.beats = queue = self._kind(numbered, self.depth)
        m.d.comb += [
            queue.input.valid.eq(self.input.valid),
            self.input.ready.eq(queue.input.ready),
            self.output.valid.eq(queue.output.valid),
            queue.output.ready.eq(self.output.ready),
            self.level.eq(queue.level),
            *(queue.input.p[name].eq(self.input.p[name]) for name in own),
            *(self.output.p[name].eq(queue.output.p[name]) for name in own),
        ]
        if protects_data():
            self._number(m, queue, number)
        return m

    def _number(self, m, queue, number):
        coming = Signal(number, init=1)
        due = Signal(number, init=1)
        torn, changed = Signal(), Signal()
        incoming, oldest, there = queue.input.p, queue.output.p, queue.output.valid
        latest = _cycles_later(m, coming, self._delay)
        chosen = queue.torn if "torn" in queue.signature.members else Const(0)
        other = oldest.number != due
        empty = ~queue.level.any()
        own = Mux(self.input.valid, coming, 0)
        m.d.comb += [
            incoming.number.eq(own),
            incoming.beside.eq(self._beside(self.input.p)),
            torn.eq((there & (other | chosen)) | (there == (latest == due)) | (empty & (coming != due))),
            changed.eq(self._beside(oldest) != oldest.beside),
            self.output.p.beat.code.control.eq(code_of(oldest.beat.code.control, torn | changed)),
        ]
        if "data" in self._shape["beat"].shape.members:
            for stored, plain, which in ((incoming, self.input.p, own), (self.output.p, oldest, due)):
                code = plain.beat.code.data
                m.d.comb += stored.beat.code.data.eq(code ^ _spread(which, len(code)))
        with m.If(self.input.valid):
            m.d.sync += coming.eq(_following(coming))
        m.d.sync += [
            due.eq(Mux(there & self.output.ready, _following(due), Mux(empty, latest, due))),
            self.upset.eq(torn | (there & changed)),
        ]

    def _beside(self, payload) -> Value:
        """The parity of what ``payload`` has beside the beat and its number."""
        return Cat(payload[name] for name, _ in self._shape if name != "beat").xor()


def _following(number) -> Value:
    """The number after ``number``; no beat has 0."""
    return Mux(number.all(), 1, number + 1)


def _cycles_later(m, value, cycles):
    for n in range(cycles):
        later = Signal.like(value, init=value.init, name=f"{value.name}_{n + 1}_later")
        m.d.sync += later.eq(value)
        value = later
    return value


def _spread(number, bits) -> Value:
    """``number`` in so many bits, its bit n in bit n modulo ``bits``."""
    return reduce(xor, (number[low : low + bits] for low in range(0, len(number), bits)))
