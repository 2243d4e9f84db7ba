"""The two 24-bit DL flit headers (UALink_200 §6.6.2, Tables 6-14 and 6-15)."""

from dataclasses import dataclass

__all__ = ["CommandHeader", "ExplicitHeader", "HeaderError", "decode_header"]

OP_ORIGINAL, OP_REPLAY, OP_ACK, OP_REPLAY_REQUEST = range(4)


class HeaderError(ValueError):
    """A flit header has a reserved op code."""


@dataclass(frozen=True)
class ExplicitHeader:
    """Explicit Sequence Number flit: the flit's own 9-bit number; ``replay`` only with ``payload``."""

    payload: bool
    replay: bool
    flit_seq_no: int

    def __post_init__(self):
        if self.replay and not self.payload:
            raise HeaderError("op 0b001 (replay) is reserved on a NOP flit")
        if not 0 <= self.flit_seq_no < 512:
            raise ValueError(f"flitSeqNo is {self.flit_seq_no}; it has 9 bits")

    def encode(self) -> int:
        """The header as an integer of 24 bits."""
        return (OP_REPLAY if self.replay else OP_ORIGINAL) << 21 | self.payload << 20 | self.flit_seq_no << 8


@dataclass(frozen=True)
class CommandHeader:
    """Command flit: an Ack or a Standard Replay Request, with the low 3 bits of the flit's own number."""

    payload: bool
    replay_request: bool
    ack_req_seq: int
    flit_seq_lo: int

    def __post_init__(self):
        if not 0 <= self.ack_req_seq < 512:
            raise ValueError(f"ackReqSeq is {self.ack_req_seq}; it has 9 bits")
        if not 0 <= self.flit_seq_lo < 8:
            raise ValueError(f"flitSeqLo is {self.flit_seq_lo}; it has 3 bits")

    def encode(self) -> int:
        """The header as an integer of 24 bits."""
        op = OP_REPLAY_REQUEST if self.replay_request else OP_ACK
        return op << 21 | self.payload << 20 | self.ack_req_seq << 11 | self.flit_seq_lo << 8


def decode_header(header: int) -> ExplicitHeader | CommandHeader:
    """Take a 24-bit header apart, ignoring reserved fields; HeaderError for reserved op codes (ruling A-29 (DL))."""
    op, payload = header >> 21 & 7, bool(header >> 20 & 1)
    if op in (OP_ACK, OP_REPLAY_REQUEST):
        return CommandHeader(payload, op == OP_REPLAY_REQUEST, header >> 11 & 0x1FF, header >> 8 & 7)
    if op == OP_ORIGINAL or (op == OP_REPLAY and payload):
        return ExplicitHeader(payload, op == OP_REPLAY, header >> 8 & 0x1FF)
    raise HeaderError(f"op 0b{op:03b} with payload {payload:d} is reserved")
