"""What the stages of the TL receiver hand on to each other with a flit."""

from amaranth.lib import data

from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

from .control_decoder import DECODED_LAYOUT
from .error import ReceiveError
from .field_codes import FLIT_SECTORS
from .sequence import DATA_SLOT_LAYOUT

__all__ = ["CLASSIFIED_LAYOUT", "PARSED_LAYOUT"]

PARSED_LAYOUT = data.StructLayout({"flit": TL_FLIT_LAYOUT, "decoded": DECODED_LAYOUT, "upper_is_zero": 1})
"""A flit with its parity, and what its lower half-flit means as a Control half-flit, which it may not be."""

CLASSIFIED_LAYOUT = data.StructLayout(
    {
        "data": 512,
        "code": FLIT_SECTORS,
        "slots": data.ArrayLayout(DATA_SLOT_LAYOUT, 2),
        "tags": 1,
        "tag_slot": data.ArrayLayout(2, 8),
        "tag_slot_code": 8,
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
"""A flit whose half-flits are known: members of ``DECODED_LAYOUT`` are 0 if the lower one is no Control half-flit.

Bit n of ``code`` is even parity over sector n of ``data``, that of the lowest sector of each half-flit also over
``poison`` of its slot: no half-flit loses its poison unseen. Bit n of ``tag_slot_code`` is even parity over ``tags``
and ``tag_slot[n]``. ``corrupt``: the DL marked the flit, or a parity is wrong. Of ``data`` an
``unhurried`` receiver keeps here what is looked at in this stage alone."""
