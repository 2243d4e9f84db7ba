"""The replay machines of both ends under every possible loss: what is accepted is in order, and is what was sent."""

import os

import pytest
from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.dl.bit_proof import refuted
from support.dl.mutant_modules import load
from support.dl.mutants import Mutant
from support.formal import BITWUZLA, prove
from ualink.config import DLConfig
from ualink.phy.interface import TxKind

BEATS = 3
DATA_BITS = 32
TAG_BITS = 5
NEWEST_AFTER_RESET = 511


class Order(wiring.Component):
    """A sender with all of its replay, a receiver that sends NOP flits only; flits of three beats.

    What a slot sent has its header read in cycle ``judged`` of the next slot and is judged two cycles later. The solver
    chooses which new flits have payload and which flits of either direction are lost, all of them reported. ``depth``
    flits fit into TxReplay.
    """

    offer: In(1)
    data_lost: In(1)
    command_lost: In(1)

    def __init__(self, mutant=None, *, rx_replay_limit=24, codeword_group=1, depth=10, judged=1):
        self._modules = load(mutant, beats=BEATS, data_bits=DATA_BITS)
        # Parity has proofs of its own; nothing goes wrong here. Of each beat TxReplay keeps what matters.
        transmit = self._modules.replay_transmit
        transmit.parity_mismatch = lambda value, parity: Const(0)
        transmit.ReplayBuffer = lambda depth, data_bits: self._modules.replay_buffer.ReplayBuffer(
            depth, beats=BEATS, data_bits=TAG_BITS
        )
        self._limit, self._group, self._depth, self._judged = rx_replay_limit, codeword_group, depth, judged
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        parts = self._modules
        m.submodules.transmit = transmit = parts.replay_transmit.ReplayTransmit(DLConfig(replay_depth=self._depth))
        m.submodules.commands = commands = parts.replay_receive.ReplayReceive()
        m.submodules.receive = receive = parts.replay_receive.ReplayReceive()
        m.submodules.scheduler = scheduler = parts.replay_header_scheduler.HeaderScheduler()
        beat = Signal(range(BEATS))
        last, judged = beat == BEATS - 1, beat == self._judged
        begun = Signal()
        m.d.sync += beat.eq(Mux(last, 0, beat + 1))

        # Sender. Flits of the packer: beat 0 is made when the last of the one before is taken.
        packed = transmit.packed
        made, payload, number = Signal(range(BEATS)), Signal(), Signal(TAG_BITS)
        m.d.comb += [
            packed.valid.eq(1),
            packed.p.data.eq(number),
            packed.p.first.eq(made == 0),
            packed.p.last.eq(made == BEATS - 1),
            packed.p.payload.eq(payload),
            packed.p.control_parity.eq(packed.p.first ^ packed.p.last ^ packed.p.payload),
            transmit.beat.ready.eq(1),
            transmit.next_kind.eq(TxKind.DATA),
            transmit.up.eq(1),
            transmit.codeword_group.eq(1),
            transmit.rx_last_seq_calc.eq(NEWEST_AFTER_RESET),
            transmit.rx_last_ack.eq(commands.rx_last_ack),
            transmit.replay.eq(commands.replay_accepted),
            transmit.replay_from.eq(commands.ack_req_seq),
            commands.held.eq(transmit.held),
        ]
        with m.If(packed.ready):
            m.d.sync += made.eq(Mux(packed.p.last, 0, made + 1))
            with m.If(packed.p.last):
                accept = Mux(payload, transmit.accept_two, transmit.accept_one)
                m.d.sync += [payload.eq(accept & self.offer), number.eq(number + payload)]

        # Receiver. Its own flits are NOP flits with the number of none sent.
        explicit = Cat(Const(0, 8), Const(NEWEST_AFTER_RESET, 9), Const(0, 7))
        command = Cat(Const(0, 8), Const(NEWEST_AFTER_RESET & 7, 3), scheduler.ack_req_seq, Const(0, 1), scheduler.op)
        m.d.comb += [
            scheduler.schedule.eq(begun & (beat == BEATS - 2)),
            scheduler.slot_end.eq(last),
            scheduler.request_replay.eq(receive.request_replay),
            scheduler.rx_last_seq_calc.eq(receive.rx_last_seq_calc),
            scheduler.codeword_group.eq(self._group),
            receive.rx_replay_limit.eq(self._limit),
        ]

        # The wires.
        arrived, tag = Signal(), Signal(TAG_BITS)
        data_header, command_header, data_good, command_good = Signal(24), Signal(24), Signal(), Signal()
        sent_tag = Signal(TAG_BITS)
        with m.If(transmit.beat.p.first):
            m.d.sync += sent_tag.eq(transmit.beat.p.data)
        with m.If(transmit.beat.valid & transmit.beat.p.last):
            m.d.sync += [
                begun.eq(1),
                arrived.eq(begun),
                data_header.eq(transmit.beat.p.data[:24]),
                tag.eq(sent_tag),
                command_header.eq(Mux(scheduler.explicit, explicit, command)),
                data_good.eq(~self.data_lost),
                command_good.eq(~self.command_lost),
            ]
        m.d.comb += [
            commands.header.eq(command_header),
            receive.header.eq(data_header),
        ]
        verdict = Cat(arrived & judged, command_good, data_good, tag)
        for n in range(2):
            later = Signal(len(verdict), name=f"verdict_{n}")
            m.d.sync += later.eq(verdict)
            verdict = later
        m.d.comb += [
            commands.ended.eq(verdict[0]),
            receive.ended.eq(verdict[0]),
            commands.good.eq(verdict[1]),
            receive.good.eq(verdict[2]),
        ]

        expected = Signal(TAG_BITS)
        with m.If(receive.accept):
            m.d.sync += expected.eq(expected + 1)
            m.d.comb += Assert(verdict[3:] == expected)
        m.d.comb += Assert(~transmit.buffer.fault & (transmit.held <= self._depth))
        m.d.comb += Assert(~(transmit.slot_fresh & (transmit.slot_beat == 0) & transmit.tx_replay))
        return m


SLOTS = 12 if os.environ.get("UALINK_SOAK") else 7


@pytest.mark.soak
@pytest.mark.req("DL-119", "DL-123", "DL-131", "DL-152", "DL-156", "DL-183")
@pytest.mark.parametrize("judged", range(BEATS))
def test_accepted_flits_are_consecutive(judged):
    prove(Order(judged=judged), mode="bmc", depth=BEATS * SLOTS, engine=BITWUZLA)


def test_receiver_that_expects_any_number_is_refuted(tmp_path):
    old = "expected.eq(rx_seq_calc == Mux(payload, next_seq(self.rx_last_seq_calc), self.rx_last_seq_calc)),"
    mutant = Mutant("any number is expected", "DL-153", "replay.receive", old, "expected.eq(1),")
    assert refuted(Order(mutant), tmp_path, BEATS * 7)
