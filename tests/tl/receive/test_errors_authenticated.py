"""With authentication on every illegal flit raises its error and stops the receiver; wrong tags are among them."""

import pytest

from support.tl.illegal import DATA, HALF_FLITS, POISON, TAGS, check_illegal, control, flow, read, write, write_response
from support.tl.receive import RECEIVE
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    Credit,
    FlowControl,
    UncompressedResponse,
)
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, NOP_MESSAGE, message_half_flit

pytestmark = RECEIVE

# A Write of one beat and its byte enables: one Data half-flit is owed at the next control slot.
SWAP = [flow(control((0, write(cmd=0x28))), TAGS), DATA]
TWO_READS = flow(control((0, read()), (4, read())), TAGS)
RESPONSE = UncompressedResponse(pool=1)


def responses(count):
    return flow(control(*[(n, write_response(tag=n)) for n in range(count)]), TAGS)


CASES = {
    "corrupt flit": (ReceiveError.FLIT_CORRUPT, [(*TWO_READS, 1)]),
    "parity, upset in data": (ReceiveError.FLIT_CORRUPT, [(*TWO_READS, 0, "data")]),
    **{name: (code, [flow(half_flit)]) for name, (code, half_flit) in list(HALF_FLITS.items())[::3]},
    **{
        f"{name}, swap flit": (code, [*SWAP, flow(half_flit, b"\x22" * 32)])
        for name, (code, half_flit) in list(HALF_FLITS.items())[1::6]
    },
    "five responses": (ReceiveError.AUTH_TAG_COUNT, [responses(5)]),
    "eight responses": (ReceiveError.AUTH_TAG_COUNT, [responses(8)]),
    "a request and four responses": (
        ReceiveError.AUTH_TAG_COUNT,
        [flow(control((4, read()), *[(n, CompressedReadResponse(pool=1)) for n in range(4)]), TAGS)],
    ),
    "four requests and responses and one more behind flow control": (
        ReceiveError.AUTH_TAG_COUNT,
        [
            flow(
                control((0, RESPONSE), (2, RESPONSE), (4, RESPONSE), (6, write_response()), (7, write_response())),
                TAGS,
            )
        ],
    ),
    "a request in a swap flit": (ReceiveError.AUTH_TAG_SWAP, [*SWAP, flow(control((4, read())), b"\x22" * 32)]),
    "a response in a swap flit": (
        ReceiveError.AUTH_TAG_SWAP,
        [*SWAP, flow(control((7, write_response()), (0, FlowControl(req_cmd=Credit(1)))), b"\x22" * 32)],
    ),
    "a request beside a message for the last half-flit": (
        ReceiveError.AUTH_TAG_SWAP,
        [*SWAP, flow(control((0, read())), message_half_flit(NOP_MESSAGE), 2)],
    ),
    **{
        f"message {kind:02x} for tags": (
            ReceiveError.AUTH_TAG_MESSAGE,
            [flow(control((0, RESPONSE)), message_half_flit(kind, TAGS[1:]), 2)],
        )
        for kind in (NOP_MESSAGE, INITIAL_CREDIT_RELEASE_COMPLETE, 0x20, 0x99)
    },
    "message for the tags of a write": (
        ReceiveError.AUTH_TAG_MESSAGE,
        [flow(control((4, write(cmd=0x28))), message_half_flit(NOP_MESSAGE), 2)],
    ),
    "poison for the tags of a write": (ReceiveError.AUTH_TAG_MESSAGE, [flow(control((4, write())), POISON, 2)]),
    "mandatory nop not zero": (ReceiveError.MANDATORY_NOP, [flow(upper=bytes(31) + b"\x80")]),
    "tags beside flow control": (
        ReceiveError.MANDATORY_NOP,
        [flow(control((3, FlowControl(req_cmd=Credit(1)))), TAGS)],
    ),
    "nop not zero after a lower message": (ReceiveError.MANDATORY_NOP, [flow(message_half_flit(0), TAGS, 1)]),
    "poison in a control slot": (ReceiveError.POISON_SLOT, [flow(POISON, message=1)]),
    "poison for a mandatory nop": (ReceiveError.POISON_SLOT, [flow(upper=POISON, message=2)]),
    "poison in a swap control slot": (ReceiveError.POISON_SLOT, [*SWAP, flow(POISON, b"\x22" * 32, 1)]),
    "poison for swapped byte enables": (ReceiveError.POISON_SLOT, [*SWAP, flow(upper=POISON, message=2)]),
    "poison for byte enables, lower": (
        ReceiveError.POISON_SLOT,
        [flow(control((0, write(cmd=0x28)), (4, write(cmd=0x28))), TAGS), DATA, flow(POISON, b"\x22" * 32, 1)],
    ),
    "two requests too many": (ReceiveError.REQUEST_RATE, [TWO_READS] * 4),
    "a response too many": (ReceiveError.RESPONSE_RATE, [responses(4), responses(4), responses(3)]),
    "request without a credit of its vc": (
        ReceiveError.REQ_CMD_CREDIT,
        [flow(control((4, read(pool=0, vchan=1))), TAGS)],
    ),
    "request beyond the pool": (ReceiveError.REQ_CMD_CREDIT, [flow(control((0, read())), TAGS)] * 7),
    "response without a credit of its vc": (
        ReceiveError.RSP_CMD_CREDIT,
        [flow(control((4, UncompressedResponse(pool=0, vchan=2))), TAGS)],
    ),
    "data beyond the credits of a vc": (
        ReceiveError.REQ_DATA_CREDIT,
        [flow(control((0, write(beats=3, pool=0, vchan=0))), TAGS)],
    ),
    "read data without a credit of their vc": (
        ReceiveError.RSP_DATA_CREDIT,
        [flow(control((0, write_response(rd_wr=1, len=1, pool=0, vchan=1))), TAGS)],
    ),
    "compressed request without an entry": (
        ReceiveError.ADDRESS_CACHE,
        [flow(control((6, CompressedRequest(cmd=4, pool=1))), TAGS)],
    ),
}
EXTRA = {
    ReceiveError.AUTH_TAG_COUNT: ("TL-052",),
    ReceiveError.AUTH_TAG_SWAP: ("TL-050",),
    ReceiveError.AUTH_TAG_MESSAGE: ("TL-064", "TL-048"),
    ReceiveError.POISON_SLOT: ("TL-063", "TL-081", "TL-084"),
}


def marks(code):
    return pytest.mark.req("TL-220", "TL-087", "TL-088", "TL-046", *EXTRA.get(code, ()))


@pytest.mark.parametrize("case", [pytest.param(case, marks=marks(CASES[case][0]), id=case) for case in CASES])
def test_illegal_flit(case):
    code, flits = CASES[case]
    check_illegal(code, flits, authentication=True, blocked="pool" in case)
