"""Data of a TL receiver: the buffers of both classes, and whether the partner keeps to their credits."""

from functools import partial

from amaranth.hdl import Cat, Module, ResetInserter
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.queue import Queue, UnhurriedQueue
from ualink.tl.credit.check import CreditCheck
from ualink.tl.credit.data_buffer import DataBuffer
from ualink.tl.credit.data_signatures import BYTE_ENABLES_LAYOUT, KINDS, OF_BOTH_LAYOUT, ClassDataSignature
from ualink.tl.credit.shared_check import SharedCreditCheck
from ualink.tl.credit.shared_data_buffer import SharedDataBuffer

from .data_assembler import DataAssembler
from .data_room import DataRoom
from .sequence import DATA_SLOT_LAYOUT

__all__ = ["ReceiveData"]


class ReceiveData(wiring.Component):
    """Buffers the Data half-flits of Requests and of Read Responses, up to two per cycle, as beats and byte enables
    (UALink_200 §5.5, §5.8).

    Each class has buffers and an account of its own. In Shared Data Buffer mode the buffers are common and the Pools
    are one. A beat is offered in the cycle after its later half has come, or one cycle later if the buffers are common.

    Attributes
    ----------
    asked : the half-flits of the flit that is checked, as ``ReceiveSequence`` describes them.
    accept : 1 bit, that flit is accepted.
    refused : a bit for each class, combinational: one of its half-flits finds no place.
    half_flits, codes, write : their bytes, one cycle later, with a code as ``DataAssembler`` takes it; 1 bit: the flit
        was accepted.
    flush : 1 bit, the link is down; a class that is ``busy`` still needs its data.
    byte_enables : of the Requests, one half-flit each that has any.
    request, response : data and data credits of the two classes.
    half_poisoned : a bit for each class, pulse: the beat that leaves had only one poisoned half.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "asked": In(data.ArrayLayout(DATA_SLOT_LAYOUT, 2)),
                "accept": In(1),
                "half_flits": In(data.ArrayLayout(256, 2)),
                "codes": In(data.ArrayLayout(4, 2)),
                "write": In(1),
                "flush": In(1),
                "byte_enables": Out(stream.Signature(BYTE_ENABLES_LAYOUT)),
                "request": Out(ClassDataSignature()),
                "response": Out(ClassDataSignature()),
                "refused": Out(OF_BOTH_LAYOUT),
                "half_poisoned": Out(OF_BOTH_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.assembler = assembler = DataAssembler()
        m.d.comb += [
            assembler.slots.eq(self.asked),
            assembler.half_flits.eq(self.half_flits),
            assembler.codes.eq(self.codes),
            assembler.accept.eq(self.write),
        ]

        # The command credit of a Request is released when its data begin to leave, those of its data later.
        beats = config.req_data.total + (config.rsp_data.pool if config.shared_data_buffer else 0)
        depth = min(config.req_cmd.total + 1, beats)
        # A shared buffer tells of data that are complete a cycle later: byte enables are wanted no sooner.
        kind = UnhurriedQueue if config.unhurried else partial(Queue, settles=config.shared_data_buffer)
        queue = kind(BYTE_ENABLES_LAYOUT, depth)
        byte_enables = ResetInserter(self.flush & ~self.request.busy)(queue)
        m.submodules.byte_enables = byte_enables
        wiring.connect(m, assembler.byte_enables, byte_enables.input)
        wiring.connect(m, byte_enables.output, wiring.flipped(self.byte_enables))
        if config.shared_data_buffer:
            self._share(m, assembler)
        else:
            self._separate(m, assembler)
        self._keep_room(m, depth, byte_enables)
        return m

    def _keep_room(self, m, depth, byte_enables):
        """Places for low halves, which have those of their high halves with them, and for byte enables."""
        config = self.config

        def wanted(kind, matches):
            hits = [slot.valid & (slot.is_request == (kind == "request")) & matches(slot) for slot in self.asked]
            return hits[0] | hits[1]

        def room(name, places, wanted, left):
            m.submodules[f"{name}_room"] = room = ResetInserter(self.flush)(DataRoom(places, len(left)))
            m.d.comb += [room.take.eq(self.accept & wanted), room.left.eq(left)]
            return ~room.room

        lows = {kind: wanted(kind, lambda slot: ~slot.byte_enables & ~slot.half) for kind in KINDS}
        left = {kind: self._of(kind).beat.valid & self._of(kind).beat.ready for kind in KINDS}
        if config.shared_data_buffer:
            places = config.req_data.total + config.rsp_data.total
            full = room("data", places, lows["request"] | lows["response"], Cat(left.values()))
            refused = {kind: lows[kind] & full for kind in KINDS}
        else:
            totals = {"request": config.req_data.total, "response": config.rsp_data.total}
            refused = {kind: lows[kind] & room(kind, totals[kind], lows[kind], left[kind]) for kind in KINDS}
        enables = wanted("request", lambda slot: slot.byte_enables)
        left = byte_enables.output.valid & byte_enables.output.ready
        refused["request"] |= enables & room("byte_enables", depth, enables, left)
        m.d.comb += [self.refused[kind].eq(refused[kind]) for kind in KINDS]

    def _of(self, kind):
        return getattr(self, kind)

    def _separate(self, m, assembler):
        """A memory and an account for each class."""
        for kind, credits in zip(KINDS, (self.config.req_data, self.config.rsp_data)):
            own, halves = self._of(kind), getattr(assembler.halves, kind)
            buffer = ResetInserter(self.flush & ~own.busy)(DataBuffer(credits.total, unhurried=self.config.unhurried))
            check = ResetInserter(self.flush)(CreditCheck(credits))
            m.submodules[f"{kind}_buffer"] = buffer
            m.submodules[f"{kind}_credits"] = check
            wiring.connect(m, halves.low, buffer.low)
            wiring.connect(m, halves.high, buffer.high)
            wiring.connect(m, buffer.beat, wiring.flipped(own.beat))
            m.d.comb += [
                own.complete.eq(halves.done),
                self.half_poisoned[kind].eq(buffer.half_poisoned & buffer.beat.ready),
                check.spent.eq(own.spent),
                own.underflow.eq(check.underflow),
            ]
            # The partner learns of it later still.
            m.d.sync += check.release[0].eq(own.release)

    def _share(self, m, assembler):
        """Memories and an account for both classes."""
        config = self.config
        idle = ~self.request.busy & ~self.response.busy
        m.submodules.buffer = buffer = ResetInserter(self.flush & idle)(SharedDataBuffer(config))
        check = ResetInserter(self.flush)(SharedCreditCheck(config.req_data, config.rsp_data))
        m.submodules.credits = check
        wiring.connect(m, assembler.halves, buffer.halves)
        for kind in KINDS:
            own, beats, account = self._of(kind), getattr(buffer.beats, kind), getattr(check.accounts, kind)
            wiring.connect(m, beats.beat, wiring.flipped(own.beat))
            m.d.comb += [
                own.complete.eq(beats.complete),
                self.half_poisoned[kind].eq(beats.half_poisoned & beats.beat.ready),
                account.spent.eq(own.spent),
                own.underflow.eq(account.underflow),
            ]
            # The partner learns of it later still.
            m.d.sync += account.release.eq(own.release)
