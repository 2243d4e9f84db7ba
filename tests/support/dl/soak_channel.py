"""Hardware that stands for one direction of a wire and its two reconciliation sublayers, with every kind of damage."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from support.dl.soak_traffic import RATE_BITS, Xorshift
from ualink.dl.flit.format import BEAT_BYTES, FLIT_HEADER_OFFSET, FlitOp
from ualink.lib.queue import Queue
from ualink.phy.interface import BEATS_PER_FLIT, RX_BEAT_LAYOUT, TX_BEAT_LAYOUT, SlotStatus, TxKind

__all__ = ["RATES", "DamageSignature", "LossyWire"]

LONGEST_WIRE = 1000
SLACK = 16
OP_BIT = 8 * (FLIT_HEADER_OFFSET % BEAT_BYTES) + 21

RATES = ("loss", "burst", "group_loss", "corruption", "ack_loss", "control", "gap", "stall")


class DamageSignature(wiring.Signature):
    """What a wire does, chances of 2**16.

    Members
    -------
    latency : beats on the wire, below 1000.
    codeword_group : flits that are lost together.
    longest_burst : flits, up to 63.
    loss, burst, group_loss : per flit: it is lost; a burst of losses begins; per codeword group: it is lost whole.
    corruption : per flit: bits of one beat are flipped, status stays GOOD.
    ack_loss : per flit that carries an Ack: it is lost.
    control : per flit: a control flit comes before it.
    gap, stall : per cycle: no beat is given; no beat is taken.
    """

    def __init__(self):
        super().__init__(
            {
                "seed": Out(32),
                "latency": Out(10, init=20),
                "codeword_group": Out(3, init=4),
                "longest_burst": Out(6, init=40),
                **{name: Out(RATE_BITS) for name in RATES},
            }
        )


class LossyWire(wiring.Component):
    """Carries slots in order from ``tx`` to ``rx``; ``flits``, ``damaged``: data slots that came, and how many hurt.

    Latency is counted in beats: where ``tx`` stalls, ``rx`` has a gap later on.
    """

    def __init__(self, salt: int):
        self._salt = salt
        super().__init__(
            {
                "damage": In(DamageSignature()),
                "tx": In(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": Out(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "flits": Out(32),
                "damaged": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.wire = wire = Queue(TX_BEAT_LAYOUT, LONGEST_WIRE + SLACK)
        m.submodules.fates = fates = Xorshift(self._salt)
        m.submodules.places = places = Xorshift(self._salt + 1)
        m.submodules.times = times = Xorshift(self._salt + 2)
        damage = self.damage
        for generator in (fates, places, times):
            m.d.comb += generator.seed.eq(damage.seed)

        def chance(generator, part, rate):
            return generator.value.word_select(part, RATE_BITS) < rate

        beat = wire.output.p
        control_left = Signal(range(BEATS_PER_FLIT + 1))
        control_due = Signal()
        given = Signal()
        fits = Signal()
        m.d.comb += [
            fits.eq((wire.level < damage.latency + SLACK - 1) & ~chance(times, 0, damage.stall)),
            wire.input.valid.eq(self.tx.valid & fits),
            wire.input.payload.eq(self.tx.payload),
            self.tx.ready.eq(fits & wire.input.ready),
            given.eq(
                (wire.level >= damage.latency)
                & wire.output.valid
                & ~chance(times, 1, damage.gap)
                & (control_left == 0)
                & ~control_due
            ),
            wire.output.ready.eq(given),
        ]

        # A control flit of the RS may come before any slot, at most one.
        control_done = Signal()
        m.d.comb += control_due.eq(beat.first & ~control_done & chance(times, 2, damage.control))
        with m.If(given):
            m.d.sync += control_done.eq(0)
        with m.Elif(control_left != 0):
            m.d.sync += control_left.eq(control_left - 1)
        with m.Elif(control_due & wire.output.valid & (wire.level >= damage.latency)):
            m.d.sync += [control_left.eq(BEATS_PER_FLIT), control_done.eq(1)]

        lost, corrupt = self._fates(m, given & beat.first, beat.kind == TxKind.DATA, chance, fates, places)
        carries_ack = beat.data[OP_BIT : OP_BIT + 3] == FlitOp.ACK
        ack_lost = carries_ack & chance(fates, 2, damage.ack_loss)
        index = Signal(range(BEATS_PER_FLIT))
        hit_beat = Signal(range(BEATS_PER_FLIT))
        flips = places.value[:32] | 1
        with m.If(given):
            m.d.sync += index.eq(Mux(beat.last, 0, index + 1))
            with m.If(beat.first):
                m.d.sync += hit_beat.eq(places.value[48:51] + places.value[51])
        hit = corrupt & (index == hit_beat)
        m.d.comb += [
            self.rx.valid.eq(given | (control_left != 0)),
            self.rx.p.data.eq(
                beat.data
                ^ Cat((flips & (hit & (places.value[60:64] == n)).replicate(32)) for n in range(16))
                ^ lost.replicate(512)
            ),
            self.rx.p.first.eq(Mux(control_left != 0, control_left == BEATS_PER_FLIT, beat.first)),
            self.rx.p.last.eq(Mux(control_left != 0, control_left == 1, beat.last)),
            self.rx.p.status.eq(SlotStatus.GOOD),
        ]
        with m.If((control_left != 0) | (beat.kind != TxKind.DATA)):
            m.d.comb += self.rx.p.status.eq(SlotStatus.CONTROL)
        with m.Elif(lost | ack_lost):
            m.d.comb += self.rx.p.status.eq(SlotStatus.BAD)
        with m.If(given & beat.last & (beat.kind == TxKind.DATA)):
            m.d.sync += [self.flits.eq(self.flits + 1), self.damaged.eq(self.damaged + (lost | ack_lost | corrupt))]
        return m

    def _fates(self, m, first, is_data, chance, fates, places):
        """What becomes of the slot in hand; decided with its first beat."""
        damage = self.damage
        lost_before, corrupt_before = Signal(), Signal()
        lost, corrupt = Signal(), Signal()
        burst_left = Signal(6)
        group_place = Signal(3)
        group_lost = Signal()
        group_loss = Signal()
        length = fates.value[58:64]
        begins = chance(fates, 1, damage.burst) & is_data
        m.d.comb += [
            group_loss.eq(Mux(group_place == 0, chance(places, 1, damage.group_loss), group_lost)),
            lost.eq(lost_before),
            corrupt.eq(corrupt_before),
        ]
        with m.If(first):
            m.d.comb += [
                lost.eq(is_data & (chance(fates, 0, damage.loss) | begins | (burst_left != 0) | group_loss)),
                corrupt.eq(is_data & ~lost & chance(places, 2, damage.corruption)),
            ]
            m.d.sync += [
                lost_before.eq(lost),
                corrupt_before.eq(corrupt),
                group_lost.eq(group_loss),
                group_place.eq(Mux(group_place >= damage.codeword_group - 1, 0, group_place + 1)),
            ]
            with m.If(burst_left != 0):
                m.d.sync += burst_left.eq(burst_left - 1)
            with m.Elif(begins):
                m.d.sync += burst_left.eq(Mux(length < damage.longest_burst, length, Const(7)))
        return lost, corrupt
