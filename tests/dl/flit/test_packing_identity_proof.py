"""What the packer takes the unpacker gives out, all of it and in order, whatever is offered and when.

All bits of a byte are one free bit here, so that a byte out of place shows while equal logic falls together: control
(places, headers, message bits) is proved as it is, and the routing of the data byte by byte. Eight bits of a byte never
part in the datapath.
"""

import os

import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.dl.bit_proof import refuted
from ualink.dl.flit.packer import Packer
from ualink.dl.flit.unpacker import Unpacker

BEATS = 10
MOST_INSIDE = 4
COUNT_BITS = 6


class Identity(wiring.Component):
    """A packer before an unpacker, without a wire; NOP flits are left out between them.

    The solver offers TL flits and messages, makes NOP flits, and chooses one TL flit and one message to watch.
    """

    flit_valid: In(1)
    flit_bytes: In(64)
    flit_message: In(2)
    message_valid: In(1)
    message_bytes: In(4)
    accept: In(1)
    watched_flit: In(COUNT_BITS)
    watched_message: In(COUNT_BITS)

    def wire(self, beat):
        """What becomes of a beat on its way."""
        return beat

    def elaborate(self, platform):
        m = Module()
        m.submodules.packer = packer = Packer()
        m.submodules.unpacker = unpacker = Unpacker()
        m.d.comb += [
            packer.flit.valid.eq(self.flit_valid),
            # Even parity of eight equal bits is 0.
            packer.flit.p.data.eq(Cat(bit.replicate(8) for bit in self.flit_bytes)),
            packer.flit.p.message.eq(self.flit_message),
            packer.flit.p.control_parity.eq(self.flit_message.xor()),
            packer.message.valid.eq(self.message_valid),
            packer.message.payload.eq(Cat(bit.replicate(8) for bit in self.message_bytes)),
            packer.accept_one.eq(self.accept),
            packer.accept_two.eq(self.accept),
            packer.channel_online.eq(1),
            packer.beat.ready.eq(1),
        ]
        sampled, accepted_before, accepted_flit, forward = Signal(), Signal(), Signal(), Signal()
        m.d.comb += forward.eq(Mux(packer.beat.p.first, accepted_before, accepted_flit))
        m.d.sync += [sampled.eq(self.accept), accepted_before.eq(sampled), accepted_flit.eq(forward)]
        beat = unpacker.beat
        m.d.comb += [
            beat.valid.eq(packer.beat.valid & forward),
            beat.p.data.eq(self.wire(packer.beat.p.data)),
            beat.p.parity.eq(packer.beat.p.parity),
            beat.p.first.eq(packer.beat.p.first),
            beat.p.last.eq(packer.beat.p.last),
        ]

        started, flit, message = Signal(), Signal(COUNT_BITS), Signal(COUNT_BITS)
        m.d.sync += [started.eq(1), flit.eq(self.watched_flit), message.eq(self.watched_message)]
        with m.If(started):
            m.d.comb += [Assume(self.watched_flit == flit), Assume(self.watched_message == message)]

        every = slice(0, None, 8)
        taken, given = Signal(COUNT_BITS), Signal(COUNT_BITS)
        kept, kept_message = Signal(64), Signal(2)
        with m.If(packer.flit.valid & packer.flit.ready):
            m.d.sync += taken.eq(taken + 1)
            with m.If(taken == self.watched_flit):
                m.d.sync += [kept.eq(self.flit_bytes), kept_message.eq(self.flit_message)]
        with m.If(unpacker.flit.valid):
            m.d.sync += given.eq(given + 1)
            m.d.comb += Assert(given != taken)
            with m.If(given == self.watched_flit):
                m.d.comb += [
                    Assert(unpacker.flit.p.data[every] == kept),
                    Assert(unpacker.flit.p.message == kept_message),
                ]
        taken_messages, given_messages, kept_dword = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal(4)
        with m.If(packer.message.valid & packer.message.ready):
            m.d.sync += taken_messages.eq(taken_messages + 1)
            with m.If(taken_messages == self.watched_message):
                m.d.sync += kept_dword.eq(self.message_bytes)
        with m.If(unpacker.message.valid):
            m.d.sync += given_messages.eq(given_messages + 1)
            m.d.comb += Assert(given_messages != taken_messages)
            with m.If(given_messages == self.watched_message):
                m.d.comb += Assert(unpacker.message.payload[every] == kept_dword)
        # Nothing stays behind: at most the flit that is being made, one carried over and those on their way.
        m.d.comb += [
            Assert(~unpacker.format_error & ~unpacker.fault & ~packer.beat.p.error),
            Assert((taken - given)[:COUNT_BITS] <= MOST_INSIDE),
        ]
        return m


class Crossed(Identity):
    """With a wire that exchanges two bytes of each beat."""

    def wire(self, beat):
        return Cat(beat[:256], beat[264:272], beat[256:264], beat[272:])


# Two DL flits and what is on its way; CI proves the first segments only.
CYCLES = 2 * BEATS + 4 if os.environ.get("UALINK_SOAK") else 9


@pytest.mark.soak
@pytest.mark.req("DL-001", "DL-018", "DL-023", "DL-025")
def test_what_is_packed_is_unpacked(tmp_path):
    assert not refuted(Identity(), tmp_path, CYCLES)


@pytest.mark.soak
def test_two_bytes_exchanged_are_found(tmp_path):
    assert refuted(Crossed(), tmp_path, 9)
