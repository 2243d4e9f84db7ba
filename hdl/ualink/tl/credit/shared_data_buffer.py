"""64-byte data buffers that Requests and Read Responses share behind the TL receiver."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.queue import Queue

from .data_buffer import HALF_BEAT_LAYOUT
from .data_signatures import KINDS, BeatsSignature, HalvesSignature, of_both

__all__ = ["SharedDataBuffer"]


class SharedDataBuffer(wiring.Component):
    """One pool of buffers for the beats of both data classes, in place of two ``DataBuffer`` (UALink_200 §5.8, Shared
    Data Buffer mode). There are as many as all data credits together, so that an honest partner always finds one.

    A buffer is taken with the low half of a beat and is free again in the cycle after its beat has been taken. Beats
    leave in the order in which they came within their class; neither class waits for the other. The memories have one
    write port and a read port for each class.

    A beat is offered two cycles after its high half was written, and each cycle after the beat before it has been
    taken. A beat is poisoned if either half is; then its lanes are zero (UALink_200 §9.5.5, ruling D30).

    Attributes
    ----------
    halves : of each class in the order of the link, as ``DataAssembler`` gives them: the high half of a beat comes in
        the cycle of its low half or before any other low half, of either class. ``ready`` is low when all buffers are
        taken; it follows from registers alone.
    beats : of each class; ``complete`` is ``done`` one cycle later.
    """

    def __init__(self, config: TLConfig):
        self.depth = config.req_data.total + config.rsp_data.total
        super().__init__({"halves": In(of_both(HalvesSignature())), "beats": Out(of_both(BeatsSignature()))})

    def elaborate(self, platform):
        m = Module()
        # Nobody reads a buffer before the cycle after its high half was written.
        storage = [memory.Memory(shape=HALF_BEAT_LAYOUT, depth=self.depth, init=[], attrs=NEVER_MEET) for _ in range(2)]
        m.submodules.low_halves, m.submodules.high_halves = storage
        low_write, high_write = (half.write_port() for half in storage)

        freed, free, available, take = self._free_buffers(m)
        halves = [getattr(self.halves, kind) for kind in KINDS]
        lows, highs = [half.low for half in halves], [half.high for half in halves]
        low_written, high_written, high_is_request = Signal(), Signal(), Signal()
        # The buffer of which the high half is still to come.
        started = Signal()
        current = Signal(range(self.depth))
        buffer = Signal.like(current)
        m.d.comb += [
            low_written.eq((lows[0].valid | lows[1].valid) & available),
            take.eq(low_written),
            low_write.en.eq(low_written),
            low_write.addr.eq(free),
            low_write.data.eq(Mux(lows[0].valid, lows[0].p, lows[1].p)),
            buffer.eq(Mux(started, current, free)),
            high_is_request.eq(highs[0].valid),
            high_written.eq((highs[0].valid | highs[1].valid) & (started | low_written)),
            high_write.en.eq(high_written),
            high_write.addr.eq(buffer),
            high_write.data.eq(Mux(high_is_request, highs[0].p, highs[1].p)),
        ]
        for low, high in zip(lows, highs):
            m.d.comb += [low.ready.eq(available), high.ready.eq(available | started)]
        # With a half of one beat and one of another in the same cycle, the low one is of the later beat.
        with m.If(low_written):
            m.d.sync += [current.eq(free), started.eq(started | ~high_written)]
        with m.Elif(high_written):
            m.d.sync += started.eq(0)

        for n, kind in enumerate(KINDS):
            written = high_written & (high_is_request if kind == "request" else ~high_is_request)
            self._offer(m, kind, freed[n].input, written, buffer, [half.read_port() for half in storage])
            m.d.sync += getattr(self.beats, kind).complete.eq(halves[n].done)
        return m

    def _free_buffers(self, m):
        """The next free buffer: one that was never used since the reset, or else one that a class has given back."""
        freed = [Queue(range(self.depth), self.depth) for _ in KINDS]
        m.submodules.freed_by_requests, m.submodules.freed_by_responses = freed
        outputs = [queue.output for queue in freed]
        unused = Signal(range(self.depth + 1))
        is_unused = Signal()
        free, available, take = Signal(range(self.depth)), Signal(), Signal()
        m.d.comb += [
            is_unused.eq(unused != self.depth),
            free.eq(Mux(is_unused, unused, Mux(outputs[0].valid, outputs[0].p, outputs[1].p))),
            available.eq(is_unused | outputs[0].valid | outputs[1].valid),
            outputs[0].ready.eq(take & ~is_unused),
            outputs[1].ready.eq(take & ~is_unused & ~outputs[0].valid),
        ]
        with m.If(take & is_unused):
            m.d.sync += unused.eq(unused + 1)
        return freed, free, available, take

    def _offer(self, m, kind, freed, written, buffer, halves):
        """Offer the beats of one class. The buffer of the oldest is in a register and the next one at the output of a
        queue, so that the memories can be read one cycle ahead."""
        beats = getattr(self.beats, kind)
        beat = beats.beat
        m.submodules[f"{kind}_buffers"] = buffers = Queue(range(self.depth), self.depth)
        oldest = Signal(range(self.depth))
        following = Signal(range(self.depth))
        waiting, read, taken = Signal(), Signal(), Signal()
        m.d.comb += [
            taken.eq(beat.valid & beat.ready),
            buffers.input.p.eq(buffer),
            following.eq(oldest),
        ]
        # Straight into the register when nothing is before it.
        bypass = Signal()
        with m.If(taken | ~waiting):
            m.d.comb += [
                bypass.eq(written & ~buffers.output.valid),
                following.eq(Mux(buffers.output.valid, buffers.output.p, buffer)),
                buffers.output.ready.eq(1),
            ]
            m.d.sync += waiting.eq(buffers.output.valid | written)
        m.d.comb += buffers.input.valid.eq(written & ~bypass)
        m.d.sync += [oldest.eq(following), read.eq(~taken & waiting | taken & buffers.output.valid)]

        poisoned = [half.data.poison for half in halves]
        m.d.comb += [half.addr.eq(following) for half in halves]
        m.d.comb += [
            freed.valid.eq(taken),
            freed.p.eq(oldest),
            beat.valid.eq(read),
            beat.p.error.eq(poisoned[0] | poisoned[1]),
            beats.half_poisoned.eq(beat.valid & (poisoned[0] ^ poisoned[1])),
        ]
        with m.If(~beat.p.error):
            m.d.comb += [
                beat.p.data[:256].eq(halves[0].data.data),
                beat.p.data[256:].eq(halves[1].data.data),
                beat.p.code.eq(Cat(halves[0].data.code, halves[1].data.code)),
            ]
