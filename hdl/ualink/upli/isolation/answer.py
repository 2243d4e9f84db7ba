"""Which Response a Request is answered with (UALink_200 §2.7.4.6, §2.7.8)."""

from collections.abc import Callable
from typing import TypeAlias

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data

from ualink.upli.commands import KEY_ROLL_RD_RSP_CHANNEL, ReqCmd

__all__ = ["ANSWER_LAYOUT", "VendorAnswer", "answer_to", "as_num_beats_says"]

VENDOR_MESSAGES = 0xF0
"""Vendor Defined types of UPLI Write Messages are this and above."""

VENDOR, VENDOR_READ = 0b11, 0b001
"""ReqCmd[3:2] of Vendor Defined Commands with OrigData; ReqCmd[5:3] of those without (UALink_200 Table 2-6)."""

ANSWER_LAYOUT = data.StructLayout({"on_rd_rsp": 1, "num_beats": 2})
"""The Response comes on RdRsp, else on WrRsp; beats on RdRsp minus one."""

VendorAnswer: TypeAlias = Callable[[data.View], tuple[Value, Value]]
"""From a Vendor Defined Command or UPLI Write Message, a view with ``REQ_LAYOUT``, to ``on_rd_rsp`` and ``num_beats``:
what the standard leaves to the vendor (UALink_200 §2.7.4.6)."""


def as_num_beats_says(request) -> tuple[Value, Value]:
    """Reads of a vendor are answered on RdRsp with as many beats as ReqNumBeats says, all else on WrRsp."""
    return ~request.cmd[5], request.num_beats


def answer_to(m: Module, request, vendor: VendorAnswer = as_num_beats_says):
    """A view with ``ANSWER_LAYOUT``, in the same cycle, of the Response that ``request`` asks for.

    A Read has as many beats as 64-byte blocks that it touches. Every other predefined command has one. A Reserved
    command is answered as ReqCmd[5] frames it (ruling A-24 of UPLI).
    """
    answer = Signal(ANSWER_LAYOUT)
    cmd, blocks = request.cmd, Signal(3)
    is_message, kind = cmd == ReqCmd.UPLI_WRITE_MESSAGE, request.meta_data
    m.d.comb += [
        blocks.eq((request.addr[2:6] + request.len) >> 4),
        answer.on_rd_rsp.eq(~cmd[5] | (cmd == ReqCmd.ATOMIC_R) | (is_message & (kind == KEY_ROLL_RD_RSP_CHANNEL))),
    ]
    with m.If(cmd == ReqCmd.READ):
        # Reads end in their 256-byte block, so that no more than four are asked for.
        m.d.comb += answer.num_beats.eq(blocks)
    with m.Elif((cmd[3:] == VENDOR_READ) | (cmd[5] & (cmd[2:4] == VENDOR)) | (is_message & (kind >= VENDOR_MESSAGES))):
        on_rd_rsp, num_beats = vendor(request)
        m.d.comb += [answer.on_rd_rsp.eq(on_rd_rsp), answer.num_beats.eq(num_beats)]
    return answer
