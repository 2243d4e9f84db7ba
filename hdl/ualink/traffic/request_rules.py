"""What a Completer must make of a Request before it touches its memory (UALink_200 §2.7.4.6, §2.8)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import REQ_LAYOUT
from ualink.upli.commands import KEY_ROLL_RD_RSP_CHANNEL, ReqCmd, Status

__all__ = ["RequestRules"]

MESSAGES = 4
"""Predefined UPLI Write Message types are 00h to 03h (UALink_200 Table 2-7)."""

ELEMENT_BYTES = (4, 8, 2, 1)
"""By OpSize, ReqAttr[3:2] of an Atomic (UALink_200 Table 2-5)."""


class RequestRules(wiring.Component):
    """Decodes a Request; all outputs are of the same cycle.

    Atomics are those of one operand that need no carry: AND, OR, XOR and SWAP, OpTypes 01h to 04h as the bus models
    have them; the standard leaves OpTypes to the implementation (§2.7.4.5). All others are answered with TARGET_ABORT,
    as are Reserved and vendor defined commands (rulings A-24 and A-47 of UPLI).

    Members
    -------
    request : the Request.
    byte_en : 64 bits, enables of its OrigData beat, for an Atomic.
    offset : 2 bits, the beat of the Response or of OrigData that the lanes are asked for.
    beyond : 1 bit, the address is beyond the memory and not to wrap.
    reads, writes, atomic : 1 bit each, a Read, a Write or WriteFull, an AtomicR or AtomicNR.
    on_rd_rsp : 1 bit, the Response comes on RdRsp.
    last : 2 bits, beats of a Read Response minus one.
    status : what the rules say; data and poison may spoil it.
    lanes : 64 bits, lanes of beat ``offset`` that a Read wants, a Write may write or an Atomic works on.
    """

    def __init__(self):
        super().__init__(
            {
                "request": In(REQ_LAYOUT),
                "byte_en": In(64),
                "offset": In(2),
                "beyond": In(1),
                "reads": Out(1),
                "writes": Out(1),
                "atomic": Out(1),
                "on_rd_rsp": Out(1),
                "last": Out(2),
                "status": Out(Status),
                "lanes": Out(64),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request = self.request
        cmd = request.cmd
        full, message = cmd == ReqCmd.WRITE_FULL, cmd == ReqCmd.UPLI_WRITE_MESSAGE
        first, length = request.addr[2:8], request.len
        end, beats_end = Signal(7), Signal(6)
        m.d.comb += [
            self.reads.eq(cmd == ReqCmd.READ),
            self.writes.eq((cmd == ReqCmd.WRITE) | full),
            self.atomic.eq((cmd == ReqCmd.ATOMIC_R) | (cmd == ReqCmd.ATOMIC_NR)),
            self.on_rd_rsp.eq(
                ~cmd[5] | (cmd == ReqCmd.ATOMIC_R) | (message & (request.meta_data == KEY_ROLL_RD_RSP_CHANNEL))
            ),
            end.eq(first + length),
            beats_end.eq((first[:4] + length)[4:]),
            self.last.eq(Mux(self.reads, Mux(beats_end > 3, 3, beats_end), 0)),
        ]
        crosses = end > 63
        sized = Mux(self.reads, request.num_beats == 0, request.num_beats == beats_end)
        whole = (request.addr[:6] == 0) & (length[:4] == 15)
        addressed = (request.addr[:2] == 0) & ~crosses & sized & (~full | whole)

        element = request.attr[2:4]
        op_type = Cat(request.attr[4:8], request.attr[0])
        aligned, uniform = Signal(), Signal()
        with m.Switch(element):
            for code, size in enumerate(ELEMENT_BYTES):
                with m.Case(code):
                    uneven = request.addr[: size.bit_length() - 1] != 0
                    uneven_length = (4 * (length + 1))[: size.bit_length() - 1] != 0
                    m.d.comb += [aligned.eq(~uneven & ~uneven_length), uniform.eq(self._uniform(size))]
        atomic_fits = (
            (request.addr[:2] == 0)
            & (beats_end == 0)
            & (request.num_beats == 0)
            & aligned
            & (op_type >= 1)
            & (op_type <= 4)
        )
        message_fits = (request.meta_data < MESSAGES) & (request.num_beats == 0)
        with m.If(self.reads | self.writes | self.atomic):
            with m.If(~Mux(self.atomic, atomic_fits, addressed)):
                m.d.comb += self.status.eq(Status.TARGET_ABORT)
            with m.Elif(self.beyond):
                m.d.comb += self.status.eq(Status.DECODE_ERROR)
            with m.Elif(self.atomic & ~uniform):
                m.d.comb += self.status.eq(Status.TARGET_ABORT)
        with m.Elif(~(message & message_fits)):
            m.d.comb += self.status.eq(Status.TARGET_ABORT)
        self._lanes(m, first, end)
        return m

    def _uniform(self, size: int):
        """Each element of ``size`` bytes that an Atomic may reach is enabled whole or not at all."""
        chosen = self.byte_en & self.lanes
        groups = [chosen.word_select(n, size) for n in range(64 // size)]
        return Cat(~group.any() | group.all() for group in groups).all()

    def _lanes(self, m, first, end):
        """Doublewords of the beat from the first to the last of the range, and bytes of these two by ReqAttr."""
        request = self.request
        block = Signal(3)
        m.d.comb += block.eq(first[4:] + self.offset)
        one = request.len == 0
        for dword in range(16):
            after_first, before_last = Signal(name=f"after_first_{dword}"), Signal(name=f"before_last_{dword}")
            is_first, is_last = Signal(name=f"is_first_{dword}"), Signal(name=f"is_last_{dword}")
            m.d.comb += [
                is_first.eq((self.offset == 0) & (first[:4] == dword)),
                is_last.eq((block == end[4:]) & (end[:4] == dword)),
                after_first.eq((self.offset != 0) | (first[:4] <= dword)),
                before_last.eq((block < end[4:]) | ((block == end[4:]) & (end[:4] >= dword))),
            ]
            for byte in range(4):
                wanted = (~is_first | request.attr[byte]) & (~is_last | one | request.attr[4 + byte])
                m.d.comb += self.lanes[4 * dword + byte].eq(after_first & before_last & (~self.reads | wanted))
