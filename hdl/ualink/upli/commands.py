"""Command and status codes that UPLI and TL share (UALink_200 §2.7.4.6 Table 2-6, §2.7.5.1, §2.7.6.1)."""

from amaranth.lib import enum

__all__ = ["KEY_ROLL_RD_RSP_CHANNEL", "ReqCmd", "Status", "has_orig_data"]

KEY_ROLL_RD_RSP_CHANNEL = 0x02
"""The UPLI Write Message type that is answered on RdRsp (UALink_200 Table 2-7)."""


class ReqCmd(enum.Enum, shape=6):
    """Predefined ReqCmd codes; vendor defined codes are the ranges 08h-0Fh, 2Ch-2Fh and 3Ch-3Fh."""

    READ = 0x03
    WRITE = 0x28
    WRITE_FULL = 0x29
    UPLI_WRITE_MESSAGE = 0x2A
    ATOMIC_R = 0x30
    ATOMIC_NR = 0x32


class Status(enum.Enum, shape=4):
    """RdRspStatus and WrRspStatus codes of predefined commands; ISOLATE exists on WrRsp only."""

    OKAY = 0x0
    TARGET_ABORT = 0x2
    DECODE_ERROR = 0x3
    PROTECTION_VIOLATION = 0x6
    CMPTO = 0x8
    ISOLATE = 0xF


def has_orig_data(cmd):
    """True (or a 1-bit expression) when a Request with ReqCmd ``cmd`` brings OrigData beats: ReqCmd[5]."""
    return cmd[5] if not isinstance(cmd, int) else bool(cmd >> 5 & 1)
