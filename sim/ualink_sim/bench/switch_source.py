"""One ingress port's traffic: items that arrive at random and wait to be offered to the core."""

from enum import IntEnum
from random import Random

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import beat_stream

__all__ = ["BURST", "HOT_SHARE", "STAMP_LAYOUT", "Destinations", "ItemSource"]

BURST = 16
"""Items of a burst, in the mean."""
HOT_SHARE = 8
"""One of so many items goes to the hot spot, or more: the others choose it too."""
BACKLOG = 512

STAMP_LAYOUT = data.StructLayout({"time": 32, "number": 16, "beat": 2})
"""The low bits of a beat's data: when its item arrived, how many items went this way before it, which beat it is."""


class Destinations(IntEnum):
    """How a source chooses the egress port of an item."""

    UNIFORM = 0
    PERMUTATION = 1
    HOT_SPOT = 2
    INCAST = 3
    BURSTY = 4
    ALL_TO_ALL = 5


class ItemSource(wiring.Component):
    """Read Responses of ``beats`` beats, which arrive with a chance of ``rate`` of 2**32 in each cycle.

    An item is offered from the cycle after it arrived; ``time`` of its stamp is that cycle.

    Members
    -------
    beats_less_one, destinations, rate : constant while there is traffic.
    now : 32 bit, the cycle.
    enable : items arrive.
    output : to the core.
    arrived, refused : pulses: an item arrived; it found no place among those that wait, and is gone.
    idle : nothing waits.
    """

    def __init__(self, number: int, ports: int):
        self._number = number
        self._ports = ports
        super().__init__(
            {
                "beats_less_one": In(2),
                "destinations": In(Destinations),
                "rate": In(32),
                "now": In(32),
                "enable": In(1),
                "output": Out(beat_stream("rd_rsp")),
                "arrived": Out(1),
                "refused": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        random = self._random(m)
        destination = self._destination(m, random[32:])
        item = data.StructLayout({"time": 32, "destination": destination.shape()})
        m.submodules.waiting = waiting = memory.Memory(shape=item, depth=BACKLOG, init=[])
        write, read = waiting.write_port(), waiting.read_port(domain="comb")
        head = Signal(range(BACKLOG))
        count = Signal(range(BACKLOG + 1))
        enters = Signal()
        leaves = Signal()
        m.d.comb += [
            self.arrived.eq(self.enable & (random[:32] < self.rate)),
            enters.eq(self.arrived & (count != BACKLOG)),
            self.refused.eq(self.arrived & ~enters),
            self.idle.eq(count == 0),
            write.addr.eq(head + count),
            write.data.time.eq(self.now + 1),
            write.data.destination.eq(destination),
            write.en.eq(enters),
            read.addr.eq(head),
        ]
        m.d.sync += [head.eq(head + leaves), count.eq(count + enters - leaves)]

        beat = Signal(2)
        numbers = Array(Signal(16, name=f"number_{n}") for n in range(self._ports))
        stamp = data.View(STAMP_LAYOUT, Signal(STAMP_LAYOUT))
        end = beat == self.beats_less_one
        offered = self.output.p
        m.d.comb += [
            stamp.time.eq(read.data.time),
            stamp.number.eq(numbers[read.data.destination]),
            stamp.beat.eq(beat),
            self.output.valid.eq(count != 0),
            offered.src_phys_acc_id.eq(self._number),
            offered.dst_phys_acc_id.eq(read.data.destination),
            offered.num_beats.eq(self.beats_less_one),
            offered.offset.eq(beat),
            offered.last.eq(end),
            offered.data.eq(stamp.as_value()),
            leaves.eq(self.output.valid & self.output.ready & end),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += beat.eq(Mux(end, 0, beat + 1))
            with m.If(end):
                m.d.sync += numbers[read.data.destination].eq(numbers[read.data.destination] + 1)
        return m

    def _random(self, m) -> Signal:
        """64 bits a cycle: Marsaglia's xorshift generator."""
        state = Signal(64, init=Random(self._number).getrandbits(64) | 1)
        a = state ^ (state << 13)[:64]
        b = a ^ (a >> 7)
        m.d.sync += state.eq(b ^ (b << 17)[:64])
        return state

    def _destination(self, m, random) -> Signal:
        """Where an item of this cycle goes."""
        ports, number = self._ports, self._number
        width = range(ports)
        any_port = Signal(width)
        kept = Signal(width, init=number)
        turn = Signal(width, init=(number + 1) % ports)
        destination = Signal(width)
        # 16 random bits times the number of ports: the whole part of the product.
        m.d.comb += any_port.eq((random[:16] * ports) >> 16)
        with m.Switch(self.destinations):
            with m.Case(Destinations.UNIFORM):
                m.d.comb += destination.eq(any_port)
            with m.Case(Destinations.PERMUTATION):
                m.d.comb += destination.eq((number + 1) % ports)
            with m.Case(Destinations.HOT_SPOT):
                m.d.comb += destination.eq(Mux(random[16:32] < (1 << 16) // HOT_SHARE, 0, any_port))
            with m.Case(Destinations.INCAST):
                m.d.comb += destination.eq(0)
            with m.Case(Destinations.BURSTY):
                m.d.comb += destination.eq(Mux(random[16:32] < (1 << 16) // BURST, any_port, kept))
            with m.Case(Destinations.ALL_TO_ALL):
                m.d.comb += destination.eq(turn)
        with m.If(self.arrived):
            m.d.sync += [kept.eq(destination), turn.eq(Mux(turn == ports - 1, 0, turn + 1))]
        return destination
