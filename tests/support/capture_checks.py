"""What every capture has to show of transmitters and receivers, flit by flit; for captures of any length."""

from collections import deque
from dataclasses import dataclass, field

from ualink_sim.model.decode import DecodedFlit, FlitState
from ualink_sim.model.dl.follow import RESTART_NOPS
from ualink_sim.model.dl.header import ExplicitHeader
from ualink_sim.model.dl.sequence import RESET_SEQ, next_seq

__all__ = ["DirectionCheck", "TransmitterCheck"]

SENT_STATES = (FlitState.PAYLOAD, FlitState.NOP, FlitState.DUPLICATE)
MOST_WITHOUT_EXPLICIT = 6


@dataclass
class TransmitterCheck:
    """Give it all flits at a transmitter from the start of the link on; AssertionError: one breaks a rule.

    No flit breaks a rule of the decoder; explicit numbers come every seven flits and with each replay (UALink_200
    §6.6.2.3). ``flits``, ``payload_flits``, ``replays`` and ``restarts`` are counts.
    """

    flits: int = 0
    payload_flits: int = 0
    replays: int = 0
    restarts: int = 0
    _before: int = RESET_SEQ
    _since_explicit: int = 0
    _restarts_at: int | None = None

    def pause(self) -> None:
        """There has been no flit for long: the link restarts, which the decoder knows from the eighth NOP flit on."""
        self._restarts_at = self.flits
        self._since_explicit = 0

    def see(self, flit: DecodedFlit) -> None:
        """The next flit."""
        assert not flit.problems, flit
        assert flit.state in SENT_STATES, flit
        if self._restarts_at is None:
            assert not flit.notes and not flit.restarted, flit
        elif flit.restarted:
            self._restarts_at = None
        else:
            assert not flit.header.payload and self.flits - self._restarts_at < RESTART_NOPS, flit
        explicit = isinstance(flit.header, ExplicitHeader)
        self._since_explicit = 0 if explicit else self._since_explicit + 1
        assert self._since_explicit <= MOST_WITHOUT_EXPLICIT, flit
        if flit.restarted:
            self.restarts += 1
        elif flit.header.payload and flit.seq != next_seq(self._before):
            assert explicit and flit.header.replay, flit
            self.replays += 1
        self._before = flit.seq
        self.flits += 1
        self.payload_flits += flit.header.payload


RESTART = None
"""Stands between TL flits of two links."""


@dataclass
class DirectionCheck:
    """One direction of a link: what its receiver gets is what its transmitter sends.

    Give it the flits of both taps in the order of time. ``received`` counts TL flits, ``in_flight`` those that are sent
    and not received; ``bad_crc`` are the flits that came damaged.
    """

    transmitter: TransmitterCheck = field(default_factory=TransmitterCheck)
    bad_crc: int = 0
    received: int = 0
    _sent: deque[bytes | None] = field(default_factory=deque)

    @property
    def in_flight(self) -> int:
        """TL flits sent and not received."""
        return len(self._sent)

    def send(self, flit: DecodedFlit) -> None:
        """The next flit at the transmitter."""
        self.transmitter.see(flit)
        if flit.restarted:
            self._sent.append(RESTART)
        self._sent.extend(tl_flit.data for tl_flit in flit.tl_flits)

    def receive(self, flit: DecodedFlit) -> None:
        """The next flit at the receiver."""
        if flit.state is FlitState.BAD_CRC:
            self.bad_crc += 1
            return
        assert not flit.problems, flit
        if flit.restarted:
            assert RESTART in self._sent, flit
            while self._sent.popleft() is not RESTART:
                pass
        for tl_flit in flit.tl_flits:
            assert self._sent and tl_flit.data == self._sent.popleft(), flit
            self.received += 1
