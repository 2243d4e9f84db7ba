"""The codes of the RTL, one by one against the tables of the standard."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from support.upli.pair import simulate
from ualink.upli.commands import ReqCmd, Status, has_orig_data


class OrigDataOf(wiring.Component):
    """What ``has_orig_data`` says of a ReqCmd in hardware."""

    cmd: In(6)
    answer: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.answer.eq(has_orig_data(self.cmd))
        return m


@pytest.mark.req("UPLI-188", "UPLI-192", "UPLI-194", "UPLI-197", "UPLI-198", "UPLI-201")
def test_command_codes():
    """Table 2-6."""
    assert {cmd.name: cmd.value for cmd in ReqCmd} == {
        "READ": 0x03,
        "WRITE": 0x28,
        "WRITE_FULL": 0x29,
        "UPLI_WRITE_MESSAGE": 0x2A,
        "ATOMIC_R": 0x30,
        "ATOMIC_NR": 0x32,
    }


@pytest.mark.req("UPLI-248", "UPLI-279")
def test_status_codes():
    """Tables 2-9 and 2-12."""
    assert {status.name: status.value for status in Status} == {
        "OKAY": 0b0000,
        "TARGET_ABORT": 0b0010,
        "DECODE_ERROR": 0b0011,
        "PROTECTION_VIOLATION": 0b0110,
        "CMPTO": 0b1000,
        "ISOLATE": 0b1111,
    }


@pytest.mark.req("UPLI-184", "UPLI-187")
def test_requests_with_data():
    """ReqCmd[5] alone decides, for a constant and for a signal, for all 64 codes."""
    dut = OrigDataOf()

    async def bench(ctx):
        for cmd in range(64):
            ctx.set(dut.cmd, cmd)
            assert ctx.get(dut.answer) == has_orig_data(cmd) == (cmd >= 0b100000)

    simulate(dut, bench, clock=False)
