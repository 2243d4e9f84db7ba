"""What a TL receiver may find wrong with the flits it gets."""

from amaranth.lib import enum

__all__ = ["ReceiveError"]


class ReceiveError(enum.Enum, shape=5):
    """Fatal errors of a TL receiver; after the first one it forwards no further flit (UALink_200 §5.3).

    FLIT_CORRUPT: the DL marked the flit as corrupt, or its parity is wrong. FTYPE: code 6h-Fh. FOOTPRINT: a field
    starts in a sector where its length does not fit. COMPRESSED_CMD: reserved CMD of a Compressed Request.
    BLOCK_CROSSING: a Compressed Request crosses a 256-byte boundary, on a link without encryption. MANDATORY_NOP: the
    half-flit is not all zero. POISON_SLOT: Poisoned Data where no data or operand half-flit is due. REQUEST_RATE,
    RESPONSE_RATE: more fields than the source rate limit allows. *_CREDIT: more than was announced for the bucket.
    ADDRESS_CACHE: a Compressed Request reads an entry that was never loaded, or a Request names an entry that does not
    exist. With authentication: AUTH_TAG_COUNT: more than four Requests and Responses in a Control half-flit;
    AUTH_TAG_SWAP: any of them in a swap flit; AUTH_TAG_MESSAGE: a Message half-flit in the place of AuthTags.
    ADDRESS_CACHE_PARITY: an entry of the Rx Address Cache changed by itself.
    """

    NONE = 0
    FLIT_CORRUPT = 1
    FTYPE = 2
    FOOTPRINT = 3
    COMPRESSED_CMD = 4
    BLOCK_CROSSING = 5
    MANDATORY_NOP = 6
    POISON_SLOT = 7
    REQUEST_RATE = 8
    RESPONSE_RATE = 9
    REQ_CMD_CREDIT = 10
    RSP_CMD_CREDIT = 11
    REQ_DATA_CREDIT = 12
    RSP_DATA_CREDIT = 13
    ADDRESS_CACHE = 14
    AUTH_TAG_COUNT = 15
    AUTH_TAG_SWAP = 16
    AUTH_TAG_MESSAGE = 17
    ADDRESS_CACHE_PARITY = 18
