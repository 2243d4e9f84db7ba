"""The rules that join a Response with its Request (UALink_200 §2.7.3, §2.7.4.2, §2.7.5, §2.7.6)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.upli.checker.beats import HEADERS
from ualink.upli.checker.requests import FACTS
from ualink.upli.commands import Status

__all__ = ["OutstandingCheck"]

_RULES = (
    "req_tag",
    *(f"rd_rsp_{name}" for name in ("tag", "channel", "vc", "status", "same", "num_beats", "offset", "last")),
    *(f"wr_rsp_{name}" for name in ("tag", "channel", "vc", "status")),
)
_KEY = data.StructLayout({"port_id": 2, "acc_id": 10, "tag": 11})
"""The Source Accelerator makes its tags unique for each of its ports."""
_ENTRY = data.StructLayout(
    {
        "on_rd_rsp": 1,
        "on_wr_rsp": 1,
        "vendor": 1,
        "null": 1,
        "counted": 1,
        "count": 2,
        "vc": 2,
        "begun": 1,
        "multi": 1,
        "status": 4,
        "offsets": 4,
    }
)
"""What is kept of a Request, as in ``FACTS``, and of its Response: ``offsets`` are those that have come."""
_SOURCES = {"req": "src_phys_acc_id", "rd_rsp": "dst_phys_acc_id", "wr_rsp": "dst_phys_acc_id"}


class OutstandingCheck(wiring.Component):
    """Keeps up to ``tracked`` Requests and compares what answers them. Latency 1 cycle from ``seen_…``.

    Members
    -------
    seen_req, seen_rd_rsp, seen_wr_rsp : header of the cycle seen, out of registers.
    req, facts, rd_rsp, wr_rsp : the same one cycle later, with what ``RequestCheck`` says.
    req_good, rd_rsp_good, wr_rsp_good : 1 bit, they are good; ISOLATE is not to be called good.
    upset : 1 bit, something on one of these channels was not good, or tags are not to be read.
    tracking : 1 bit, reset value 1, falls for good when what is outstanding is no longer known; then no rule is broken.
    broken : the rules broken, one cycle behind ``seen_…``.
    """

    def __init__(self, tracked: int):
        self.tracked = tracked
        super().__init__(
            {
                **{f"seen_{name}": In(HEADERS[name]) for name in _SOURCES},
                **{name: In(HEADERS[name]) for name in _SOURCES},
                **{f"{name}_good": In(1) for name in _SOURCES},
                "facts": In(FACTS),
                "upset": In(1),
                "tracking": Out(1, init=1),
                "broken": Out(data.StructLayout(dict.fromkeys(_RULES, 1))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        valid, chosen = Signal(self.tracked), Signal(self.tracked)
        keys = [Signal(_KEY, name=f"key_{n}") for n in range(self.tracked)]
        entries = [Signal(_ENTRY, name=f"entry_{n}") for n in range(self.tracked)]
        in_use, take = Signal(), Signal()
        own_key, fresh = Signal(_KEY), Signal(_ENTRY)
        self._key(m, own_key, "req", self.req)
        facts = self.facts
        m.d.comb += [
            # The lowest that is free.
            chosen.eq(Cat(~valid[n] & valid[:n].all() for n in range(self.tracked))),
            take.eq(self.req_good & ~in_use & ~valid.all()),
            *(fresh[name].eq(facts[name]) for name in ("on_rd_rsp", "on_wr_rsp", "vendor", "null", "counted", "count")),
            fresh.vc.eq(self.req.vc),
        ]
        hits = {name: self._hits(m, name, keys, own_key, take.replicate(self.tracked) & chosen) for name in _SOURCES}
        hits = {name: hit & valid for name, hit in hits.items()}
        m.d.comb += in_use.eq(hits["req"].any())
        found = {"req_tag": self.req_good & in_use}
        read, read_next = Signal(_ENTRY), Signal(_ENTRY)
        m.d.comb += [read.eq(select_one(hits["rd_rsp"], entries)), read_next.eq(read)]
        found |= self._common("rd_rsp", hits["rd_rsp"].any(), read)
        found |= self._read_response(m, read, read_next, found)
        written = Signal(_ENTRY)
        m.d.comb += written.eq(select_one(hits["wr_rsp"], entries))
        found |= self._common("wr_rsp", hits["wr_rsp"].any(), written)
        m.d.comb += [self.broken[name].eq(value & self.tracking) for name, value in found.items()]
        with m.If(self.upset | (self.req_good & ~in_use & valid.all())):
            m.d.sync += self.tracking.eq(0)

        gone = Mux(self.rd_rsp_good & self.rd_rsp.last, hits["rd_rsp"], 0) | Mux(self.wr_rsp_good, hits["wr_rsp"], 0)
        m.d.sync += valid.eq((valid & ~gone) | Mux(take, chosen, 0))
        for n, (key, entry) in enumerate(zip(keys, entries)):
            with m.If(take & chosen[n]):
                m.d.sync += [key.eq(own_key), entry.eq(fresh)]
            with m.Elif(self.rd_rsp_good & hits["rd_rsp"][n]):
                m.d.sync += entry.eq(read_next)
        return m

    def _key(self, m, key, name, header):
        m.d.comb += [
            key.port_id.eq(header.port_id),
            key.acc_id.eq(header[_SOURCES[name]]),
            key.tag.eq(header.tag),
        ]

    def _hits(self, m, name, keys, own_key, taken):
        """Register: the entries with the key of the header of ``name``, that which is being written among them."""
        key = Signal(_KEY, name=f"{name}_key")
        self._key(m, key, name, getattr(self, f"seen_{name}"))
        hit = Signal(self.tracked, name=f"{name}_hit")
        same = Cat(of_entry.as_value() == key.as_value() for of_entry in keys)
        again = (own_key.as_value() == key.as_value()).replicate(self.tracked)
        m.d.sync += hit.eq((same & ~taken) | (again & taken))
        return hit

    def _common(self, name, known, entry):
        beat, good = getattr(self, name), getattr(self, f"{name}_good")
        fits = good & known & entry[f"on_{name}"]
        status = beat.status
        of_address = (status == Status.DECODE_ERROR) | (status == Status.PROTECTION_VIOLATION)
        plain = (status == Status.OKAY) | (status == Status.TARGET_ABORT) | (status == Status.CMPTO)
        return {
            f"{name}_tag": good & ~known,
            f"{name}_channel": good & known & ~entry[f"on_{name}"],
            f"{name}_vc": fits & (beat.vc != entry.vc),
            f"{name}_status": fits & ~entry.vendor & ~plain & ~(of_address & ~entry.null),
        }

    def _read_response(self, m, entry, then, found):
        """The beats of a Read Response in either mode; ``then`` is ``entry`` after this one."""
        beat = self.rd_rsp
        fits = Signal(name="rd_rsp_fits")
        multi = beat.num_beats != 0
        offset, offsets, due = Signal(4), Signal(4), Signal(4)
        m.d.comb += [
            fits.eq(self.rd_rsp_good & ~found["rd_rsp_tag"] & ~found["rd_rsp_channel"]),
            offset.eq(1 << beat.offset),
            offsets.eq(entry.offsets | offset),
            due.eq((2 << entry.count) - 1),
            then.begun.eq(1),
            then.multi.eq(multi),
            then.status.eq(beat.status),
            then.offsets.eq(offsets),
        ]
        too_many = entry.counted & (beat.offset > entry.count)
        again = (entry.offsets & offset).any()
        # Where a vendor decides how many beats there are, none below the highest is left out.
        in_a_row = ~(offsets & (offsets + 1)).any()
        complete = Mux(entry.counted, offsets == due, Mux(beat.last, in_a_row, 0))
        wrong_offset = fits & ~multi & (too_many | again)
        wrong_count = entry.counted & multi & (beat.num_beats != entry.count) & ~entry.begun
        return {
            "rd_rsp_same": fits & entry.begun & (entry.status != beat.status),
            "rd_rsp_num_beats": fits & (wrong_count | (entry.begun & (entry.multi != multi))),
            "rd_rsp_offset": wrong_offset,
            "rd_rsp_last": fits & ~multi & ~wrong_offset & (beat.last != complete),
        }
