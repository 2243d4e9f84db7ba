"""Every illegal flit raises its error and stops the receiver; what came before is delivered, and a restart cures it.

Authentication is off here; see ``test_receive_errors_authenticated``.
"""

import pytest

from support.tl.illegal import (
    CONFIG,
    DATA,
    HALF_FLITS,
    POISON,
    ZERO,
    Late,
    check_illegal,
    control,
    flow,
    read,
    write,
    write_response,
)
from support.tl.receive import OFFLINE, OPENS, RECEIVE, ROOMY, run
from ualink.config import Credits
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import CompressedRequest, Credit, FlowControl, UncompressedResponse
from ualink_sim.model.tl.sequence import message_half_flit

pytestmark = RECEIVE

READ_FLIT = flow(control((0, read())))
EIGHT = [(n, write_response(tag=n)) for n in range(8)]
# The next lower half-flit is a control slot, and one Data half-flit is owed.
SWAP = flow(control((0, write(beats=1))), b"\x11" * 32)

# Name: (error, flits of which the last is illegal). All of them begin with a control slot.
CASES = {
    "corrupt flit": (ReceiveError.FLIT_CORRUPT, [(*READ_FLIT, 1)]),
    "corrupt flit of data": (
        ReceiveError.FLIT_CORRUPT,
        [flow(control((0, write(beats=2))), b"\x11" * 32), (*DATA, 1)],
    ),
    "corrupt swap flit": (ReceiveError.FLIT_CORRUPT, [SWAP, (*flow(control((0, read())), b"\x22" * 32), 1)]),
    "corrupt message": (ReceiveError.FLIT_CORRUPT, [(*flow(message_half_flit(0), message=1), 1)]),
    **{
        f"parity, upset in {name}": (ReceiveError.FLIT_CORRUPT, [(*READ_FLIT, 0, name)])
        for name in ("data", "parity", "message", "error", "control_parity")
    },
    **{name: (code, [flow(half_flit)]) for name, (code, half_flit) in HALF_FLITS.items()},
    **{
        f"{name}, swap flit": (code, [SWAP, flow(half_flit, b"\x22" * 32)])
        for name, (code, half_flit) in list(HALF_FLITS.items())[::4]
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
        [SWAP, flow(POISON, b"\x22" * 32, 1)],
    ),
    "poison beside flow control": (
        ReceiveError.POISON_SLOT,
        [flow(control((3, FlowControl(req_cmd=Credit(1)))), POISON, 2)],
    ),
    "poison for the byte enables of an atomic": (
        ReceiveError.POISON_SLOT,
        [flow(control((4, write(cmd=0x30))), POISON, 2), flow(POISON, POISON, 3)],
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


@pytest.mark.parametrize("case", [pytest.param(case, marks=marks(CASES[case][0]), id=case) for case in CASES])
def test_illegal_flit(case):
    code, flits = CASES[case]
    # A buffer is free once it is empty: only a consumer that does not move finds the Pool exhausted.
    check_illegal(code, flits, blocked="pool" in case)


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
    assert got.errors == [(9, ReceiveError.REQ_DATA_CREDIT)]
    assert b"".join(beat["data"].to_bytes(64, "little") for beat in got.beats("orig_data")) == data
    assert len(got.req) == 5


@pytest.mark.req("TL-144")
def test_full_catch_buffers_are_legal():
    got = run(CONFIG, [flow(control(*EIGHT)), *[flow(control((0, write_response(tag=9))))]], drain=14)
    assert got.errors == []
    assert [beat["tag"] for beat in got.beats("wr_rsp")] == [*range(8), 9]


@pytest.mark.req("TL-087", "TL-088", "TL-221")
def test_the_log_outlives_restarts():
    """The last error and the counts stay when the link comes back; each session counts one error."""
    poisoned = [flow(control((0, write())), POISON, 2), flow(control(), b"\x22" * 32)]
    unknown = flow(bytes([0x77]) + bytes(31), bytes([0x21]) + bytes(31), 3)
    bad = flow(b"\xff" * 32)
    first = run(ROOMY, [bad, bad], drain=6)
    assert (first.log, first.unknown_messages) == ((ReceiveError.FTYPE, 1, 0, 0, 0), 0)
    session = [*[None] * OPENS, unknown, *poisoned, *[None] * 6, bad, *[None] * 3, OFFLINE, OFFLINE]
    got = run(ROOMY, [*session * 2, flow(POISON, message=1), None, None, OFFLINE, *[None] * OPENS, READ_FLIT], drain=8)
    assert [code for _, code in got.errors] == [ReceiveError.FTYPE] * 2 + [ReceiveError.POISON_SLOT]
    assert got.log == (ReceiveError.POISON_SLOT, 3, 4, 2, 0)
    assert [beat["cmd"] for beat in got.beats("req")] == [0x29, 0x29, 0x03]


@pytest.mark.req("TL-087")
def test_the_counts_of_the_log_stop_at_their_end():
    unknown = flow(bytes([0x77]) + bytes(31), bytes([0x21]) + bytes(31), 3)
    got = run(ROOMY, [unknown] * 127, drain=6)
    assert got.log == (ReceiveError.NONE, 0, 254, 0, 0)
    assert got.unknown_messages == 127
    half = [flow(control((0, write())), POISON, 2), flow(ZERO, b"\x22" * 32)]
    bad = [flow(b"\xff" * 32), None, None, OFFLINE]
    got = run(ROOMY, [*[unknown] * 128, unknown, *half * 260, *[None] * 6, *bad * 257], drain=6)
    assert got.log == (ReceiveError.FTYPE, 255, 255, 255, 0)
