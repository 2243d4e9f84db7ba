"""The replay machines of two data links alone, with six narrow beats to a flit: many pairs fit into one simulation.

Everything goes in step: slots of all ends begin in the same cycle, and what a slot sent ``LATENCY`` slots ago is judged
in beat ``judge`` of the slot after the one in which it arrives. Slots arrive two beats ahead of those that are sent,
as a header comes two cycles before its verdict. All pairs of one simulation see the same losses.
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from support.dl.soak_traffic import RATE_BITS, Xorshift
from ualink.config import DLConfig
from ualink.lib.parity import byte_parity, even_parity
from ualink.phy.interface import TxKind

__all__ = ["BEATS", "CADENCE", "DEPTH", "FATE_LAYOUT", "LATENCY", "RECORD_LAYOUT", "Farm", "Forgery", "narrow"]

BEATS = 6
DATA_BITS = 64
LATENCY = 4
"""Slots."""
DEPTH = 20
CADENCE = 7

RECORD_LAYOUT = data.StructLayout(
    {
        "header": 24,
        "error": 1,
        "inverted": 1,
        "held": 9,
        "rx_bad_crc_count": 3,
        "rx_unexpected_count": 8,
        "timed_out": 1,
        "mismatched": 1,
        "delivered": 16,
    }
)
"""What one end did in a slot, complete in beat 2 of the next: the header it sent, whether its flit was marked by the
source and whether its CRC was inverted; registers at the end of the slot; ``mismatched``: a wrong flit was delivered at
any time before."""


class Forgery:
    """What may happen to the header of a flit that arrives with good CRC."""

    NONE, ZERO, BEYOND, BEHIND, RESERVED = range(5)


FATE_LAYOUT = data.StructLayout({"lost": 1, "forgery": 3, "step": 7, "request": 1})
"""What becomes of the slot that arrives: it is lost; how its header is changed. Forgeries BEYOND and BEHIND make a
command flit name the number ``step`` + 1 beyond the newest, or ``step`` behind the acknowledged one; ``request`` makes
it a Replay Request, else it is an Ack."""


def narrow(modules: SimpleNamespace, beats: int = BEATS, data_bits: int = DATA_BITS) -> SimpleNamespace:
    """Have ``replay_transmit`` of ``modules`` (modules of their own, not those of ``ualink``) make narrow beats, fewer
    to a flit; the flit header is in the first bits of the last."""
    transmit = modules.replay_transmit
    buffer = transmit.ReplayBuffer
    flags = {"first": 1, "last": 1}
    packed = {"data": data_bits, **flags, "payload": 1, "error": 1, "parity": data_bits // 8, "control_parity": 1}
    transmit.BEATS_PER_FLIT = beats
    transmit.HEADER_BIT = 0
    transmit.DATA_BITS = data_bits
    transmit.BEAT_BYTES = data_bits // 8
    transmit.PACKED_BEAT_LAYOUT = data.StructLayout(packed)
    transmit.CRC_GENERATOR_LAYOUT = data.StructLayout({"data": data_bits, **flags, "kind": TxKind})
    transmit.ReplayBuffer = lambda depth, data_bits: buffer(depth, beats=beats, data_bits=data_bits)
    return modules


def _content(number, beat):
    """A beat of flit ``number``: room for the header, the number, and the number again with the beat's own pattern."""
    return Cat(Const(0, 24), number, number[:16] ^ (beat * Const(0x2F35, 16))[:16])


class End(wiring.Component):
    """One end: the replay machines of ``modules``, a source of numbered flits, a sink."""

    def __init__(self, modules: SimpleNamespace):
        self._modules = modules
        super().__init__(
            {
                "beat": In(range(BEATS)),
                "offer": In(1),
                "spoil": In(1),
                "rx_data": In(DATA_BITS),
                "rx_inverted": In(1),
                "fate": In(FATE_LAYOUT),
                "arrives": In(1),
                "judge": In(range(BEATS)),
                "rx_replay_limit": In(8),
                "codeword_group": In(3),
                "tx_ack_time_out": In(24),
                "tx_data": Out(DATA_BITS),
                "tx_inverted": Out(1),
                "record": Out(RECORD_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        parts = self._modules
        config = DLConfig(replay_depth=DEPTH, explicit_cadence=CADENCE)
        m.submodules.transmit = transmit = parts.replay_transmit.ReplayTransmit(config)
        m.submodules.receive = receive = parts.replay_receive.ReplayReceive()
        m.submodules.progress = progress = parts.link_forward_progress.ForwardProgress()
        last = self.beat == BEATS - 1
        no_flit = Signal()
        m.d.comb += [
            transmit.beat.ready.eq(1),
            transmit.next_kind.eq(TxKind.DATA),
            transmit.up.eq(1),
            transmit.codeword_group.eq(self.codeword_group),
            transmit.rx_last_seq_calc.eq(receive.rx_last_seq_calc),
            transmit.rx_last_ack.eq(receive.rx_last_ack),
            transmit.request_replay.eq(receive.request_replay),
            transmit.replay.eq(receive.replay_accepted),
            transmit.replay_from.eq(receive.ack_req_seq),
            receive.held.eq(transmit.held),
            receive.rx_replay_limit.eq(self.rx_replay_limit),
            progress.slot_end.eq(transmit.slot_end),
            progress.waiting.eq(transmit.held != 0),
            progress.acked.eq(receive.acked),
            progress.tx_ack_time_out.eq(self.tx_ack_time_out),
            # Slots that are no flit, like the first, cannot be taken for one.
            self.tx_inverted.eq(transmit.invert | no_flit),
        ]
        # Two cycles after the beat of the slot has begun, with the verdict on it.
        m.d.sync += [self.tx_data.eq(transmit.beat.p.data), no_flit.eq(transmit.beat.p.kind != TxKind.DATA)]
        self._source(m, transmit)
        self._sink(m, receive, transmit)

        timed_out = Signal()
        with m.If(last):
            m.d.sync += [
                self.record.error.eq(transmit.packed.ready & transmit.packed.p.error),
                self.record.held.eq(parts.replay_sequence.seq_distance(receive.rx_last_ack, transmit.tx_last_seq)),
                self.record.rx_bad_crc_count.eq(receive.rx_bad_crc_count),
                self.record.rx_unexpected_count.eq(receive.rx_unexpected_count),
                self.record.timed_out.eq(timed_out | progress.time_out),
                timed_out.eq(0),
            ]
        with m.Elif(progress.time_out):
            m.d.sync += timed_out.eq(1)
        with m.If(self.beat == 1):
            m.d.sync += [self.record.header.eq(self.tx_data[:24]), self.record.inverted.eq(self.tx_inverted)]
        return m

    def _source(self, m, transmit):
        """As the packer does: beat 0 of the next flit is made when the last of the one before is taken."""
        packed = transmit.packed
        made, payload, error, number = Signal(range(BEATS)), Signal(), Signal(), Signal(24)
        m.d.comb += [
            packed.valid.eq(1),
            packed.p.data.eq(Mux(payload, _content(number ^ error.replicate(24), made), 0)),
            packed.p.first.eq(made == 0),
            packed.p.last.eq(made == BEATS - 1),
            packed.p.payload.eq(payload),
            packed.p.error.eq(error),
            packed.p.parity.eq(byte_parity(packed.p.data)),
            packed.p.control_parity.eq(even_parity(packed.p.first, packed.p.last, packed.p.payload, packed.p.error)),
        ]
        with m.If(packed.ready):
            m.d.sync += made.eq(Mux(packed.p.last, 0, made + 1))
            with m.If(packed.p.last):
                accept = Mux(payload, transmit.accept_two, transmit.accept_one)
                m.d.sync += [
                    payload.eq(accept & self.offer),
                    error.eq(accept & self.offer & self.spoil),
                    number.eq(number + (payload & ~error)),
                ]

    def _sink(self, m, receive, transmit):
        """Judges a slot when the next one has begun; the verdict is due two cycles after the header."""
        beat = Signal(range(BEATS))
        m.d.comb += beat.eq(Mux(self.beat >= BEATS - 2, self.beat - (BEATS - 2), self.beat + 2))
        last = beat == BEATS - 1
        number, consistent = Signal(24), Signal()
        came, came_consistent, came_header = Signal(24), Signal(), Signal(24)
        came_good, arrived = Signal(), Signal()
        expected = Signal(24)
        body = self.rx_data[24:]
        same = body == _content(number, beat)[24:]
        with m.If(beat == 0):
            m.d.sync += [number.eq(body[:24]), consistent.eq(body == _content(body[:24], Const(0, 3))[24:])]
        with m.Elif(last):
            m.d.sync += [
                came.eq(number),
                came_consistent.eq(consistent & same),
                came_header.eq(self.rx_data[:24]),
                arrived.eq(self.arrives),
                came_good.eq(~self.fate.lost & ~self.rx_inverted),
            ]
        with m.Else():
            m.d.sync += consistent.eq(consistent & same)

        fate = Signal(FATE_LAYOUT)
        with m.If(last):
            m.d.sync += fate.eq(self.fate)
        beyond, behind = Signal(10), Signal(10)
        op = Signal(3)
        header = Signal(24)
        command = came_header[21:24].matches("01-")
        m.d.comb += [
            beyond.eq(transmit.tx_last_seq + 1 + fate.step),
            behind.eq(receive.rx_last_ack + Mux(receive.rx_last_ack > fate.step, 0, 511) - fate.step),
            op.eq(Mux(fate.request, 3, 2)),
            header.eq(came_header),
        ]
        with m.Switch(fate.forgery):
            with m.Case(Forgery.ZERO):
                zero = Mux(command, ~Const(0x1FF << 11, 24), ~Const(0x1FF << 8, 24))
                m.d.comb += header.eq(came_header & zero)
            with m.Case(Forgery.BEYOND), m.If(command):
                number_beyond = Mux(beyond > 511, beyond - 511, beyond)[:9]
                m.d.comb += header.eq(Cat(came_header[:11], number_beyond, came_header[20], op))
            with m.Case(Forgery.BEHIND), m.If(command):
                m.d.comb += header.eq(Cat(came_header[:11], behind[:9], came_header[20], op))
            with m.Case(Forgery.RESERVED):
                m.d.comb += header.eq(came_header | 1 << 23)
        m.d.comb += [
            receive.header.eq(header),
        ]
        verdict = Cat(arrived & (beat == self.judge), came_good, came_consistent, came)
        for n in range(2):
            later = Signal(len(verdict), name=f"verdict_{n}")
            m.d.sync += later.eq(verdict)
            verdict = later
        m.d.comb += [receive.ended.eq(verdict[0]), receive.good.eq(verdict[1])]
        with m.If(receive.accept):
            m.d.sync += [expected.eq(expected + 1), self.record.delivered.eq(self.record.delivered + 1)]
            with m.If(~verdict[2] | (verdict[3:] != expected)):
                m.d.sync += self.record.mismatched.eq(1)


class Fates(wiring.Component):
    """What becomes of the slots of one direction; drawn anew in the first cycle of each slot. Chances of 2**16."""

    def __init__(self, salt: int):
        self._salt = salt
        chances = {name: In(RATE_BITS) for name in ("loss", "burst", "forgery", "offer", "spoil")}
        super().__init__(
            {
                "seed": In(32),
                "beat": In(range(BEATS)),
                **chances,
                "dead": In(1),
                "fate": Out(FATE_LAYOUT),
                "offered": Out(1),
                "spoilt": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.loss_chance = first = Xorshift(self._salt)
        m.submodules.other_chance = second = Xorshift(self._salt + 1)
        m.d.comb += [first.seed.eq(self.seed), second.seed.eq(self.seed)]
        burst_left = Signal(4)
        forged = first.value.word_select(2, RATE_BITS) < self.forgery
        with m.If(self.beat == 0):
            m.d.sync += [
                self.fate.lost.eq(self.dead | (first.value.word_select(0, RATE_BITS) < self.loss) | (burst_left != 0)),
                self.fate.forgery.eq(Mux(forged, 1 + first.value[48:50], 0)),
                self.fate.step.eq(first.value[50:57] & first.value[57].replicate(7)),
                self.fate.request.eq(first.value[58]),
                self.offered.eq((second.value.word_select(0, RATE_BITS) < self.offer) | self.offer.all()),
                self.spoilt.eq(second.value.word_select(1, RATE_BITS) < self.spoil),
            ]
            with m.If(burst_left != 0):
                m.d.sync += burst_left.eq(burst_left - 1)
            with m.Elif(first.value.word_select(1, RATE_BITS) < self.burst):
                m.d.sync += burst_left.eq(second.value[48:52])
        return m


class Farm(wiring.Component):
    """Pairs of ends, one pair for each of ``variants``, whose elements hold modules as ``narrow`` returns them.

    ``slot`` counts slots; ``fates`` and ``records`` are those of the slot before: fates of what arrived at the first
    ends and at the second, records by variant and end.
    """

    def __init__(self, variants):
        self._variants = list(variants)
        chances = ("loss", "burst", "forgery", "offer", "spoil")
        super().__init__(
            {
                "seed": In(32),
                **{name: In(RATE_BITS) for name in chances},
                "dead": In(2),
                "judge": In(range(BEATS), init=1),
                "rx_replay_limit": In(8, init=40),
                "codeword_group": In(3, init=4),
                "tx_ack_time_out": In(24, init=1000),
                "slot": Out(32),
                "fates": Out(2 * FATE_LAYOUT.size),
                "records": Out(2 * RECORD_LAYOUT.size * len(self._variants)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat = Signal(range(BEATS))
        last = beat == BEATS - 1
        m.d.sync += beat.eq(Mux(last, 0, beat + 1))
        with m.If(last):
            m.d.sync += self.slot.eq(self.slot + 1)
        fates = []
        for number in range(2):
            m.submodules[f"fates_{number}"] = fate = Fates(0x1357_9BD0 + 2 * number)
            fates.append(fate)
            m.d.comb += [fate.seed.eq(self.seed), fate.beat.eq(beat), fate.dead.eq(self.dead[number])]
            for name in ("loss", "burst", "forgery", "offer", "spoil"):
                m.d.comb += getattr(fate, name).eq(getattr(self, name))
        with m.If(last):
            m.d.sync += self.fates.eq(Cat(fates[0].fate, fates[1].fate))
        records = [self._pair(m, n, modules, beat, fates) for n, modules in enumerate(self._variants)]
        m.d.comb += self.records.eq(Cat(records))
        return m

    def _pair(self, m, number, modules, beat, fates):
        ends = [End(modules), End(modules)]
        for side, end, fate in zip("ab", ends, fates):
            m.submodules[f"end_{side}{number}"] = end
            m.d.comb += [
                end.beat.eq(beat),
                end.offer.eq(fate.offered),
                end.spoil.eq(fate.spoilt),
                end.fate.eq(fate.fate),
                end.arrives.eq(self.slot >= LATENCY),
                end.judge.eq(self.judge),
                end.rx_replay_limit.eq(self.rx_replay_limit),
                end.codeword_group.eq(self.codeword_group),
                end.tx_ack_time_out.eq(self.tx_ack_time_out),
            ]
        for near, far in (ends, ends[::-1]):
            self._wire(m, near, far)
        return Cat(end.record for end in ends)

    def _wire(self, m, near, far):
        """A beat comes out two cycles less than ``LATENCY`` slots after its place in the slot of the sender, which is
        two cycles before it goes in: a ring, read just before it is written."""
        rows = BEATS * LATENCY - 5
        m.submodules += (ring := memory.Memory(shape=DATA_BITS + 1, depth=rows, init=[]))
        write, read = ring.write_port(), ring.read_port()
        row = Signal(range(rows))
        m.d.sync += row.eq(Mux(row == rows - 1, 0, row + 1))
        m.d.comb += [
            write.addr.eq(row),
            write.en.eq(1),
            write.data.eq(Cat(near.tx_data, near.tx_inverted)),
            read.addr.eq(row),
            read.en.eq(1),
            Cat(far.rx_data, far.rx_inverted).eq(read.data),
        ]
