"""Data of a TL receiver: the buffers of both classes, and whether the partner keeps to their credits."""

from amaranth.hdl import Cat, Module, ResetInserter
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.queue import Queue
from ualink.tl.credit.check import SPENT_LAYOUT, CreditCheck
from ualink.tl.credit.data_buffer import BEAT_LAYOUT, DataBuffer
from ualink.tl.credit.shared_check import SharedCreditCheck
from ualink.tl.credit.shared_data_buffer import SharedDataBuffer
from ualink.tl.internal import RELEASE_LAYOUT

from .data_assembler import DataAssembler
from .data_room import DataRoom
from .sequence import DATA_SLOT_LAYOUT

__all__ = ["ReceiveData"]

KINDS = ("request", "response")


class ReceiveData(wiring.Component):
    """Buffers the Data half-flits of Requests and of Read Responses, up to two per cycle, as beats and byte enables
    (UALink_200 §5.5, §5.8).

    ``request_`` and ``response_`` members are those of one class, which has buffers and an account of its own. In
    Shared Data Buffer mode the buffers are common and the Pools are one. A beat is offered in the cycle after its later
    half has come, or one cycle later if the buffers are common.

    Attributes
    ----------
    asked : the half-flits of the flit that is checked, as ``ReceiveSequence`` describes them; accept : it is accepted.
        refused : combinational: one of them finds no place.
    half_flits, write : their bytes, one cycle later; the flit was accepted.
    flush : the link is down; ``*_busy``: the class still needs its data, because a transfer has begun.
    beat : beats in order; byte_enables : of the Requests, one half-flit each that has any.
    done : pulse: all beats of one more field are offered from the next cycle on.
    spent, release : data credits that a field spends; buffers that became free.
    underflow : combinational: ``spent`` takes more than there is.
    half_poisoned : pulse: the beat that leaves had only one poisoned half.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        of_each = {
            "busy": In(1),
            "beat": Out(stream.Signature(BEAT_LAYOUT)),
            "done": Out(1),
            "spent": In(SPENT_LAYOUT),
            "release": In(RELEASE_LAYOUT),
            "underflow": Out(1),
            "refused": Out(1),
            "half_poisoned": Out(1),
        }
        super().__init__(
            {
                "asked": In(data.ArrayLayout(DATA_SLOT_LAYOUT, 2)),
                "accept": In(1),
                "half_flits": In(data.ArrayLayout(256, 2)),
                "write": In(1),
                "flush": In(1),
                "byte_enables": Out(stream.Signature(256)),
                **{f"{kind}_{name}": member for kind in KINDS for name, member in of_each.items()},
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.assembler = assembler = DataAssembler()
        m.d.comb += [
            assembler.slots.eq(self.asked),
            assembler.half_flits.eq(self.half_flits),
            assembler.accept.eq(self.write),
        ]

        # The command credit of a Request is released when its data begin to leave, those of its data later.
        beats = config.req_data.total + (config.rsp_data.pool if config.shared_data_buffer else 0)
        depth = min(config.req_cmd.total + 1, beats)
        byte_enables = ResetInserter(self.flush & ~self.request_busy)(Queue(256, depth))
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
        left = {kind: self._of(kind, "beat").valid & self._of(kind, "beat").ready for kind in KINDS}
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
        m.d.comb += [self._of(kind, "refused").eq(refused[kind]) for kind in KINDS]

    def _of(self, kind, name):
        return getattr(self, f"{kind}_{name}")

    def _separate(self, m, assembler):
        """A memory and an account for each class."""
        for kind, credits in zip(KINDS, (self.config.req_data, self.config.rsp_data)):
            buffer = ResetInserter(self.flush & ~self._of(kind, "busy"))(DataBuffer(credits.total))
            check = ResetInserter(self.flush)(CreditCheck(credits))
            m.submodules[f"{kind}_buffer"] = buffer
            m.submodules[f"{kind}_credits"] = check
            wiring.connect(m, getattr(assembler, f"{kind}_low"), buffer.low)
            wiring.connect(m, getattr(assembler, f"{kind}_high"), buffer.high)
            wiring.connect(m, buffer.beat, wiring.flipped(self._of(kind, "beat")))
            m.d.comb += [
                self._of(kind, "done").eq(getattr(assembler, f"{kind}_done")),
                self._of(kind, "half_poisoned").eq(buffer.half_poisoned & buffer.beat.ready),
                check.spent.eq(self._of(kind, "spent")),
                self._of(kind, "underflow").eq(check.underflow),
            ]
            # The partner learns of it later still.
            m.d.sync += check.release[0].eq(self._of(kind, "release"))

    def _share(self, m, assembler):
        """Memories and an account for both classes."""
        config = self.config
        idle = ~self.request_busy & ~self.response_busy
        m.submodules.buffer = buffer = ResetInserter(self.flush & idle)(SharedDataBuffer(config))
        check = ResetInserter(self.flush)(SharedCreditCheck(config.req_data, config.rsp_data))
        m.submodules.credits = check
        for kind in KINDS:
            for half in ("low", "high"):
                wiring.connect(m, getattr(assembler, f"{kind}_{half}"), getattr(buffer, f"{kind}_{half}"))
            beat = getattr(buffer, f"{kind}_beat")
            wiring.connect(m, beat, wiring.flipped(self._of(kind, "beat")))
            m.d.comb += [
                getattr(buffer, f"{kind}_done").eq(getattr(assembler, f"{kind}_done")),
                self._of(kind, "done").eq(getattr(buffer, f"{kind}_complete")),
                self._of(kind, "half_poisoned").eq(getattr(buffer, f"{kind}_half_poisoned") & beat.ready),
                getattr(check, f"{kind}_spent").eq(self._of(kind, "spent")),
                self._of(kind, "underflow").eq(getattr(check, f"{kind}_underflow")),
            ]
            # The partner learns of it later still.
            m.d.sync += getattr(check, f"{kind}_release").eq(self._of(kind, "release"))
