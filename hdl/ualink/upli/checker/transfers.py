"""The rules on Multi-Beat Read Responses, for which no Request must be known (UALink_200 §2.7.8)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.checker.beats import HEADERS

__all__ = ["TransferCheck"]

_RULES = ("gap", "offset", "last", "num_beats")


class TransferCheck(wiring.Component):
    """Demands that the beats of a Multi-Beat response fill the slots of their port and count up.

    Members
    -------
    beat, good, bad : of RdRsp, as of ``BeatCheck``.
    broken : the rules broken in this cycle. What follows from a broken one is passed over until a slot of the port
        without a beat, or a beat that begins a response.
    """

    def __init__(self, ports: int):
        self.ports = ports
        super().__init__(
            {
                "beat": In(HEADERS["rd_rsp"]),
                "good": In(1),
                "bad": In(1),
                "broken": Out(data.StructLayout(dict.fromkeys(_RULES, 1))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        found = [self._port(m, port) for port in range(self.ports)]
        m.d.comb += [self.broken[name].eq(Cat(rules[n] for rules in found).any()) for n, name in enumerate(_RULES)]
        return m

    def _port(self, m, port):
        beat = self.beat
        here, mine, first, late, gap = (
            Signal(name=f"port{port}_{n}") for n in ("here", "mine", "first", "late", "gap")
        )
        busy, lost, wait = (
            Signal(name=f"port{port}_busy"),
            Signal(name=f"port{port}_lost"),
            Signal(2, name=f"port{port}_wait"),
        )
        offset, num_beats = Signal(2, name=f"port{port}_offset"), Signal(2, name=f"port{port}_num_beats")
        tag, source = Signal(11, name=f"port{port}_tag"), Signal(10, name=f"port{port}_source")
        changed = Signal(name=f"port{port}_changed")
        m.d.comb += [
            here.eq(self.good & (beat.port_id == port)),
            mine.eq(here & busy & (beat.tag == tag) & (beat.dst_phys_acc_id == source)),
            first.eq(here & ~busy & (beat.num_beats != 0) & (beat.offset == 0)),
            late.eq(here & ~busy & (beat.num_beats != 0) & (beat.offset != 0) & ~lost),
            gap.eq(busy & ((wait == 0) | here) & ~mine),
            changed.eq(mine & (beat.num_beats != num_beats)),
        ]
        with m.If(here):
            m.d.sync += wait.eq(self.ports - 1)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(first):
            m.d.sync += [
                busy.eq(1),
                offset.eq(1),
                num_beats.eq(beat.num_beats),
                tag.eq(beat.tag),
                source.eq(beat.dst_phys_acc_id),
            ]
        with m.Elif(mine):
            m.d.sync += [offset.eq(offset + 1), busy.eq(offset != num_beats)]
        with m.Elif(gap):
            m.d.sync += busy.eq(0)
        with m.If(self.bad | gap | late):
            m.d.sync += [lost.eq(1), wait.eq(self.ports - 1)]
        with m.Elif(first | ((wait == 0) & ~here)):
            m.d.sync += lost.eq(0)
        return (
            gap & ~self.bad,
            late | (mine & ~changed & (beat.offset != offset)),
            (first & beat.last) | (mine & ~changed & (beat.last != (offset == num_beats))),
            changed,
        )
