"""What stands for a link between an accelerator and the switch: four channels of UPLI beats that arrive later."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream

from .layouts import MOST_LATENCY, ROOM, TIME_BITS

__all__ = ["Delay", "Direction"]


class Delay(wiring.Component):
    """Hands on payloads of ``shape`` in order, each ``latency`` cycles later or as soon after as it is taken.

    It holds ``latency + ROOM`` payloads: those on the way, and ``ROOM`` that wait at its end.

    Members
    -------
    now : 32 bit, the cycle.
    latency : cycles, 1 or more; constant after reset.
    input, output : streams of ``shape``; ``input.ready`` comes from registers.
    """

    def __init__(self, shape):
        self._shape = shape
        super().__init__(
            {
                "now": In(TIME_BITS),
                "latency": In(range(MOST_LATENCY + 1)),
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = MOST_LATENCY + ROOM
        entry = data.StructLayout({"due": TIME_BITS, "payload": self._shape})
        m.submodules.storage = storage = memory.Memory(shape=entry, depth=depth, init=[])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        last = Signal(range(depth))
        count = Signal(range(depth + 1))
        enters, leaves = Signal(), Signal()
        waits = Signal(TIME_BITS)
        m.d.comb += [
            # Only as much of the memory as is needed, which a processor's cache holds then.
            last.eq(self.latency + (ROOM - 1)),
            self.input.ready.eq(count <= last),
            enters.eq(self.input.valid & self.input.ready),
            write.data.due.eq(self.now + self.latency),
            write.data.payload.eq(self.input.p),
            write.en.eq(enters),
            waits.eq(self.now - read.data.due),
            self.output.valid.eq((count != 0) & ~waits[-1]),
            self.output.p.eq(read.data.payload),
            leaves.eq(self.output.valid & self.output.ready),
        ]
        for port, moves in ((write, enters), (read, leaves)):
            place = Signal(range(depth))
            m.d.comb += port.addr.eq(place)
            with m.If(moves):
                m.d.sync += place.eq(Mux(place == last, 0, place + 1))
        m.d.sync += count.eq(count + enters - leaves)
        return m


class Direction(wiring.Component):
    """One direction of a link: a ``Delay`` for each channel, which carries one beat of data in a cycle.

    Originator Data and Read Responses share that beat, in turn while both have some. Requests and Write Responses go
    beside it, one of each in a cycle.

    Members
    -------
    now, latency : as of ``Delay``.
    in_req, in_orig_data, in_rd_rsp, in_wr_rsp : streams of beats.
    out_req, out_orig_data, out_rd_rsp, out_wr_rsp : the same later.
    """

    def __init__(self):
        super().__init__(
            {
                "now": In(TIME_BITS),
                "latency": In(range(MOST_LATENCY + 1)),
                **{f"in_{channel}": In(beat_stream(channel)) for channel in CHANNEL_LAYOUTS},
                **{f"out_{channel}": Out(beat_stream(channel)) for channel in CHANNEL_LAYOUTS},
            }
        )

    def elaborate(self, platform):
        m = Module()
        may = {channel: Signal(name=f"may_{channel}", init=1) for channel in CHANNEL_LAYOUTS}
        can: dict[str, Signal] = {}
        for channel, layout in CHANNEL_LAYOUTS.items():
            m.submodules[channel] = delay = Delay(layout)
            given, handed = getattr(self, f"in_{channel}"), getattr(self, f"out_{channel}")
            can[channel] = Signal(name=f"can_{channel}")
            m.d.comb += [
                delay.now.eq(self.now),
                delay.latency.eq(self.latency),
                can[channel].eq(given.valid & delay.input.ready),
                delay.input.valid.eq(given.valid & may[channel]),
                delay.input.p.eq(given.p),
                given.ready.eq(delay.input.ready & may[channel]),
                handed.valid.eq(delay.output.valid),
                handed.p.eq(delay.output.p),
                delay.output.ready.eq(handed.ready),
            ]
        turn, both = Signal(), Signal()
        m.d.comb += [
            both.eq(can["orig_data"] & can["rd_rsp"]),
            may["req"].eq(1),
            may["wr_rsp"].eq(1),
            may["orig_data"].eq(~(both & turn)),
            may["rd_rsp"].eq(~(both & ~turn)),
        ]
        with m.If(both):
            m.d.sync += turn.eq(~turn)
        return m
