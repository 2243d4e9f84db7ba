"""The rules on OrigData: its beats belong to a Request, come in a row, and enable what they may (UALink_200 §2.7.8,
§2.8)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import of_now
from ualink.upli.checker.beats import HEADERS
from ualink.upli.checker.requests import FACTS
from ualink.upli.checker.watched import WatchedSignature

__all__ = ["OriginatorDataCheck"]

_RULES = ("first", "owner", "gap", "offset", "last", "vc", "full", "range", "element", "null")
_TRANSFER = data.StructLayout({"facts": FACTS, "vc": 2, "left": 2, "offset": 2})
"""What is kept of a transfer: of its Request, and of the beat to come."""


class OriginatorDataCheck(wiring.Component):
    """Joins each Request with its beats. Latency 1 cycle from ``seen``.

    What follows from something that was not good, or from a rule that was broken, is passed over: beats without a
    Request until a slot of the port without one.

    Members
    -------
    seen : the OrigData channel, out of registers.
    encrypted : 1 bit, data and enables are not judged.
    request, facts : one cycle behind ``seen``, as of ``BeatCheck`` and ``RequestCheck``; ``request_good``,
        ``request_bad`` : a good Request, something else on its channel.
    beat, beat_good, beat_bad : the same of OrigData.
    broken : the rules broken one cycle behind ``seen``; ``overlap`` : 1 bit, a Request with data came too early.
    """

    def __init__(self, ports: int):
        self.ports = ports
        super().__init__(
            {
                "seen": In(WatchedSignature("orig_data")),
                "encrypted": In(1),
                "request": In(HEADERS["req"]),
                "facts": In(FACTS),
                "request_good": In(1),
                "request_bad": In(1),
                "beat": In(HEADERS["orig_data"]),
                "beat_good": In(1),
                "beat_bad": In(1),
                "broken": Out(data.StructLayout(dict.fromkeys(_RULES, 1))),
                "overlap": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, broken = self.beat, self.broken
        fresh = Signal(_TRANSFER)
        m.d.comb += [fresh.facts.eq(self.facts), fresh.vc.eq(self.request.vc), fresh.left.eq(self.request.num_beats)]
        kept, active = [], []
        found: dict[str, list] = {name: [] for name in ("first", "owner", "gap", "overlap")}
        for port in range(self.ports):
            ongoing, is_active, rules = self._port(m, port, fresh)
            kept.append(ongoing)
            active.append(is_active)
            for name, rule in rules.items():
                found[name].append(rule)
        m.d.comb += [broken[name].eq(Cat(found[name]).any()) for name in ("first", "owner", "gap")]
        m.d.comb += self.overlap.eq(Cat(found["overlap"]).any())

        now, judged = Signal(_TRANSFER), Signal()
        m.d.comb += [now.eq(of_now(beat.port_id, kept)), judged.eq(Cat(active).any())]
        m.d.comb += [
            broken.offset.eq(judged & (beat.offset != now.offset)),
            broken.last.eq(judged & (beat.last != (now.left == 0))),
            broken.vc.eq(judged & (beat.vc != now.vc)),
        ]
        self._lanes(m, now, judged & ~beat.error & ~self.encrypted)
        return m

    def _port(self, m, port, fresh):
        """The transfer that this cycle's beat belongs to if it is of ``port``, whether it does, and rules broken."""
        here, start, begin, is_active = (
            Signal(name=f"port{port}_{name}") for name in ("here", "start", "begin", "active")
        )
        busy, lost, wait = (
            Signal(name=f"port{port}_busy"),
            Signal(name=f"port{port}_lost"),
            Signal(2, name=f"port{port}_wait"),
        )
        stored, ongoing = Signal(_TRANSFER, name=f"port{port}_stored"), Signal(_TRANSFER, name=f"port{port}_now")
        missing, gap = Signal(name=f"port{port}_missing"), Signal(name=f"port{port}_gap")
        m.d.comb += [
            here.eq(self.beat_good & (self.beat.port_id == port)),
            start.eq(self.request_good & self.facts.with_data & (self.request.port_id == port)),
            begin.eq(start & ~busy),
            is_active.eq(here & (busy | begin)),
            ongoing.eq(Mux(busy, stored, fresh)),
            missing.eq(begin & ~here),
            gap.eq(busy & (wait == 0) & ~here),
        ]
        # ``wait`` is 0 in the slot of the port N cycles after its last beat.
        with m.If(here):
            m.d.sync += wait.eq(self.ports - 1)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(is_active):
            m.d.sync += [
                stored.eq(ongoing),
                stored.left.eq(ongoing.left - 1),
                stored.offset.eq(ongoing.offset + 1),
                busy.eq(ongoing.left != 0),
            ]
        with m.Elif(gap):
            m.d.sync += busy.eq(0)
        with m.If(self.request_bad | missing | gap | (start & busy)):
            m.d.sync += [lost.eq(1), wait.eq(self.ports - 1)]
        with m.Elif(begin | ((wait == 0) & ~here & ~busy)):
            m.d.sync += lost.eq(0)
        return (
            ongoing,
            is_active,
            {
                "first": missing & ~self.beat_bad,
                "owner": here & ~busy & ~begin & ~lost & ~self.request_bad,
                "gap": gap & ~self.beat_bad,
                "overlap": start & busy,
            },
        )

    def _lanes(self, m, now, judged):
        """The rules on the enables and data of the beat of the transfer ``now``."""
        byte_en, broken = self.seen.byte_en, self.broken
        enabled, whole, filled, parts = Signal(16), Signal(), Signal(), Signal(4)
        m.d.sync += [
            enabled.eq(Cat(byte_en.word_select(n, 4).any() for n in range(16))),
            whole.eq(byte_en.all()),
            filled.eq(self.seen.data.any()),
            # By OpSize: some element of 4, 8, 2 or 1 bytes is enabled in part (Table 2-5).
            parts.eq(Cat(_in_part(byte_en, 4), _in_part(byte_en, 8), _in_part(byte_en, 2), 0)),
        ]
        facts = now.facts
        above, below, at_end = Signal(16), Signal(16), Signal()
        at_or_after_first = [*(facts.first <= dword for dword in range(15)), Const(1)]
        at_or_before_end = [Const(1), *(facts.end[:4] >= dword for dword in range(1, 16))]
        m.d.comb += [
            at_end.eq(now.offset == facts.end[4:]),
            above.eq(Cat((now.offset != 0) | begun for begun in at_or_after_first)),
            below.eq(Cat((now.offset < facts.end[4:]) | (at_end & reached) for reached in at_or_before_end)),
            broken.full.eq(judged & facts.full & ~whole),
            broken.range.eq(judged & facts.ranged & (enabled & ~(above & below)).any()),
            broken.element.eq(judged & facts.atomic & parts.bit_select(facts.element, 1)),
            broken.null.eq(judged & facts.null & filled),
        ]


def _in_part(enables, size: int):
    elements = [enables.word_select(n, size) for n in range(64 // size)]
    return Cat(element.any() & ~element.all() for element in elements).any()
