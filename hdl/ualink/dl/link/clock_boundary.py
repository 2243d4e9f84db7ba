"""The boundary between UPLI clock and DL clock, for an accelerator whose TL is slower than the line (UALink_200 §6.5).

Depth of the receive FIFO. Let x be the partner's pace in flits per tick of the DL clock, at most UPLI clock over DL
clock; an ideal reader takes n · x flits in n ticks. What comes beyond that must find room:

- 10 · x + 1 flits, 11 at most: a flit leaves the unpacker 1 to 11 ticks after it was packed, since a DL flit counts
  only once its last beat is checked, and its up to ten TL flits then leave back to back. So the flits of n ticks were
  admitted within n + 10 ticks, which a pacer makes at most (n + 10) · x + 1;
- 4 flits: a write is visible to the reader after up to four of its cycles (pointer, two synchroniser stages, output
  register), in each of which it could have read one;
- 4 flits: the room made by a read is visible to the writer one cycle of the reader and three ticks later;
- 1 flit: a pacer may let one more through when the rate changes.

That is 20 flits, until flits are replayed. A replay leaves out the NOP flits that lay between payload flits, and each
payload flit may hold ceil(10 · x) TL flits where pacing grants 10 · x on average: less than one flit more for each DL
flit of a replay. Hence ``required_depth``: 20 and the partner's TxReplay, of at most 255 flits.

A rate that is announced must not exceed the slowest that the clock may run at, tolerances included: no depth helps
against a writer that is faster for ever.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer, is_integer
from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature

__all__ = ["RX_DEPTH", "ClockBoundary", "required_depth"]

UNREPLAYED_DEPTH = 20
QUIET_CYCLES = 4
"""Cycles in which a FIFO must show empty after its writer has stopped: synchroniser, its jitter, output register."""


def required_depth(replay_depth: int) -> int:
    """Least power of two that holds what a partner with a TxReplay of ``replay_depth`` DL flits can cause."""
    check_integer("replay_depth", replay_depth, 0, 255)
    return 1 << (UNREPLAYED_DEPTH + replay_depth - 1).bit_length()


RX_DEPTH = required_depth(64)


class SessionState(enum.Enum, shape=2):
    """A session is what lies between two falls of ``dl_online``."""

    DRAIN = 0
    """Discard what the other side had written; no session before both sides have."""
    CLOSED = 1
    OPEN = 2
    CLOSING = 3
    """The DL has ended the session before the TL side noticed its begin: wait until it has."""


class ClockBoundary(wiring.Component):
    """TL flits both ways between domain "upli" (members ``tl_…``) and domain "sync" (``dl_…``), and channel 0 online.

    A session begins when ``dl_online`` rises: ``tl_online`` follows within four UPLI cycles, and flits received in
    between wait for it. It ends when ``dl_online`` falls; ``tl_online`` falls within four UPLI cycles. Both FIFOs
    are then emptied by their readers, one flit a cycle, and only when both are empty ``ready`` rises and the next
    session may begin: no flit of one session is delivered in another. ``dl_online`` must not rise while ``ready`` is
    low; if it does, that session is not begun, and flits received in it set ``overflow``.

    A flit that finds no room sets ``overflow`` and ends the session, so that the TL never sees flits out of a stream
    with a hole; ``tl_reset`` ends it too. The DL then must take channel 0 offline, which is what wiring ``ready`` to
    the wish for channel 0 does.

    UPLIReset_N may come at any time (UALink_200 §4.1), but the pointers of a FIFO must not be reset on one side alone:
    it enters as ``tl_reset``. Both domains have their own reset at power-on, together, for at least four cycles of the
    slower one.

    Latency to the TL: 4 to 5 cycles of the reader, to the DL likewise; throughput one flit per cycle of the slower
    domain, whatever the ratio of the two.

    Parameters
    ----------
    rx_depth : flits from the link that may wait, a power of two, 16 or more; see ``required_depth``. The default is
        for a partner that replays up to 64 DL flits.
    tx_depth : flits to the link that may wait, a power of two; 16 keeps one flit a cycle with equal clocks.

    Members
    -------
    tl_reset : UPLIReset_N inverted; synchronous to the UPLI clock, one cycle or more.
    tl_here : the TL takes a flit from the link in this cycle if there is one.
    tl_online : channel 0 is online, for the TL.
    tl_tx_flit, dl_tx_flit : flits to the link; in a session's end flits offered to the DL are withdrawn.
    dl_rx_flit, tl_rx_flit : flits from the link.
    dl_online : channel 0 is online, from the DL.
    ready : a session is going on or may begin.
    overflow : sticky until reset of "sync": a flit from the link was lost.
    """

    def __init__(self, *, rx_depth: int = RX_DEPTH, tx_depth: int = 16):
        for name, depth, least in (("rx_depth", rx_depth, 16), ("tx_depth", tx_depth, 4)):
            if not is_integer(depth, least) or depth & (depth - 1):
                raise ConfigError(f"{name} is {depth!r}; it must be a power of two, {least} or more")
        self._rx_depth = rx_depth
        self._tx_depth = tx_depth
        super().__init__(
            {
                "tl_reset": In(1),
                "tl_here": In(1, init=1),
                "tl_online": Out(1),
                "tl_tx_flit": In(tl_flit_signature()),
                "tl_rx_flit": Out(tl_flit_signature(always_ready=True)),
                "dl_online": In(1),
                "dl_tx_flit": Out(tl_flit_signature()),
                "dl_rx_flit": In(tl_flit_signature(always_ready=True)),
                "ready": Out(1),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = TL_FLIT_LAYOUT.size
        m.submodules.tx_fifo = tx_fifo = AsyncFIFOBuffered(
            width=width, depth=self._tx_depth + 1, w_domain="upli", r_domain="sync", exact_depth=True
        )
        m.submodules.rx_fifo = rx_fifo = AsyncFIFOBuffered(
            width=width, depth=self._rx_depth + 1, w_domain="sync", r_domain="upli", exact_depth=True
        )
        # Levels that cross: the DL side asks for a session; the TL side is in one, or has emptied its FIFO after one.
        # Registers each, so that nothing but their edges can be seen.
        request, opened, closed = Signal(), Signal(), Signal()
        tl_request, dl_opened, dl_closed = Signal(), Signal(), Signal()
        m.submodules.request = FFSynchronizer(request, tl_request, o_domain="upli")
        m.submodules.opened = FFSynchronizer(opened, dl_opened)
        m.submodules.closed = FFSynchronizer(closed, dl_closed)

        # TL side.
        tl_quiet = Signal(range(QUIET_CYCLES))
        m.d.comb += [
            self.tl_online.eq(opened & ~self.tl_reset),
            tx_fifo.w_data.eq(self.tl_tx_flit.p),
            tx_fifo.w_en.eq(self.tl_tx_flit.valid & self.tl_online),
            self.tl_tx_flit.ready.eq(tx_fifo.w_rdy & self.tl_online),
            self.tl_rx_flit.p.eq(rx_fifo.r_data),
            self.tl_rx_flit.valid.eq(rx_fifo.r_rdy & self.tl_online),
            # A closed side keeps what comes: the first flit may overtake the request for its session.
            rx_fifo.r_en.eq(~closed & (self.tl_here | ~self.tl_online)),
        ]
        with m.If(self.tl_reset):
            m.d.upli += [opened.eq(0), closed.eq(0), tl_quiet.eq(0)]
        with m.Elif(opened):
            m.d.upli += opened.eq(tl_request)
        with m.Elif(closed):
            m.d.upli += [opened.eq(tl_request), closed.eq(~tl_request)]
        with m.Elif(tl_request | rx_fifo.r_rdy):
            m.d.upli += tl_quiet.eq(0)
        with m.Else():
            m.d.upli += [tl_quiet.eq(tl_quiet + 1), closed.eq(tl_quiet == QUIET_CYCLES - 1)]

        # DL side.
        state = Signal(SessionState)
        accept, stored = Signal(), Signal()
        dl_quiet = Signal(range(QUIET_CYCLES))
        # The TL side is neither in a session nor ready for one: it was reset. Both levels may fail to show for one
        # cycle, when one rises as the other falls.
        unknown = Signal(range(QUIET_CYCLES))
        absent = Signal()
        m.d.comb += [
            absent.eq(unknown == QUIET_CYCLES - 1),
            stored.eq(accept & rx_fifo.w_rdy),
            rx_fifo.w_data.eq(self.dl_rx_flit.p),
            rx_fifo.w_en.eq(self.dl_rx_flit.valid & accept),
            self.dl_tx_flit.p.eq(tx_fifo.r_data),
            self.dl_tx_flit.valid.eq(tx_fifo.r_rdy & (state == SessionState.OPEN) & self.dl_online),
            self.ready.eq((state == SessionState.OPEN) | ((state == SessionState.CLOSED) & dl_closed)),
        ]
        with m.If(dl_opened | dl_closed):
            m.d.sync += unknown.eq(0)
        with m.Elif(~absent):
            m.d.sync += unknown.eq(unknown + 1)
        lost = Signal()
        m.d.comb += lost.eq(self.dl_rx_flit.valid & self.dl_online & ~stored)
        with m.If(lost):
            m.d.sync += self.overflow.eq(1)

        with m.Switch(state):
            with m.Case(SessionState.DRAIN):
                m.d.comb += tx_fifo.r_en.eq(1)
                m.d.sync += dl_quiet.eq(0)
                with m.If(dl_closed & ~tx_fifo.r_rdy & ~self.dl_online):
                    m.d.sync += dl_quiet.eq(dl_quiet + 1)
                    with m.If(dl_quiet == QUIET_CYCLES - 1):
                        m.d.sync += [dl_quiet.eq(0), state.eq(SessionState.CLOSED)]
            with m.Case(SessionState.CLOSED):
                m.d.comb += accept.eq(self.dl_online & dl_closed)
                with m.If(~dl_closed):
                    m.d.sync += state.eq(SessionState.DRAIN)
                with m.Elif(self.dl_online):
                    m.d.sync += [request.eq(1), state.eq(SessionState.OPEN)]
            with m.Case(SessionState.OPEN):
                m.d.comb += [accept.eq(self.dl_online), tx_fifo.r_en.eq(self.dl_tx_flit.ready & self.dl_online)]
                with m.If(absent):
                    m.d.sync += [request.eq(0), state.eq(SessionState.DRAIN)]
                with m.Elif(~self.dl_online | lost):
                    m.d.sync += state.eq(SessionState.CLOSING)
            with m.Case(SessionState.CLOSING):
                m.d.comb += tx_fifo.r_en.eq(1)
                with m.If(dl_opened | absent):
                    m.d.sync += [request.eq(0), state.eq(SessionState.DRAIN)]
        return m
