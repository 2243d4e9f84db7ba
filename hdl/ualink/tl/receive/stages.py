"""What the stages of the TL receiver hand on to each other with a flit."""

from amaranth.lib import data

from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

from .control_decoder import DECODED_LAYOUT
from .error import ReceiveError
from .sequence import DATA_SLOT_LAYOUT

__all__ = ["CLASSIFIED_LAYOUT", "PARSED_LAYOUT"]

PARSED_LAYOUT = data.StructLayout(
    {"data": 512, "message": 2, "decoded": DECODED_LAYOUT, "upper_is_zero": 1, "corrupt": 1}
)
"""A flit, and what its lower half-flit means as a Control half-flit, which it may not be. ``corrupt``: the DL marked
it, or a parity is wrong."""

CLASSIFIED_LAYOUT = data.StructLayout(
    {
        "data": 512,
        "slots": data.ArrayLayout(DATA_SLOT_LAYOUT, 2),
        "tags": 1,
        "tag_slot": data.ArrayLayout(2, 8),
        "requests": REQUEST_LIMIT,
        "responses": RESPONSE_LIMIT,
        "request_count": range(REQUEST_LIMIT + 1),
        "response_count": range(RESPONSE_LIMIT + 1),
        "credits": CREDIT_UPDATE_LAYOUT,
        "crossing": 4,
        "unknown_message": 2,
        "initial_credits": 2,
        "corrupt": 1,
        "control_error": ReceiveError,
        "sequence_error": ReceiveError,
    }
)
"""A flit whose half-flits are known: members of ``DECODED_LAYOUT`` are 0 if the lower one is no Control half-flit."""
