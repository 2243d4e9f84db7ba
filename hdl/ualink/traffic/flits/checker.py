"""Compares endless TL flits with those that have to come."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import even_parity, parity_mismatch

from .content import NUMBER_BITS, flit_content

__all__ = ["FlitChecker"]

_WORD = 32


class FlitChecker(wiring.Component):
    """Compares each TL flit with the one after the last, from flit 0 on after each time that the link was down.

    One that was lost, doubled or out of order leaves all flits after it wrong until the link has been down. What the
    outputs say is of the flit that came three cycles before.

    Members
    -------
    online : 1 bit, the link gives flits. Low: flit 0 is the next.
    flit : the TL flits.
    checked : 1 bit, a flit has been compared.
    wrong : 1 bit, with ``checked``: it was another one.
    damaged : 1 bit, with ``checked``: it had wrong parity or was marked as corrupt (UALink_200 §6.7.3, §6.7.4).
    number : 32 bits, with ``checked``: that of the flit that had to come.
    """

    def __init__(self):
        super().__init__(
            {
                "online": In(1),
                "flit": In(tl_flit_signature(always_ready=True)),
                "checked": Out(1),
                "wrong": Out(1),
                "damaged": Out(1),
                "number": Out(NUMBER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        expected, asked = Signal(NUMBER_BITS), Signal(NUMBER_BITS)
        came, flit = Signal(), Signal.like(self.flit.p, reset_less=True)
        m.d.sync += [came.eq(self.flit.valid & self.online), flit.eq(self.flit.p)]
        with m.If(came):
            m.d.sync += expected.eq(expected + 1)
        with m.If(~self.online):
            m.d.sync += expected.eq(0)

        data, message = flit_content(expected)
        words = range(len(data) // _WORD)
        other = Signal(len(words) + 1, reset_less=True)
        bad = Signal(len(words) + 1, reset_less=True)
        for n in words:
            word = flit.data.word_select(n, _WORD)
            m.d.sync += [
                other[n].eq(word != data.word_select(n, _WORD)),
                bad[n].eq(parity_mismatch(word, flit.parity.word_select(n, _WORD // 8))),
            ]
        compared = Signal()
        m.d.sync += [
            other[-1].eq(flit.message != message),
            bad[-1].eq(even_parity(flit.message, flit.error, flit.control_parity) | flit.error),
            compared.eq(came),
            asked.eq(expected),
            self.checked.eq(compared),
            self.wrong.eq(compared & other.any()),
            self.damaged.eq(compared & bad.any()),
            self.number.eq(asked),
        ]
        return m
