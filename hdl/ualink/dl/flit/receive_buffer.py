"""Holds received flits until they have been judged (UALink_200 §6.7.4.1: only what passed FEC and CRC goes on)."""

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT
from ualink.lib.memory_marks import BLOCK_RAM, NEVER_MEET, OUT_OF_REGISTER
from ualink.lib.parity import ProtectedRegister, byte_parity
from ualink.phy.interface import BEATS_PER_FLIT, RX_BEAT_LAYOUT

__all__ = ["RECEIVED_BEAT_LAYOUT", "ReceiveBuffer"]

LAST_BEAT = BEATS_PER_FLIT - 1

RECEIVED_BEAT_LAYOUT = data.StructLayout({"data": 512, "parity": 64, "first": 1, "last": 1})
"""One of the ten beats of an accepted DL flit: 64 bytes in wire order, bit n of ``parity`` is that of byte n as it came
from the wire."""

ROW_LAYOUT = data.StructLayout({"data": 512, "parity": 64})

PLACES = {"write_bank": 1, "write_beat": 4, "read_bank": 1, "read_beat": 4, "reading": 1}

STATE_LAYOUT = data.StructLayout(PLACES | {"shown": 1, "shown_first": 1, "shown_last": 1})
"""Places to write and to read; the memory shows a beat of an accepted flit, and so does the register behind it, which
may be the first or the last."""


def _state_layout(cycles_per_beat, unhurried):
    """``STATE_LAYOUT``, with the row to read where there is no register behind the memory; or without that register,
    with the cycles that the beat on show has waited for the next."""
    if cycles_per_beat > 1:
        return data.StructLayout(PLACES | {"waited": range(cycles_per_beat)})
    return data.StructLayout({**STATE_LAYOUT.members, "row": 5}) if unhurried else STATE_LAYOUT


class ReceiveBuffer(wiring.Component):
    """Two flits of room: one comes in while the one before is judged and handed on.

    The flit accepted in cycle t leaves as ten beats in cycles t + 2 … t + 11, out of a register, and is out of the
    memory in cycle t + 10, which is in time for a verdict on the flit after it in that cycle or later, and for reuse of
    its room as long as the verdict comes at most nine cycles after the last beat.

    With ``cycles_per_beat`` n above 1 it leaves in cycles t + 1, t + 1 + n, … t + 1 + 9n, out of the memory itself. Its
    room is written no faster than it is read: it is enough that the verdict comes before another slot can end.

    Parity is made of the beats as they come, from the same bits that the CRC is computed over (UALink_200 §6.7.3).

    Parameters
    ----------
    cycles_per_beat : from one beat to the next are so many cycles or more, in ``rx`` as in ``beat``: 1, 2 or 4.
    unhurried : with 1, beats leave in the same cycles, but out of the memory itself, in which they stay a cycle longer:
        for those who take turns with others (``Interleaver``). The verdict comes at most eight cycles after the last
        beat.

    Members
    -------
    rx : beats from the RS, watched only.
    accept : pulse: hand on the slot whose last beat came last.
    flush : stop handing on; the next flit to be accepted must start after it.
    beat : beats of accepted flits, always ready.
    fault : the pointers have bad parity: beats from this cycle on may be anything, until ``flush``.
    """

    def __init__(self, cycles_per_beat: int = 1, *, unhurried: bool = False):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT)
        self._cycles_per_beat, self._unhurried = cycles_per_beat, unhurried
        super().__init__(
            {
                "rx": In(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "accept": In(1),
                "flush": In(1),
                "beat": Out(stream.Signature(RECEIVED_BEAT_LAYOUT, always_ready=True)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        attrs = {**NEVER_MEET, **BLOCK_RAM, **(OUT_OF_REGISTER if self._unhurried else {})}
        m.submodules.storage = storage = memory.Memory(shape=ROW_LAYOUT, depth=32, init=[], attrs=attrs)
        layout = _state_layout(self._cycles_per_beat, self._unhurried)
        m.submodules.state = state = ResetInserter(self.flush)(ProtectedRegister(layout))
        write = storage.write_port()
        read = storage.read_port()
        now = state.q
        m.d.comb += [state.d.eq(now), self.fault.eq(state.mismatch)]

        # A slot that begins anew before it ended takes the place of what came of it.
        index = Mux(self.rx.p.first, 0, now.write_beat)
        m.d.comb += [
            write.addr.eq(Cat(index, now.write_bank)),
            write.data.data.eq(self.rx.p.data),
            write.data.parity.eq(byte_parity(self.rx.p.data)),
            write.en.eq(self.rx.valid),
        ]
        with m.If(self.rx.valid):
            m.d.comb += state.d.write_beat.eq(index + 1)
            with m.If(self.rx.p.last):
                m.d.comb += [state.d.write_bank.eq(~now.write_bank), state.d.write_beat.eq(0)]

        # The flit under judgement is the one that came last; its beat 0 is kept ready.
        judged_bank = ~now.write_bank
        if self._cycles_per_beat == 1:
            self._hand_on_at_once(m, state, read, judged_bank)
        else:
            self._hand_on_in_steps(m, state, read, judged_bank)
        with m.If(self.accept):
            m.d.comb += [state.d.reading.eq(1), state.d.read_beat.eq(0), state.d.read_bank.eq(judged_bank)]
        return m

    def _hand_on_at_once(self, m, state, read, judged_bank):
        now = state.q
        shown, row = Signal(ROW_LAYOUT, reset_less=True), Signal.like(read.addr)
        last = now.read_beat == LAST_BEAT
        m.d.comb += [
            row.eq(
                Mux(now.reading & ~last, Cat((now.read_beat + 1)[:4], now.read_bank), Cat(Const(0, 4), judged_bank))
            ),
            state.d.shown.eq(now.reading),
            state.d.shown_first.eq(now.read_beat == 0),
            state.d.shown_last.eq(last),
            self.beat.valid.eq(now.shown),
            self.beat.p.data.eq(shown.data),
            self.beat.p.parity.eq(shown.parity),
            self.beat.p.first.eq(now.shown_first),
            self.beat.p.last.eq(now.shown_last),
        ]
        if self._unhurried:
            m.d.comb += [state.d.row.eq(row), read.addr.eq(now.row), shown.eq(read.data)]
        else:
            m.d.comb += read.addr.eq(row)
            m.d.sync += shown.eq(read.data)
        with m.If(now.reading):
            m.d.comb += [state.d.read_beat.eq(now.read_beat + 1), state.d.reading.eq(~last)]

    def _hand_on_in_steps(self, m, state, read, judged_bank):
        now = state.q
        last = now.read_beat == LAST_BEAT
        m.d.comb += [
            read.addr.eq(
                Mux(
                    now.reading & ~last,
                    Cat((now.read_beat + now.waited.all())[:4], now.read_bank),
                    Cat(Const(0, 4), judged_bank),
                )
            ),
            self.beat.valid.eq(now.reading & (now.waited == 0)),
            self.beat.p.data.eq(read.data.data),
            self.beat.p.parity.eq(read.data.parity),
            self.beat.p.first.eq(now.read_beat == 0),
            self.beat.p.last.eq(last),
        ]
        with m.If(now.reading):
            m.d.comb += [
                state.d.waited.eq(now.waited + 1),
                state.d.read_beat.eq(now.read_beat + now.waited.all()),
                state.d.reading.eq(~last),
            ]
        with m.If(self.accept):
            m.d.comb += state.d.waited.eq(0)
