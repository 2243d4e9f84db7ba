"""One-dword messages of class UART and what the blocks of the UART tell each other about them (UALink_200 §6.4.4)."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.message.format import COMMON

__all__ = [
    "CREDIT_UPDATE_LAYOUT",
    "LONGEST_TRANSPORT",
    "NO_OP",
    "NO_OPS",
    "RESET_LAYOUT",
    "candidate_signature",
]

NO_OP = 0
"""The whole No-Op message (UALink_200 Table 6-7)."""

NO_OPS = 40
"""No-Ops before a Reset Request: more than a Transport Message that was cut can still be waiting for."""

LONGEST_TRANSPORT = 32
"""Payload dwords of a Transport Message (UALink_200 §6.4.4.4)."""

CREDIT_UPDATE_LAYOUT = data.StructLayout(COMMON | {"stream_id": 3, "reserved_12": 8, "data_fc_seq": 12})
"""UART Stream Credit Update (UALink_200 Table 6-13)."""

RESET_LAYOUT = data.StructLayout(COMMON | {"stream_id": 3, "all_streams": 1, "status": 3, "reserved_16": 16})
"""UART Stream Reset Request, in which ``status`` is reserved, and Response (UALink_200 Tables 6-10 and 6-11)."""


def candidate_signature() -> wiring.Signature:
    """A message that a block wants to send, seen from the block.

    ``dword`` is its first dword, or what the Reset Request ends with; it may change as long as it is not sent. ``sent``
    is a pulse, and ``sent_dword`` is valid with it: the dword as it was when the message was chosen.
    """
    return wiring.Signature({"wanted": Out(1), "dword": Out(32), "sent": In(1), "sent_dword": In(32)})
