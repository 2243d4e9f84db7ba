"""A cable with a SERDES at each end, as the two designs see them: for simulating boards that are linked."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.phy.serdes.interface import LaneStatusSignature, Loopback, SerdesLaneSignature

__all__ = ["LOCK_WORDS", "LOSS_WORDS", "CableLaneSignature", "SerdesCable"]

LOSS_WORDS = 16
"""Words without signal until a receiver says so."""
LOCK_WORDS = 128
"""Words with signal until a receiver has its clock."""

_PHASE_STEP = 7
"""A receiver that locks again finds its words this many bits further on."""


class CableLaneSignature(wiring.Signature):
    """What happens to one lane in one direction, driven by a test; may change at any time.

    ``skew``: bits of delay, 0 to ``skew_words * width``. ``errors``: probability that a word has a wrong bit, in units
    of 2**-32 (so the bit error rate is ``errors * 2**-32 / width``). ``flip``: bits of the word under way that are
    inverted. ``cut``: there is no signal, but noise. ``plug``: in place of the cable there is a loopback plug, so that
    the receiver hears the transmitter of its own end.
    """

    def __init__(self, width: int, skew_words: int):
        super().__init__(
            {
                "skew": Out(range(skew_words * width + 1)),
                "errors": Out(32),
                "flip": Out(width),
                "cut": Out(1),
                "plug": Out(1),
            }
        )


class SerdesCable(wiring.Component):
    """Lanes between ends ``a`` and ``b``: words go from one to the other as bits, at a phase that nobody chose.

    The domains of end x are ``<x>_tx<l>``, driven by the simulation, and ``<x>_rx<l>``, driven here; the parent
    declares them. A receiver has the clock of the transmitter that it hears, and is in reset without signal. Clock
    offsets are those of the periods that the simulation gives to ``a_tx<l>`` and ``b_tx<l>``. The designs rename their
    domains ``sync``, ``tx<l>`` and ``rx<l>`` with the prefix of their end; ``<x>_sync`` is that of settings and status.

    Near-end loopback lets a receiver hear the transmitter beside it; far-end loopback of a lane lets the other end hear
    itself. Polarity is modelled: two inversions make none.

    Parameters
    ----------
    lanes, width : of each end.
    skew_words : the largest delay of a lane in words.

    Members
    -------
    a, b : ``SerdesLaneSignature(width)`` of each lane. a_status, b_status : ``LaneStatusSignature`` of each lane.
    to_a, to_b : ``CableLaneSignature`` of each lane.
    sent_a, sent_b : the word that each end puts on the line, as it is on the wires; changes on the falling edge of
        ``<x>_tx<l>``.
    heard_a, heard_b : the word that arrives at each end, with its errors, before skew and phase, in the clock of the
        transmitter that is heard.
    """

    def __init__(self, lanes: int, width: int, *, skew_words: int = 4):
        self._lanes, self._width, self._skew_words = lanes, width, skew_words
        members: dict[str, wiring.Member] = {}
        for end in ("a", "b"):
            members |= {
                end: In(SerdesLaneSignature(width)).array(lanes),
                f"{end}_status": Out(LaneStatusSignature()).array(lanes),
                f"to_{end}": In(CableLaneSignature(width, skew_words)).array(lanes),
                f"sent_{end}": Out(width).array(lanes),
                f"heard_{end}": Out(width).array(lanes),
            }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for lane in range(self._lanes):
            # On the other edge of the transmitter's clock a word stands still at each edge of the receiver's.
            words = {}
            for end in ("a", "b"):
                sender = getattr(self, end)[lane]
                line = f"{end}_line{lane}"
                m.domains += ClockDomain(line, clk_edge="neg", reset_less=True)
                m.d.comb += ClockSignal(line).eq(ClockSignal(f"{end}_tx{lane}"))
                words[end] = getattr(self, f"sent_{end}")[lane]
                m.d[line] += words[end].eq(sender.tx_data ^ sender.tx_invert.replicate(self._width))
                started = Signal(4, name=f"{end}_started{lane}")
                m.d[f"{end}_tx{lane}"] += started.eq(Mux(started.all(), started, started + 1))
                m.d.comb += sender.tx_ready.eq(started.all())
            self._receiver(m, "a", "b", lane, words)
            self._receiver(m, "b", "a", lane, words)
        return m

    def _receiver(self, m: Module, here: str, there: str, lane: int, words: dict[str, Signal]):
        width = self._width
        end, cable = getattr(self, here)[lane], getattr(self, f"to_{here}")[lane]
        status = getattr(self, f"{here}_status")[lane]
        name, bits = f"{here}_bits{lane}", f"{here}_rx{lane}"
        near = end.loopback == Loopback.NEAR_END
        itself = Signal(name=f"{here}_hears_itself{lane}")
        m.d.comb += itself.eq(near | cable.plug | (getattr(self, there)[lane].loopback == Loopback.FAR_END))
        clock = Signal(name=f"{here}_clock{lane}")
        m.d.comb += clock.eq(Mux(itself, ClockSignal(f"{here}_tx{lane}"), ClockSignal(f"{there}_tx{lane}")))
        m.domains += ClockDomain(name, reset_less=True)
        m.d.comb += [ClockSignal(domain).eq(clock) for domain in (name, bits)]

        random = Signal(32, init=0x9E3779B9 ^ lane << 8 ^ ord(here), name=f"{here}_random{lane}")
        m.d[name] += random.eq(_xorshift(random))
        wrong = Signal(width, name=f"{here}_wrong{lane}")
        place = Signal(range(width), name=f"{here}_place{lane}")
        m.d[name] += place.eq(Mux(place == width - 1, 0, place + 1))
        m.d.comb += wrong.eq(cable.flip ^ Mux(random < cable.errors, 1 << place, 0))
        silent = Signal(name=f"{here}_silent{lane}")
        m.d.comb += silent.eq(cable.cut & ~near)
        heard = getattr(self, f"heard_{here}")[lane]
        noise = Cat(random, random[::-1])[:width]
        m.d.comb += heard.eq(Mux(silent, noise, Mux(itself, words[here], words[there]) ^ wrong))

        reset = Signal(name=f"{here}_reset{lane}")
        m.submodules[f"{here}_reset{lane}"] = FFSynchronizer(end.reset, reset, o_domain=name)
        count = Signal(range(max(LOCK_WORDS, LOSS_WORDS)), name=f"{here}_count{lane}")
        ready = Signal(name=f"{here}_ready{lane}")
        phase = Signal(range(width), name=f"{here}_phase{lane}", init=_PHASE_STEP * lane % width)
        m.d[name] += count.eq(0)
        with m.If(reset):
            m.d[name] += ready.eq(0)
        with m.Elif(ready & silent):
            m.d[name] += count.eq(count + 1)
            with m.If(count == LOSS_WORDS - 1):
                m.d[name] += [ready.eq(0), count.eq(0)]
        with m.Elif(~ready & ~silent):
            m.d[name] += count.eq(count + 1)
            with m.If(count == LOCK_WORDS - 1):
                m.d[name] += [ready.eq(1), count.eq(0), phase.eq((phase + _PHASE_STEP) % width)]

        # The newest word is on top, so that a larger skew takes older bits.
        past = Signal(width * (self._skew_words + 2), name=f"{here}_past{lane}")
        m.d[name] += past.eq(Cat(past[width:], heard))
        first = Signal(range(len(past)), name=f"{here}_first{lane}")
        m.d.comb += first.eq(width * (self._skew_words + 1) - cable.skew - phase)
        m.d[name] += end.rx_data.eq((past >> first)[:width] ^ end.rx_invert.replicate(width))
        m.submodules[f"{here}_domain{lane}"] = ResetSynchronizer(~ready, domain=bits)
        m.submodules[f"{here}_rx_ready{lane}"] = FFSynchronizer(ready, end.rx_ready, o_domain=bits)
        sync = f"{here}_sync"
        for number, (level, shown) in enumerate(
            ((ready, status.ready), (ready, status.locked), (~silent, status.signal), (end.tx_ready, status.pll_locked))
        ):
            m.submodules[f"{here}_status{lane}_{number}"] = FFSynchronizer(level, shown, o_domain=sync)


def _xorshift(word):
    """The number after ``word`` of 32 bits in Marsaglia's sequence (13, 17, 5)."""
    word = word ^ (word << 13)[:32]
    word = word ^ (word >> 17)
    return word ^ (word << 5)[:32]
