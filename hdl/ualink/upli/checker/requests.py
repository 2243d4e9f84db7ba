"""The rules on the fields of a Request: command, range and NumBeats (UALink_200 §2.7.4.6, §2.8)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.checker.watched import WatchedSignature
from ualink.upli.commands import ReqCmd

__all__ = ["FACTS", "RequestCheck"]

FACTS = data.StructLayout(
    {
        "with_data": 1,
        "read": 1,
        "ranged": 1,
        "full": 1,
        "atomic": 1,
        "null": 1,
        "vendor": 1,
        "on_rd_rsp": 1,
        "on_wr_rsp": 1,
        "counted": 1,
        "count": 2,
        "element": 2,
        "first": 4,
        "end": 7,
    }
)
"""What the other rules need to know of a Request.

``ranged``: enables outside of the range must be 0. ``null``: a predefined message. ``vendor``: a vendor command.
``on_rd_rsp``, ``on_wr_rsp``: where it may be answered. ``count``: beats of its Read Response minus one, with
``counted``. ``element``: OpSize. ``first``, ``end``: first and last doubleword, counted from the first block of 64
bytes.
"""

_RULES = ("command", "message", "reserved", "address", "boundary", "full", "atomic", "num_beats")


class RequestCheck(wiring.Component):
    """Judges each Request by itself. Latency 1 cycle.

    Members
    -------
    seen : the Request channel, out of registers.
    encrypted : 1 bit, address and Reserved fields are not judged.
    good : 1 bit, a good Request was seen in the cycle before.
    facts : of the Request seen in the cycle before, out of registers.
    broken : the rules broken by it, combinational behind registers.
    """

    def __init__(self):
        super().__init__(
            {
                "seen": In(WatchedSignature("req")),
                "encrypted": In(1),
                "good": In(1),
                "facts": Out(FACTS),
                "broken": Out(data.StructLayout(dict.fromkeys(_RULES, 1))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        seen = self.seen
        cmd, addr, length = seen.cmd, seen.addr, seen.len
        read, full, atomic_r = cmd == ReqCmd.READ, cmd == ReqCmd.WRITE_FULL, cmd == ReqCmd.ATOMIC_R
        write = (cmd == ReqCmd.WRITE) | full
        atomic = atomic_r | (cmd == ReqCmd.ATOMIC_NR)
        message = cmd == ReqCmd.UPLI_WRITE_MESSAGE
        vendor = (cmd[3:] == 0b001) | (cmd[2:] == 0b1011) | (cmd[2:] == 0b1111)
        vendor_message = message & seen.meta_data[4:].all()
        null = message & (seen.meta_data[2:] == 0)
        # Of a message the second type is answered on RdRsp (Table 2-7); a vendor's atomic or message on either.
        either = (vendor & cmd[4]) | vendor_message
        key_roll = null & (seen.meta_data[:2] == 2)

        last_dword, end = Signal(7), Signal(7)
        m.d.comb += [last_dword.eq(addr[2:8] + length), end.eq(addr[2:6] + length)]
        blocks = end[4:]
        crosses = (read | write) & last_dword[6]
        element = seen.attr[2:4]
        # Eight byte elements are the only ones that a doubleword does not hold; ReqAttr[3:2] = 01b (Table 2-5).
        halves = (element == 0b01) & (addr[2] | ~length[0])
        one_operand = (blocks == 0) & ~halves
        two_operands = (length == 15) & (addr[2:5] == 0)

        facts = Signal(FACTS)
        m.d.comb += [
            facts.with_data.eq(cmd[5]),
            facts.read.eq(read),
            facts.ranged.eq((write & ~full) | (atomic & ~two_operands)),
            facts.full.eq(full),
            facts.atomic.eq(atomic),
            facts.null.eq(null),
            facts.vendor.eq(vendor),
            facts.on_rd_rsp.eq(~cmd[5] | atomic_r | key_roll | either),
            facts.on_wr_rsp.eq((cmd[5] & ~atomic_r & ~key_roll) | either),
            facts.counted.eq((read & ~crosses & ~self.encrypted) | atomic_r),
            facts.element.eq(element),
            facts.first.eq(addr[2:6]),
            facts.end.eq(end),
        ]
        with m.If(read):
            m.d.comb += facts.count.eq(blocks)
        m.d.sync += self.facts.eq(facts)

        plain = ~self.encrypted
        wrong_count = write & ~crosses & plain & (seen.num_beats != blocks)
        found = {
            "command": ~(read | write | atomic | message | vendor),
            "message": message & ~null & ~vendor_message,
            "reserved": plain & ((atomic & seen.attr[1]) | (null & Cat(addr, seen.asi, seen.attr).any())),
            "address": plain & (read | write | atomic) & addr[:2].any(),
            "boundary": plain & crosses,
            "full": plain & full & (addr[2:6].any() | ~length[:4].all()),
            "atomic": plain & atomic & ~one_operand & ~two_operands,
            "num_beats": ((read | atomic | null) & seen.num_beats.any()) | wrong_count,
        }
        for name, value in found.items():
            kept = Signal(name=f"found_{name}")
            m.d.sync += kept.eq(value)
            m.d.comb += self.broken[name].eq(kept & self.good)
        return m
