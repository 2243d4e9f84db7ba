"""A first-in first-out queue of stream payloads on one memory."""

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.lib.contract import contract
from ualink.lib.memory_marks import BLOCK_RAM, NEVER_MEET, OUT_OF_REGISTER
from ualink.lib.occupancy import Occupancy
from ualink.lib.parity import protects_data

__all__ = ["LaterQueue", "Queue", "UnhurriedQueue", "ram_attributes", "successor"]

_LUT_RAM_ROWS, _BLOCK_BITS = 16, 1 << 13
"""A queue of more rows than a LUT RAM has costs several of these and a multiplexer for each bit; half a block RAM."""


def ram_attributes(shape, depth: int) -> dict | None:
    """Attributes of the memory of a queue of ``depth`` payloads of ``shape``: block RAMs, or none."""
    wide = depth > _LUT_RAM_ROWS and depth * Shape.cast(shape).width >= _BLOCK_BITS
    return BLOCK_RAM if wide else None


class Queue(wiring.Component):
    """Queue of up to ``depth`` payloads; up to one write and one read in every cycle.

    The output is show-ahead: ``output.p`` is the oldest payload whenever ``output.valid``, straight from the read
    register of the memory. A payload written in cycle t into an empty queue is offered in cycle t + 1; room made in
    cycle t is offered in cycle t + 1. No path leads within a cycle from the inputs of one side to the outputs of the
    other. A reset of the domain empties the queue. After a cycle without a payload it begins anew, whatever upsets have
    left behind; not in what is ``WithoutDataParity``.

    A payload that finds the queue empty goes round a memory that is no LUT RAM, for which it has a register and a
    multiplexer for each bit. A queue that is not ``prompt`` has none: it offers a payload two cycles later, in cycle
    t + 3 or after.

    Parameters
    ----------
    shape : shape-like of one payload.
    depth : int, 1 or more, not only powers of two: payloads that fit.
    prompt : what is written is offered in the next cycle.
    lean : for slow clocks: what is not ``prompt`` comes out of a LUT RAM without a register behind it, if it fits.
    settles : who reads looks at no payload before the second cycle after it was written: none goes round the memory.

    Attributes
    ----------
    input, output : streams of ``shape``.
    level : payloads inside, those offered on ``output`` included; 0 after reset.
    """

    _unhurried = False

    def __init__(self, shape, depth: int, *, prompt: bool = True, lean: bool = False, settles: bool = False):
        check_integer("queue.depth", depth, 1)
        self.shape = shape
        self._prompt, self._lean, self._settles = prompt, lean, settles
        self.depth = depth
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )
        self.inside = Occupancy(depth, name="inside", level=self.level)

    def elaborate(self, platform):
        m = Module()
        # A payload that the memory would have to give in the cycle in which it is written goes round it. LUT RAMs give
        # it without that.
        through = self._unhurried or ((self._prompt or self._lean) and self.depth <= _LUT_RAM_ROWS)
        attrs = OUT_OF_REGISTER if self._unhurried else {} if through else NEVER_MEET
        attrs = attrs | (ram_attributes(self.shape, self.depth) or {})
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=self.depth, init=[], attrs=attrs)
        write = storage.write_port()
        read = storage.read_port(transparent_for=(write,) if through else ())
        last = self.depth - 1
        write_index = Signal(range(self.depth))
        read_index = Signal(range(self.depth))
        next_read_index = Signal(range(self.depth))
        after = successor(read_index, last)
        inside = self.inside
        pushed, popped = Signal(), Signal()
        m.d.comb += [pushed.eq(self.input.valid & ~inside.full), popped.eq(self.output.valid & self.output.ready)]
        payload, shown, writes, data = self.input.p, inside.some, pushed, read.data
        if not self._prompt:
            payload, shown, writes = self._later(m, pushed, popped)
        elif not through:
            alone = pushed & (~inside.some | (popped & (self.level == 1)))
            if self._settles:
                contract(m, _stays_after(alone, popped), "no payload leaves in the cycle after it was written")
            else:
                data = self._around(m, alone, read.data)

        behind = []
        if not (through or self._lean):
            # Of many rows the next but one is in a register, because it is late known if any leaves.
            following = Signal(range(self.depth), init=1 % self.depth)
            m.d.sync += following.eq(Mux(popped, successor(following, last), following))
            after = following
            behind.append(following.eq(successor(write_index, last)))

        inside.count(m, pushed, popped)
        m.d.comb += [
            self.input.ready.eq(~inside.full),
            self.output.valid.eq(shown),
            self.output.p.eq(data),
            write.addr.eq(write_index),
            write.data.eq(payload),
            write.en.eq(writes),
            # Reading one cycle ahead of the pointer is what makes the output show-ahead.
            next_read_index.eq(Mux(popped, after, read_index)),
            read.addr.eq(next_read_index),
        ]
        m.d.sync += read_index.eq(next_read_index)
        with m.If(writes):
            m.d.sync += write_index.eq(successor(write_index, last))
        if protects_data():
            with m.If(~self.level.any()):
                m.d.sync += [read_index.eq(write_index), *behind]
        return m

    def _around(self, m, alone, read):
        """What is read, or what was written in the cycle before ``alone``."""
        around, kept = Signal(), Signal(self.shape, reset_less=True)
        m.d.sync += [around.eq(alone), kept.eq(self.input.p)]
        return Mux(around, kept, read)

    def _later(self, m, pushed, popped):
        """What is written, and whether, out of registers; and whether a payload is there whose row has been read."""
        payload = Signal(self.shape, reset_less=True)
        writes = Signal()
        m.d.sync += [payload.eq(self.input.p), writes.eq(pushed)]
        return payload, self._readable(m, writes, popped), writes

    def _readable(self, m, writes, popped):
        """Whether a payload is inside that was written two cycles ago or before."""
        written = Signal()
        readable = Occupancy(self.depth, name="readable")
        m.d.sync += written.eq(writes)
        readable.count(m, written, popped)
        if protects_data():
            with m.If(~(writes | written | popped)):
                m.d.sync += readable.level.eq(self.level)
        return readable.some


class UnhurriedQueue(Queue):
    """A ``Queue``, cycle by cycle, in which everything goes through the memory, whatever its depth: for slow clocks, or
    for those who take turns with others (``Interleaver``), where that costs nothing and registers stand around it.
    """

    _unhurried = True


class LaterQueue(Queue):
    """A ``Queue`` that offers a payload a cycle later, in cycle t + 2 or after: everything goes through the memory,
    with no register before it and none behind.
    """

    def __init__(self, shape, depth: int):
        super().__init__(shape, depth, prompt=False)

    def _later(self, m, pushed, popped):
        return self.input.p, self._readable(m, pushed, popped), pushed


def _stays_after(alone, popped):
    """No payload leaves in the cycle after the one in which it was written ``alone``: for ``contract``."""

    def holds(m):
        fresh = Signal()
        m.d.sync += fresh.eq(alone)
        return ~fresh | ~popped

    return holds


def successor(index, last: int):
    """The index after ``index`` on a ring of ``last + 1`` places."""
    return Mux(index == last, 0, index + 1)
