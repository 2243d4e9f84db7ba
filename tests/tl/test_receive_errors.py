"""Every illegal flit raises its error and stops the receiver; what came before is delivered, and a restart cures it."""

import pytest

from tl_receive import CHANNELS, OFFLINE, Consumer, run
from ualink.config import Credits, TLConfig
from ualink.tl.receive_error import ReceiveError
from ualink_sim.model.tl_fields import (
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl_sequence import INITIAL_CREDIT_RELEASE_COMPLETE, message_half_flit

CONFIG = TLConfig(
    req_cmd=Credits(pool=6, vc=(1, 0, 0, 2)),
    rsp_cmd=Credits(pool=9, vc=(0, 1, 0, 0)),
    req_data=Credits(pool=4, vc=(2, 0, 0, 1)),
    rsp_data=Credits(pool=4, vc=(0, 1, 0, 0)),
)
ZERO = bytes(32)
POISON = message_half_flit(0x20)


def control(*fields):
    return encode_control_half_flit(fields)


def raw(**sectors):
    """A half-flit with 32-bit values in the sectors s0 to s7."""
    return b"".join(sectors.get(f"s{n}", 0).to_bytes(4, "little") for n in range(8))


def read(tag=1, **members):
    return UncompressedRequest(cmd=3, tag=tag, **{"pool": 1, **members})


def write(beats=1, cmd=0x29, **members):
    return UncompressedRequest(cmd=cmd, num_beats=beats - 1, **{"pool": 1, **members})


def write_response(**members):
    return CompressedResponse(**{"pool": 1, **members})


def compressed(pair, *, cmd=0, addr=0, len=0):
    """A half-flit with one Compressed Request, legal or not."""
    value = 3 << 60 | cmd << 57 | len << 39 | addr << 22
    return raw(**{f"s{2 * pair}": value & 0xFFFFFFFF, f"s{2 * pair + 1}": value >> 32})


def flow(lower=ZERO, upper=ZERO, message=0):
    return lower + upper, message


READ_FLIT = flow(control((0, read())))
EIGHT = [(n, write_response(tag=n)) for n in range(8)]
DATA = flow(b"\x77" * 32, b"\x99" * 32)

# Name: (error, flits of which the last is illegal). All of them begin with a control slot.
CASES = {
    "corrupt flit": (ReceiveError.FLIT_CORRUPT, [(*READ_FLIT, 1)]),
    **{
        f"parity, upset in {name}": (ReceiveError.FLIT_CORRUPT, [(*READ_FLIT, 0, name)])
        for name in ("data", "parity", "message", "port", "error", "control_parity")
    },
    **{
        f"ftype {code:x} in sector {sector}": (
            ReceiveError.FTYPE,
            [flow(raw(**{f"s{sector}": code << 28, f"s{7 - sector}": 0}))],
        )
        for code, sector in zip(range(6, 16), (7, 6, 5, 4, 3, 2, 1, 0, 7, 3))
    },
    **{
        f"request of four sectors in sector {sector}": (ReceiveError.FOOTPRINT, [flow(raw(**{f"s{sector}": 1 << 28}))])
        for sector in (6, 5, 4, 2, 1, 0)
    },
    **{
        f"field {code} of two sectors in sector {sector}": (
            ReceiveError.FOOTPRINT,
            [flow(raw(**{f"s{sector}": code << 28}))],
        )
        for code in (2, 3)
        for sector in (6, 4, 2, 0)
    },
    **{
        f"compressed command {cmd}": (ReceiveError.COMPRESSED_CMD, [flow(compressed(2, cmd=cmd))])
        for cmd in (1, 2, 3, 5, 7)
    },
    **{
        f"compressed request from quarter {quarter} with length {length}": (
            ReceiveError.BLOCK_CROSSING,
            [flow(compressed(1, cmd=cmd, addr=quarter, len=length))],
        )
        for cmd, quarter, length in ((0, 1, 3), (4, 2, 2), (6, 3, 1))
    },
    **{
        f"compressed request {cmd} without an entry": (
            ReceiveError.ADDRESS_CACHE,
            [flow(control((6, CompressedRequest(cmd=cmd, pool=1))), b"\x55" * 32 if cmd else ZERO)],
        )
        for cmd in (0, 4, 6)
    },
    "mandatory nop not zero": (ReceiveError.MANDATORY_NOP, [flow(control((0, read())), bytes(31) + b"\x80")]),
    "credit in a mandatory nop": (
        ReceiveError.MANDATORY_NOP,
        [flow(upper=control((0, FlowControl(req_cmd=Credit(1)))))],
    ),
    "nop not zero after a lower message": (ReceiveError.MANDATORY_NOP, [flow(message_half_flit(0), b"\1" * 32, 1)]),
    "poison in a control slot": (ReceiveError.POISON_SLOT, [flow(POISON, message=1)]),
    "poison for a mandatory nop": (ReceiveError.POISON_SLOT, [flow(upper=POISON, message=2)]),
    "poison in a swap control slot": (
        ReceiveError.POISON_SLOT,
        [flow(control((0, write(beats=1))), b"\x11" * 32), flow(POISON, b"\x22" * 32, 1)],
    ),
    "poison for byte enables, upper": (
        ReceiveError.POISON_SLOT,
        [flow(control((0, write(cmd=0x28))), b"\x11" * 32), flow(b"\x22" * 32, POISON, 2)],
    ),
    "poison for byte enables, lower": (
        ReceiveError.POISON_SLOT,
        [
            flow(control((0, write(cmd=0x28)), (4, write(cmd=0x28))), message_half_flit(0), 2),
            DATA,
            flow(POISON, b"\x22" * 32, 1),
        ],
    ),
    "two requests too many": (
        ReceiveError.REQUEST_RATE,
        [flow(control((0, read()), (4, read())))] * 3 + [flow(control((0, read()), (4, read())))],
    ),
    "a response too many": (
        ReceiveError.RESPONSE_RATE,
        [flow(control(*EIGHT)), flow(control((0, write_response()), (1, write_response())))],
    ),
    "request without a credit of its vc": (ReceiveError.REQ_CMD_CREDIT, [flow(control((4, read(pool=0, vchan=1))))]),
    "request beyond the pool": (ReceiveError.REQ_CMD_CREDIT, [READ_FLIT] * 6 + [READ_FLIT]),
    "response without a credit of its vc": (
        ReceiveError.RSP_CMD_CREDIT,
        [flow(control((4, UncompressedResponse(pool=0, vchan=2))))],
    ),
    "data beyond the credits of a vc": (
        ReceiveError.REQ_DATA_CREDIT,
        [flow(control((0, write(beats=3, pool=0, vchan=0))), b"\x11" * 32)],
    ),
    "read data without a credit of their vc": (
        ReceiveError.RSP_DATA_CREDIT,
        [flow(control((0, write_response(rd_wr=1, len=1, pool=0, vchan=1))), b"\x11" * 32)],
    ),
}


def marks(code):
    return pytest.mark.req("TL-220", "TL-087", "TL-088", *EXTRA.get(code, ()))


EXTRA = {
    ReceiveError.FLIT_CORRUPT: ("DL-179",),
    ReceiveError.FTYPE: ("TL-171",),
    ReceiveError.FOOTPRINT: ("TL-008", "TL-009", "TL-010"),
    ReceiveError.COMPRESSED_CMD: ("TL-187",),
    ReceiveError.BLOCK_CROSSING: ("TL-190",),
    ReceiveError.MANDATORY_NOP: ("TL-045", "TL-007"),
    ReceiveError.POISON_SLOT: ("TL-063", "TL-081", "TL-084"),
    ReceiveError.REQUEST_RATE: ("TL-131", "TL-145"),
    ReceiveError.RESPONSE_RATE: ("TL-134", "TL-139", "TL-145"),
    ReceiveError.REQ_CMD_CREDIT: ("TL-146", "TL-150"),
    ReceiveError.RSP_CMD_CREDIT: ("TL-146", "TL-150"),
    ReceiveError.REQ_DATA_CREDIT: ("TL-148", "TL-150"),
    ReceiveError.RSP_DATA_CREDIT: ("TL-148", "TL-150"),
}
BEFORE = [flow(control((4, read(tag=0x111)), (0, UncompressedResponse(tag=0x112, pool=1))))]
AFTER = [
    flow(control((4, read(tag=0x221)), (0, FlowControl(req_cmd=Credit(3))))),
    flow(message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE), message=1),
    *[flow(control((0, write_response(tag=0x222)), (1, write_response(rd_wr=1, tag=0x223))))] * 3,
]
AGAIN = [
    flow(control((4, write(tag=0x331))), b"\x31" * 32),
    flow(control((0, write_response(tag=0x332))), b"\x32" * 32),
]


class Late(Consumer):
    """Not ready before cycle ``start``."""

    def __init__(self, start):
        super().__init__("free")
        self.start = start

    def readies(self):
        self.start -= 1
        return dict.fromkeys(CHANNELS, int(self.start < 0))


def late(code):
    """Errors found when the field leaves the catch buffer; those before it in the same flit may go."""
    return code.name.endswith("CREDIT") or code is ReceiveError.ADDRESS_CACHE


@pytest.mark.parametrize("case", [pytest.param(case, marks=marks(CASES[case][0]), id=case) for case in CASES])
def test_illegal_flit(case):
    code, flits = CASES[case]
    gap = [None] * 12
    # Idle cycles do not retire anything in the account of the rate limit, so nothing precedes the cases that count.
    before = [] if code.name.endswith(("RATE", "CREDIT")) else [*BEFORE, *[flow()] * 8]
    stream = [*before, *flits, *AFTER, *gap, OFFLINE, OFFLINE, *AGAIN]
    restart = len(stream) - len(AGAIN)
    # A buffer is free once it is empty: only a consumer that does not move finds the Pool exhausted.
    got = run(CONFIG, stream, consumer=Late(restart if "pool" in case else 0), drain=20)

    illegal = len(before) + len(flits) - 1
    [(cycle, found)] = got.errors
    assert found == code
    assert illegal + 2 <= cycle <= illegal + (7 if late(code) else 2)

    def tags(channel, first, end):
        return [beat["tag"] for cycle, beat in getattr(got, channel) if first <= cycle < end]

    if before:
        assert tags("req", 0, restart) == [0x111]
        assert tags("wr_rsp", 0, restart) == [0x112]
    assert not {0x221, 0x222, 0x223} & {
        *tags("req", 0, restart),
        *tags("wr_rsp", 0, restart),
        *tags("rd_rsp", 0, restart),
    }
    if not late(code):
        assert not got.fc
        assert not any(done for done, _ in got.peer)
    assert (tags("req", restart, 999), tags("wr_rsp", restart, 999)) == ([0x331], [0x332])
    [(_, beat)] = [(cycle, beat) for cycle, beat in got.orig_data if cycle >= restart]
    assert beat["data"] == int.from_bytes(b"\x31" * 32 + b"\x32" * 32, "little")


@pytest.mark.req("TL-148", "TL-220", "TL-088")
def test_data_beyond_the_buffers_spoil_nothing():
    """A Request whose data find all buffers taken waits behind others in the catch buffer: its data give it away."""

    config = CONFIG.replace(req_cmd=Credits(pool=20), req_data=Credits(pool=4))
    data = bytes(range(256))
    flits = [
        flow(control((0, write(beats=4))), data[:32]),
        *[flow(data[64 * n - 32 : 64 * n], data[64 * n : 64 * n + 32]) for n in range(1, 4)],
        flow(control((0, read()), (4, read())), data[224:]),
        flow(control((0, read()), (4, read()))),
        flow(control((0, read()), (4, write(beats=4))), b"\xee" * 32),
        *[flow(b"\xee" * 32, b"\xee" * 32)] * 4,
    ]
    got = run(config, flits, consumer=Late(20), drain=30)
    assert got.errors == [(8, ReceiveError.REQ_DATA_CREDIT)]
    assert b"".join(beat["data"].to_bytes(64, "little") for beat in got.beats("orig_data")) == data
    assert len(got.req) == 5


@pytest.mark.req("TL-144")
def test_full_catch_buffers_are_legal():
    got = run(CONFIG, [flow(control(*EIGHT)), *[flow(control((0, write_response(tag=9))))]], drain=14)
    assert got.errors == []
    assert [beat["tag"] for beat in got.beats("wr_rsp")] == [*range(8), 9]
