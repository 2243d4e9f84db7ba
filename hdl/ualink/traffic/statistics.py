"""What a traffic engine has counted, and the first error."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.traffic.checker import EVENTS, REPORT
from ualink.traffic.interface import TIME_BITS, ErrorKind

__all__ = ["COUNTERS", "ERRORS", "EXTREMES", "SUMS", "Statistics", "StatisticsSignature"]

COUNTERS = {"requests": 1, "responses": 1, "beats_sent": 1, "beats_received": 1, "wrong_bytes": 7, "cycles": 1}
"""Counters of 64 bits, and the bits that are added to each in a cycle."""

SUMS = ("read_latency_sum", "write_latency_sum")
"""Sums of 64 bits."""

ERRORS = (*EVENTS, "time_outs", "served_requests", "refused_requests", "foreign_requests")
"""Counters of 32 bits; the last three are the responder's."""

_COUNTS_LAYOUT = data.StructLayout({**dict.fromkeys((*COUNTERS, *SUMS), 64), **dict.fromkeys(ERRORS, 32)})

EXTREMES = ("read_latency_min", "read_latency_max", "write_latency_min", "write_latency_max")


class StatisticsSignature(wiring.Signature):
    """What has been counted.

    Members
    -------
    counts : 64 bits of ``COUNTERS`` and ``SUMS``, 32 bits of ``ERRORS``; they wrap around.
    …_min, …_max : least and greatest latency; all ones and 0 as long as there is none.
    first_error : the first error; of kind NONE as long as there is none.
    """

    def __init__(self):
        super().__init__(
            {
                "counts": Out(_COUNTS_LAYOUT),
                **{name: Out(TIME_BITS, init=(1 << TIME_BITS) - 1 if name.endswith("min") else 0) for name in EXTREMES},
                "first_error": Out(REPORT),
            }
        )


class Statistics(wiring.Component):
    """Counts; a reset of the domain clears it. Counts are one cycle late, latencies two.

    Members
    -------
    add : 1 or 7 bits of ``COUNTERS``, 2 bits of ``ERRORS``: what to add in this cycle.
    ended, write, latency : a Request has ended, answered on WrRsp if ``write``, after ``latency`` cycles.
    report : an error of this cycle, if its kind is not NONE.
    The others are those of ``StatisticsSignature``.
    """

    def __init__(self):
        super().__init__(
            {
                "add": In(data.StructLayout({**COUNTERS, **dict.fromkeys(ERRORS, 2)})),
                "ended": In(1),
                "write": In(1),
                "latency": In(TIME_BITS),
                "report": In(REPORT),
                **StatisticsSignature().members,
            }
        )

    def elaborate(self, platform):
        m = Module()
        for name in (*COUNTERS, *ERRORS):
            m.d.sync += self.counts[name].eq(self.counts[name] + self.add[name])
        ended, write, latency = Signal(), Signal(), Signal(TIME_BITS)
        m.d.sync += [ended.eq(self.ended), write.eq(self.write), latency.eq(self.latency)]
        for total, least, most, here in (
            (self.counts.read_latency_sum, self.read_latency_min, self.read_latency_max, ended & ~write),
            (self.counts.write_latency_sum, self.write_latency_min, self.write_latency_max, ended & write),
        ):
            with m.If(here):
                m.d.sync += total.eq(total + latency)
            with m.If(here & (latency < least)):
                m.d.sync += least.eq(latency)
            with m.If(here & (latency > most)):
                m.d.sync += most.eq(latency)
        with m.If((self.first_error.kind == ErrorKind.NONE) & (self.report.kind != ErrorKind.NONE)):
            m.d.sync += self.first_error.eq(self.report)
        return m
