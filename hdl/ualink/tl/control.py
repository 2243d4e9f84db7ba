"""What firmware decides about the transaction layer of one port while it runs."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from .receive.error import ReceiveError
from .session.drop_mode import DROP_CAUSE_LAYOUT

__all__ = ["LIMITS_LAYOUT", "NATURAL_LIMITS", "TLControlSignature", "TLStatusSignature"]

NATURAL_LIMITS = {
    "uncompressed_requests": 2,
    "compressed_requests": 4,
    "uncompressed_responses": 4,
    "compressed_responses": 8,
    "flow_control": 8,
}
"""Most fields of each kind that a Control half-flit has room for (UALink_200 §5.1.1)."""

LIMITS_LAYOUT = data.StructLayout({name: range(most + 1) for name, most in NATURAL_LIMITS.items()})
"""Backoff modes: most fields of each kind in a Control half-flit (UALink_200 §5.10); 0 is no limit but the room."""


class TLControlSignature(wiring.Signature):
    """Seen from whoever decides; levels. What may change only while the link is down is marked (*). All 0 is what a
    device wants that has nothing to add.

    Members
    -------
    is_switch : (*) this end is a switch; of meaning only if ``TLConfig.device`` is "either". What the Rx Address Cache
        holds belongs to the rows of before: it changes before the first Request since reset.
    limits : backoff modes.
    disable_tx_cache, disable_rx_cache : (*) send no Compressed Request and no CLOAD; ignore CLOAD and take a
        Compressed Request for an error (UALink_200 §5.10).
    clear_tx_cache : forget all entries; while it is high nothing is compressed or loaded.
    invalidate_tx_entry, invalidate_row, invalidate_way : pulse: forget one entry. It takes effect on the Requests
        that have not been looked up yet; a row or way that does not exist is ignored.
    disable_response_compression : send no Compressed Responses.
    authentication : (*) AuthTags half-flits are sent and expected (UALink_200 §5.1.1).
    encryption : the link carries encrypted traffic, or may (UALink_200 §9.5). Responses go uncompressed from the next
        one on, so that RdRspSrcPhysAccID and WrRspSrcPhysAccID arrive; a Compressed Request that seems to cross 256
        bytes is counted and no error.
    enter_drop : pulse: enter Drop Mode (UALink_200 §3.1.4.2).
    clear_drop : pulse: leave Drop Mode; it ends when the link is up.
    """

    def __init__(self):
        super().__init__(
            {
                "is_switch": Out(1),
                "limits": Out(LIMITS_LAYOUT),
                "disable_tx_cache": Out(1),
                "disable_rx_cache": Out(1),
                "clear_tx_cache": Out(1),
                "invalidate_tx_entry": Out(1),
                "invalidate_row": Out(10),
                "invalidate_way": Out(2),
                "disable_response_compression": Out(1),
                "authentication": Out(1),
                "encryption": Out(1),
                "enter_drop": Out(1),
                "clear_drop": Out(1),
            }
        )


class TLStatusSignature(wiring.Signature):
    """The transaction layer of one port as firmware sees it.

    Members
    -------
    credits_ready : both initial credit releases are complete.
    transmit_error : the partner returned more credits than it had given; until the link has gone down.
    cache_error : a word of the Tx Address Cache had wrong parity; until the link has gone down.
    receive_error_valid, receive_error : the first fatal error of the receiver since the link came up.
    last_error, error_count : the last such error since reset, and how many there were, at most 255.
    unknown_messages, half_poisoned_beats : since reset, at most 255 each.
    block_crossings : Compressed Requests that seemed to cross 256 bytes, with ``encryption``; since reset, at most 255.
    isolates : Write Responses with the status ISOLATE that came over the link and were dropped, since reset, at most
        255.
    dropping, drop_cause : Drop Mode, and what has led to it since ``clear_drop``; without a cause it ends when the link
        is up. Every beat that comes from UPLI in a cycle with ``dropping`` is dropped, and no other; that is from the
        cycle after an event to the cycle in which the link rises.
    """

    def __init__(self):
        super().__init__(
            {
                "credits_ready": Out(1),
                "transmit_error": Out(1),
                "cache_error": Out(1),
                "receive_error_valid": Out(1),
                "receive_error": Out(ReceiveError),
                "last_error": Out(ReceiveError),
                "error_count": Out(8),
                "unknown_messages": Out(8),
                "half_poisoned_beats": Out(8),
                "block_crossings": Out(8),
                "isolates": Out(8),
                "dropping": Out(1),
                "drop_cause": Out(DROP_CAUSE_LAYOUT),
            }
        )
