"""TL flits that a partner's TL may not send, put into a link behind its CRC (UALink_200 §5.1, §5.9, §6.3).

A DL flit without payload is known but for its acknowledgement. What turns it into one with a TL flit in segment 4
stands in its last two beats, the CRC included: CRCs are linear.
"""

import random
from dataclasses import dataclass

from ualink_sim.model.dl.flit import BEAT_BYTES, CRC_OFFSET, DLFlit
from ualink_sim.model.dl.header import CommandHeader
from ualink_sim.model.dl.packing import SegmentHeader
from ualink_sim.model.tl.fields import (
    COMPRESSED_COMMANDS,
    READ,
    CompressedRequest,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.sequence import NOP_MESSAGE, POISONED_DATA, message_half_flit

__all__ = ["FORGERIES", "Mask", "forge", "header_bits", "last_beat_of"]

SEGMENT, SECTOR = 4, 127
"""Where the TL flit stands, and its first sector: it fills beat 8."""


@dataclass(frozen=True)
class Mask:
    """What to flip in the two last beats of a DL flit."""

    before: int
    last: int


def last_beat_of(sequence: int) -> tuple[int, int]:
    """Bits of the last beat, and their values, of a DL flit without payload or message that acknowledges, and has
    ``sequence`` as the low bits of its number."""
    headers = CommandHeader(False, False, 0, sequence).encode(), CommandHeader(True, False, 0, sequence).encode()
    care = _beats(header=0b111 << 21 | 1 << 20 | 0b111 << 8, segment_header=0xFF)[1]
    assert headers[1] ^ headers[0] == 1 << 20
    return care, _beats(header=headers[0])[1]


def header_bits(header: int, *, crc: bool = False) -> tuple[int, int]:
    """Where these bits of a header are in the two last beats, with what they change of the CRC or without."""
    return _beats(header=header, with_crc=crc)


def forge(sequence: int, flit: bytes, message_bits: int) -> Mask:
    """What makes the next flit with payload of such a DL flit, in which is TL flit ``flit``."""
    sectors = [int.from_bytes(flit[4 * n : 4 * n + 4], "little") for n in range(16)]
    headers = (CommandHeader(payload, False, 0, sequence + payload & 7).encode() for payload in (False, True))
    genuine, forged = headers
    before, last = _beats(
        header=genuine ^ forged,
        segment_header=SegmentHeader(flit=(message_bits, None)).encode(),
        sectors=sectors,
        with_crc=True,
    )
    return Mask(before, last)


def _beats(header: int = 0, segment_header: int = 0, sectors=(), *, with_crc: bool = False) -> tuple[int, int]:
    """The last two beats of a flit that is 0 elsewhere, less what they are for zeros alone."""
    place = slice(SECTOR, SECTOR + len(sectors))
    flit, zeros = DLFlit(header=header), DLFlit()
    flit.segment_headers[SEGMENT] = segment_header
    flit.sectors[place] = sectors
    difference = bytes(a ^ b for a, b in zip(flit.encode(), zeros.encode()))
    difference = difference if with_crc else difference[:CRC_OFFSET] + bytes(4)
    *others, before, last = (difference[n : n + BEAT_BYTES] for n in range(0, len(difference), BEAT_BYTES))
    assert not any(map(any, others)), "all of it stands in the last two beats"
    return int.from_bytes(before, "little"), int.from_bytes(last, "little")


def _control(value: int, upper: bytes = bytes(32)) -> tuple[bytes, int]:
    """A Control half-flit of these bits, and a NOP behind it."""
    return value.to_bytes(32, "little") + upper, 0


def _ftype(rng: random.Random):
    return _control(rng.randint(6, 15) << 28 << 32 * rng.randrange(8))


def _footprint(rng: random.Random):
    return _control(1 << 28 << 32 * rng.choice((0, 1, 2, 4, 5, 6)))


def _compressed_cmd(rng: random.Random):
    cmd = rng.choice([code for code in range(8) if code not in COMPRESSED_COMMANDS])
    return _control(CompressedRequest(pool=1).encode() | cmd << 57)


def _unloaded(rng: random.Random):
    return _control(CompressedRequest(pool=1, tag=rng.randrange(2048), addr=rng.getrandbits(10) << 2).encode())


def _request_credit(rng: random.Random):
    fields = {"tag": rng.randrange(2048), "addr": rng.getrandbits(40) << 6, "src_acc_id": 1, "dst_acc_id": 2}
    return _control(UncompressedRequest(cmd=READ, pool=0, vchan=rng.randrange(4), **fields).encode())


def _response_credit(rng: random.Random):
    fields = {"tag": rng.randrange(2048), "src_acc_id": 1, "dst_acc_id": 2}
    return _control(UncompressedResponse(pool=0, vchan=rng.randrange(4), **fields).encode())


def _mandatory_nop(rng: random.Random):
    return _control(FlowControl(req_cmd=Credit(vc=rng.randrange(4))).encode(), rng.randbytes(32))


def _credits_made_up(rng: random.Random):
    name, most = rng.choice((("req_cmd", 7), ("rsp_cmd", 7), ("req_data", 31), ("rsp_data", 31)))
    return _control(FlowControl(**{name: Credit(most)}).encode())


def _poison_slot(rng: random.Random):
    return message_half_flit(POISONED_DATA) + message_half_flit(NOP_MESSAGE), 0b11


FORGERIES = {
    "ftype": _ftype,
    "footprint": _footprint,
    "compressed_cmd": _compressed_cmd,
    "address_cache": _unloaded,
    "req_cmd_credit": _request_credit,
    "rsp_cmd_credit": _response_credit,
    "mandatory_nop": _mandatory_nop,
    "poison_slot": _poison_slot,
    "transmit_error": _credits_made_up,
}
"""By the name that a register has for the error: a TL flit and its message bits, given a source of chance."""
