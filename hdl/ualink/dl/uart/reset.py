"""Both roles of the UART stream reset (UALink_200 §6.4.4.1.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.message.flit_timer import FlitTimer
from ualink.dl.message.format import MessageClass, UARTType
from ualink.dl.uart.messages import RESET_LAYOUT, candidate_signature

__all__ = ["ResetState", "UartReset"]


class ResetState(enum.Enum, shape=2):
    """Own reset: none; No-Ops and Reset Request are being sent (steps 7 to 10); Response awaited (step 11)."""

    IDLE = 0
    SENDING = 1
    WAITING = 2


class UartReset(wiring.Component):
    """Requester and responder, which may both be at work when two sides reset the stream at once.

    The stream is disabled from the decision to reset it until the partner's Response, and from a received Reset Request
    until the own Response has been sent; with the last of these ends both sides start anew (ruling A-13 (DL)). So no
    Credit Update of the new start can arrive before the Response that lets the partner take it.

    Members
    -------
    reset : a change from 0 to 1 starts an own reset; it does nothing while one is going on.
    reset_all : allStreams of the Reset Request, as it is when the reset starts; repetitions keep it.
    slot_end : a flit time has passed.
    time_out_flits : flit times to wait for a Response before the sequence repeats; 0: for ever.
    heard_request, heard_response : received messages for stream 0 or all streams.
    request : Reset Request wanted, with the No-Ops before it.
    response : Reset Response wanted.
    disabled : the stream is disabled.
    reset_done, reset_timed_out : pulses: Response with status success received; none received in time.
    error : pulse: Response that nobody asked for, or with another status than success.
    """

    def __init__(self):
        super().__init__(
            {
                "reset": In(1),
                "reset_all": In(1),
                "slot_end": In(1),
                "time_out_flits": In(24),
                "heard_request": In(stream.Signature(RESET_LAYOUT, always_ready=True)),
                "heard_response": In(stream.Signature(RESET_LAYOUT, always_ready=True)),
                "request": Out(candidate_signature()),
                "response": Out(candidate_signature()),
                "disabled": Out(1),
                "reset_done": Out(1),
                "reset_timed_out": Out(1),
                "error": Out(1),
            }
        )
        self.state = Signal(ResetState)

    def elaborate(self, platform):
        m = Module()
        state_next = Signal(ResetState)
        owed = Signal()
        owed_next = Signal()
        before = Signal()
        m.submodules.timer = timer = FlitTimer(len(self.time_out_flits))
        asked = Signal(RESET_LAYOUT, reset_less=True)
        all_streams = Signal()
        m.d.comb += [state_next.eq(self.state), owed_next.eq(owed)]
        m.d.sync += [
            self.state.eq(state_next),
            owed.eq(owed_next),
            self.disabled.eq((state_next != ResetState.IDLE) | owed_next),
        ]
        self._messages(m, owed, asked, all_streams)

        m.d.sync += before.eq(self.reset)
        m.d.comb += [timer.slot_end.eq(self.slot_end), timer.restart.eq(self.request.sent)]
        with m.Switch(self.state):
            with m.Case(ResetState.IDLE):
                m.d.comb += self.error.eq(self.heard_response.valid)
                with m.If(self.reset & ~before):
                    m.d.comb += state_next.eq(ResetState.SENDING)
                    m.d.sync += all_streams.eq(self.reset_all)
            # A Response that comes while SENDING answers an earlier Request; the one being sent gets its own.
            with m.Case(ResetState.WAITING):
                with m.If(self.heard_response.valid & (self.heard_response.p.status == 0)):
                    m.d.comb += self.reset_done.eq(1)
                    m.d.comb += state_next.eq(ResetState.IDLE)
                with m.Elif((self.time_out_flits != 0) & (timer.count >= self.time_out_flits)):
                    m.d.comb += self.reset_timed_out.eq(1)
                    m.d.comb += state_next.eq(ResetState.SENDING)
                with m.If(self.heard_response.valid):
                    m.d.comb += self.error.eq(self.heard_response.p.status != 0)

        with m.If(self.request.sent):
            m.d.comb += state_next.eq(ResetState.WAITING)
        with m.If(self.response.sent):
            m.d.comb += owed_next.eq(0)
        with m.If(self.heard_request.valid):
            m.d.comb += owed_next.eq(1)
            m.d.sync += asked.eq(self.heard_request.p)
        return m

    def _messages(self, m, owed, asked, all_streams):
        """The Response echoes which streams the Request ``asked`` for."""
        request = Signal(RESET_LAYOUT)
        response = Signal(RESET_LAYOUT)
        m.d.comb += [
            request.mclass.eq(MessageClass.UART),
            request.mtype.eq(UARTType.RESET_REQUEST),
            request.all_streams.eq(all_streams),
            self.request.wanted.eq(self.state == ResetState.SENDING),
            self.request.dword.eq(request),
            response.mclass.eq(MessageClass.UART),
            response.mtype.eq(UARTType.RESET_RESPONSE),
            response.stream_id.eq(asked.stream_id),
            response.all_streams.eq(asked.all_streams),
            self.response.wanted.eq(owed),
            self.response.dword.eq(response),
        ]
