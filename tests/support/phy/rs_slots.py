"""A DL that offers slots to the transmit side of the reconciliation sublayer, and the PCS behind it."""

from dataclasses import dataclass

from support.phy.rs_stream import run, unpacked
from ualink.phy.interface import TxKind
from ualink.phy.link_fault import LinkFault
from ualink_sim.model.phy.rs_fault import LinkFault as Known
from ualink_sim.model.phy.rs_transmit import Offer, Transmitter

BEATS = 10


@dataclass
class Slot:
    """A slot of the DL: its ``kind``, and how many of its beats come; fewer than ten after an upset, the last ones."""

    kind: TxKind
    data: bytes
    beats: int = BEATS


@dataclass
class Sent:
    """A slot on its way to the PCS: its blocks, the fault shown in it, and how many beats of the DL it took."""

    blocks: list[int]
    fault: LinkFault
    taken: int


class Transmission:
    """Drives an ``RSTransmit`` for ``slots`` slots, and keeps them and what the model has for them.

    ``offer()`` gives the DL's next slot, or None for a cycle without one; ``fault(cycle)`` the link fault; ``ready()``
    whether the PCS has room.
    """

    def __init__(
        self, dut, model: Transmitter, slots: int, *, offer, fault=lambda cycle: LinkFault.OK, ready=lambda: 1
    ):
        self.dut, self.model, self.slots = dut, model, slots
        self.size = len(dut.beat.p.data) // 64
        """Blocks in a beat of ``dut``; slots come, and are told of, in tenths all the same."""
        self.offer, self.fault, self.ready = offer, fault, ready
        self.sent: list[Sent] = []
        self.expected: list[tuple] = []
        self.events = {name: 0 for name in ("sent_data", "sent_control", "sent_marker", "starved")}
        self._waiting: list[LinkFault] = []

    async def testbench(self, ctx):
        """For ``Simulator.add_testbench``."""
        dut, beat, slot, number, cycle = self.dut, 0, None, 0, 0
        part, octets = 8 // self.size, 8 * self.size
        beats = BEATS * part
        blocks: list[int] = []
        faults: list[LinkFault] = []
        taken: list[int] = [0]
        while len(self.sent) < self.slots:
            if slot is None:
                slot = self.offer()
                number = beats - slot.beats * part if slot else 0
            link_fault = self.fault(cycle)
            ctx.set(dut.link_fault, link_fault)
            ctx.set(dut.beat.valid, slot is not None)
            if slot:
                ctx.set(dut.beat.p.first, number == 0)
                ctx.set(dut.beat.p.last, number == beats - 1)
                ctx.set(dut.beat.p.kind, slot.kind)
                ctx.set(
                    dut.beat.p.data, int.from_bytes(slot.data[octets * number : octets * number + octets], "little")
                )
            ready = self.ready()
            ctx.set(dut.blocks.ready, ready)
            room = ready or not ctx.get(dut.blocks.valid)
            assert room or not ctx.get(dut.beat.ready)
            for name in self.events:
                self.events[name] += ctx.get(getattr(dut, name))
            if ctx.get(dut.blocks.valid) and ready:
                blocks += unpacked(ctx.get(dut.blocks.p.blocks.as_value()), self.size)
                if len(blocks) == 80:
                    self.sent.append(Sent(blocks, faults.pop(0), taken.pop(0) / part))
                    blocks = []
            self._waiting.append(link_fault)
            if room:
                if beat == 0:
                    faults.append(ctx.get(dut.fault))
                    kind = Offer.NOTHING
                    if slot:
                        kind = Offer.FLIT if slot.kind == TxKind.DATA and number == 0 else Offer.LINK_DOWN
                    self.expected.append((*self.model.slot(kind, slot.data if slot else b""), slot))
                assert ctx.get(dut.fault) == faults[-1]
                beat = (beat + 1) % beats
                for observed in self._waiting:
                    self.model.observe(Known(LinkFault(observed).value))
                self._waiting = []
            if slot and ctx.get(dut.beat.ready):
                taken[-1] += 1
                number += 1
                if number == beats:
                    slot = None
            if room and beat == 0:
                taken.append(0)
            await ctx.tick()
            cycle += 1

    def run(self):
        """Simulate; returns itself."""
        run(self.dut, self.testbench)
        return self
