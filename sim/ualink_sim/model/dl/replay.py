"""Link level replay: every register, receive and transmit rules (UALink_200 §6.6.4-6.6.6, Figures 6-20 and 6-21).

Attributes carry the standard's names in lower case. The receiver decides which flits are accepted; the transmitter has
TxReplay and acts on the Acks and Replay Requests of the partner. ``dl_link.LinkEnd`` joins the two.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from .header import CommandHeader, ExplicitHeader
from .sequence import RESET_SEQ, WINDOW, next_seq, reconstruct_seq, seq_distance

__all__ = ["ReplayReceiver", "ReplayTransmitter", "Sent", "Verdict"]

Header = ExplicitHeader | CommandHeader
Content = TypeVar("Content")

MAX_UNACKNOWLEDGED = 255
REPLAY_REQUESTS = 3
IGNORE_FLITS = 12


class Verdict(Enum):
    """What the receiver does with a flit; only ACCEPT lets a payload through to the TL."""

    ACCEPT = "accept"
    BAD = "bad CRC, lost flit or reserved op code"
    ZERO_ACK = "command flit with ackReqSeq 0"
    ZERO_SEQ = "explicit flit with flitSeqNo 0"
    UNEXPECTED = "out of sequence: replay requested"
    WAITING = "dropped while waiting for a replay"
    AMBIGUOUS = "dropped until the next explicit flit"


class ReplayReceiver:
    """Receive side: reconstructs numbers, accepts flits in order, asks for replays.

    ``clear_unexpected_at_limit`` is ruling A-17 (DL): Rx_unexpected_count restarts when the limit is hit.
    """

    def __init__(self, rx_replay_limit: int = 50, clear_unexpected_at_limit: bool = True):
        self.rx_replay_limit = rx_replay_limit
        self.clear_unexpected_at_limit = clear_unexpected_at_limit
        self.reset()

    def reset(self) -> None:
        """Reset values of UALink_200 §6.6.4; also at link down (ruling A-22 (DL))."""
        self.rx_seq_calc = RESET_SEQ
        self.rx_last_seq_calc = RESET_SEQ
        self.rx_bad_crc_count = 0
        self.rx_unexpected_count = 0
        self.rx_ambiguous = False
        self.rx_replay = False
        self.request_replay = False

    def receive(self, header: Header | None) -> Verdict:
        """One flit time; ``header`` is None for a bad CRC, a lost flit (A-06) or a reserved op code (A-29).

        ``request_replay`` is then True when three Replay Requests are to be sent.
        """
        self.request_replay = False
        if header is None:
            self.rx_bad_crc_count = min(self.rx_bad_crc_count + 1, 7)
            if self.rx_bad_crc_count == 7:
                self.rx_ambiguous = True
            if self.rx_replay:
                self._count_unexpected()
            return Verdict.BAD
        if isinstance(header, CommandHeader):
            if header.ack_req_seq == 0:
                return Verdict.ZERO_ACK
            self.rx_seq_calc = reconstruct_seq(self.rx_last_seq_calc, header.flit_seq_lo, header.payload)
            if self.rx_replay:
                return self._wait()
            if self.rx_ambiguous:
                return Verdict.AMBIGUOUS
        else:
            if header.flit_seq_no == 0:
                return Verdict.ZERO_SEQ
            self.rx_seq_calc = header.flit_seq_no
        expected = next_seq(self.rx_last_seq_calc) if header.payload else self.rx_last_seq_calc
        if self.rx_seq_calc == expected:
            self.rx_last_seq_calc = self.rx_seq_calc
            self.rx_unexpected_count = 0
            self.rx_bad_crc_count = 0
            self.rx_replay = self.rx_ambiguous = False
            return Verdict.ACCEPT
        if self.rx_replay:
            return Verdict.WAITING  # an explicit flit here is not counted (Figure 6-20)
        self.request_replay = self.rx_replay = True
        self.rx_unexpected_count = 0
        return Verdict.UNEXPECTED

    def _count_unexpected(self) -> None:
        self.rx_unexpected_count = min(self.rx_unexpected_count + 1, 0xFF)

    def _wait(self) -> Verdict:
        self._count_unexpected()
        if self.rx_unexpected_count >= self.rx_replay_limit:
            self.request_replay = True
            self.rx_bad_crc_count = 0
            if self.clear_unexpected_at_limit:
                self.rx_unexpected_count = 0
        return Verdict.WAITING


@dataclass(frozen=True)
class Sent(Generic[Content]):
    """One transmitted flit: its header, its own number, and its content, None on a NOP flit."""

    header: Header
    seq: int
    content: Content | None
    replayed: bool


class ReplayTransmitter(Generic[Content]):
    """Transmit side: TxReplay (``tx_replay_buffer``: numbers and contents, oldest first) and header scheduling.

    ``depth`` is its size in flits, ``explicit_cadence`` the reload of Tx_explicit_count (ruling A-27 (DL)),
    ``group_flits`` the flits of a codeword group (ruling A-19 (DL)); ``tx_ack_time_out`` 0 never times out (A-20 (DL)).
    """

    def __init__(self, depth: int = 64, explicit_cadence: int = 7, group_flits: int = 1, tx_ack_time_out: int = 40_000):
        self.depth = depth
        self.explicit_cadence = explicit_cadence
        self.group_flits = group_flits
        self.tx_ack_time_out = tx_ack_time_out
        self.reset()

    def reset(self) -> None:
        """Reset values of UALink_200 §6.6.5; also at link down (ruling A-22 (DL))."""
        self.rx_last_ack = RESET_SEQ
        self.rx_replay_ignore_count = 0
        self.tx_replay_req_seq_no = 0
        self.tx_replay_req_count = 0
        self.tx_last_seq = RESET_SEQ
        self.tx_replay = False
        self.tx_first_replay = False
        self.tx_explicit_count = self.explicit_cadence
        self.tx_ack_counter = 0
        self.tx_replay_buffer: deque[tuple[int, Content]] = deque()
        self.timed_out = False
        self.slot = 0
        self._replay_index = 0
        self._request_group: int | None = None

    # Receive side: UALink_200 §6.6.6.2, §6.6.6.3

    def receive(self, header: Header | None) -> None:
        """One flit time of the receive direction: act on an Ack or a Replay Request; None for a flit that is bad."""
        self.rx_replay_ignore_count = max(0, self.rx_replay_ignore_count - 1)
        if not isinstance(header, CommandHeader) or header.ack_req_seq == 0:
            return
        wanted = header.ack_req_seq
        held = len(self.tx_replay_buffer)
        not_sent_yet = seq_distance(wanted, self.tx_last_seq) > WINDOW
        # The range tests alone pass numbers half way round the circle while TxReplay is all but empty: hence ``held``.
        if header.replay_request:
            index = seq_distance(next_seq(self.rx_last_ack), wanted)
            in_range = index <= WINDOW and not not_sent_yet and index < held
            if self.rx_replay_ignore_count == 0 and in_range:
                self.tx_replay = self.tx_first_replay = True
                self.rx_replay_ignore_count = IGNORE_FLITS
                self._replay_index = index
            return
        count = seq_distance(self.rx_last_ack, wanted)
        if count <= WINDOW and not not_sent_yet and count <= held:
            self.rx_last_ack = wanted
            for _ in range(count):
                self.tx_replay_buffer.popleft()
            if count:
                self.tx_ack_counter = self.tx_ack_time_out
            self._replay_index = max(0, self._replay_index - count)
            if self.tx_replay and not self.tx_replay_buffer:
                # Nothing is left to replay, and a NOP flit cannot be a replay.
                self.tx_replay = self.tx_first_replay = False

    def request_replay(self) -> None:
        """Have three Replay Requests sent."""
        self.tx_replay_req_count = REPLAY_REQUESTS

    # Transmit side: UALink_200 §6.6.6.5-6.6.6.8

    @property
    def can_accept(self) -> bool:
        """True when TxReplay takes a new payload flit: at most 255 stay unacknowledged (ruling A-18 (DL))."""
        return not self.tx_replay and len(self.tx_replay_buffer) < min(self.depth, MAX_UNACKNOWLEDGED)

    def skip_slot(self) -> None:
        """A flit slot of the codeword grid that carries alignment markers or Idle instead of a flit."""
        self.slot += 1

    def transmit(self, rx_last_seq_calc: int, content: Content | None = None) -> Sent[Content]:
        """The flit of this flit interval: a replay, else ``content`` as a new payload flit, else a NOP flit.

        ``rx_last_seq_calc`` is the receiver's register. ``content`` may be given only while ``can_accept``.
        """
        if content is not None and not self.can_accept:
            raise ValueError("TxReplay takes no payload flit now")
        self._count_down()
        replayed = self.tx_replay
        if replayed:
            seq, content = self.tx_replay_buffer[self._replay_index]
            self._replay_index += 1
        elif content is not None:
            self.tx_last_seq = seq = next_seq(self.tx_last_seq)
            if not self.tx_replay_buffer:
                self.tx_ack_counter = self.tx_ack_time_out
            self.tx_replay_buffer.append((seq, content))
        else:
            seq = self.tx_last_seq
        header = self._header(seq, content is not None, rx_last_seq_calc)
        if replayed and self._replay_index == len(self.tx_replay_buffer):
            self.tx_replay = False
        self.slot += 1
        return Sent(header, seq, content, replayed)

    def _count_down(self) -> None:
        if self.tx_replay_buffer and self.tx_ack_time_out:
            self.tx_ack_counter = max(0, self.tx_ack_counter - 1)
            self.timed_out = self.tx_ack_counter == 0

    def _header(self, seq: int, payload: bool, rx_last_seq_calc: int) -> Header:
        self.tx_explicit_count = max(0, self.tx_explicit_count - 1)
        if self.tx_first_replay or self.tx_explicit_count == 0:
            self.tx_first_replay = False
            self.tx_explicit_count = self.explicit_cadence
            return ExplicitHeader(payload, self.tx_replay, seq)
        group = self.slot // self.group_flits
        if self.tx_replay_req_count and group != self._request_group:
            if self.tx_replay_req_count == REPLAY_REQUESTS:
                self.tx_replay_req_seq_no = next_seq(rx_last_seq_calc)
            self.tx_replay_req_count -= 1
            self._request_group = group
            return CommandHeader(payload, True, self.tx_replay_req_seq_no, seq & 7)
        return CommandHeader(payload, False, rx_last_seq_calc, seq & 7)
