"""The source side of a traffic engine: asks, checks and counts."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.lib.forward import show
from ualink.traffic.checker import EVENTS, Checker
from ualink.traffic.config import TrafficConfig
from ualink.traffic.histogram import BIN_BITS, COUNT_BITS, Histogram
from ualink.traffic.interface import TIME_BITS, ErrorKind, SettingsSignature
from ualink.traffic.planner import Planner
from ualink.traffic.source import Source
from ualink.traffic.statistics import Statistics, StatisticsSignature
from ualink.traffic.tag_table import TagTable
from ualink.upli.channels import beat_stream

__all__ = ["Requester"]

SERVICE = ("served_requests", "refused_requests", "foreign_requests")


class Requester(wiring.Component):
    """Runs: so many planned Requests, each with a tag of its own, and every Response to them checked.

    ``start`` begins a run. It ends when all Requests are issued and none waits for its Response; ``done`` is up then
    while ``start`` still is. When ``start`` falls earlier, no Request is issued any more, and the run ends when those
    that wait are answered or given up; a start that rises meanwhile begins a run after that.

    ``clear`` waits for the end of a run, or for ``start`` to be down and OrigData to be complete; it then takes 256
    cycles, or ``config.tags`` if these are more, forgets counters, histogram and tags, and is ``cleared``. So it goes
    after reset, too.

    Members
    -------
    settings : ``SettingsSignature``, to stay as they are from ``start`` to ``done``.
    start, done, clear, cleared : as said; ``busy``: a run or a clear is going on.
    outstanding, lost : Requests that wait, tags that were given up.
    req, orig_data, rd_rsp, wr_rsp : one port of an Originator.
    served : 1 bit of each ``SERVICE``: of the responder, for the statistics.
    statistics : ``StatisticsSignature``.
    index, count : of the histogram.
    """

    def __init__(self, config: TrafficConfig):
        self.config = config
        super().__init__(
            {
                "settings": In(SettingsSignature()),
                "start": In(1),
                "done": Out(1),
                "clear": In(1),
                "cleared": Out(1),
                "busy": Out(1, init=1),
                "outstanding": Out(range(config.tags + 1)),
                "lost": Out(range(config.tags + 1)),
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
                "rd_rsp": In(beat_stream("rd_rsp")),
                "wr_rsp": In(beat_stream("wr_rsp")),
                "served": In(data.StructLayout(dict.fromkeys(SERVICE, 1))),
                "statistics": Out(StatisticsSignature()),
                "index": In(BIN_BITS + 1),
                "count": Out(COUNT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        tags, s = self.config.tags, self.settings
        forget, restart, running, issued, ended = Signal(), Signal(), Signal(), Signal(), Signal()
        m.submodules.planner = planner = Planner()
        m.submodules.source = source = Source()
        table, checker, statistics, histogram = TagTable(tags), Checker(tags), Statistics(), Histogram()
        for name, block in (("table", table), ("checker", checker), ("statistics", statistics)):
            m.submodules[name] = ResetInserter(forget)(block)
        m.submodules.histogram = histogram

        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        connect(m, flipped(s), planner.settings)
        connect(m, planner.plan, source.plan)
        connect(m, table.free, source.tag)
        connect(m, checker.rd, table.rd)
        connect(m, checker.wr, table.wr)
        for channel, block in (("req", source), ("orig_data", source), ("rd_rsp", checker), ("wr_rsp", checker)):
            mine = flipped(getattr(self, channel))
            ends = (getattr(block, channel), mine)
            connect(m, *ends)
        m.d.comb += [
            planner.restart.eq(restart),
            source.restart.eq(restart),
            source.run.eq(running & self.start),
            source.may_issue.eq(table.outstanding < s.outstanding),
            *(getattr(source, name).eq(getattr(s, name)) for name in ("rate", "own", "vc", "new_seed")),
            issued.eq(self.req.valid & self.req.ready),
            table.now.eq(now),
            table.time_out.eq(s.time_out),
            table.plan.eq(planner.plan.p),
            table.retire.eq(checker.retire),
            table.retired.eq(checker.retired),
            *(getattr(checker, name).eq(getattr(s, name)) for name in ("own", "new_seed", "old_seed", "check")),
            checker.now.eq(now),
            self.outstanding.eq(table.outstanding),
            self.lost.eq(table.lost),
        ]
        swept = self._run(m, s, table, source, issued, restart, running, forget)

        m.d.comb += [
            *(statistics.add[name].eq(getattr(checker, name)) for name in EVENTS),
            *(statistics.add[name].eq(self.served[name]) for name in SERVICE),
            statistics.add.requests.eq(issued),
            statistics.add.responses.eq(checker.retire),
            statistics.add.beats_sent.eq(self.orig_data.valid & self.orig_data.ready),
            statistics.add.beats_received.eq(checker.good_beat),
            statistics.add.wrong_bytes.eq(checker.wrong_bytes),
            statistics.add.cycles.eq(ended),
            statistics.add.time_outs.eq(table.timed_out),
            statistics.report.eq(checker.report),
            ended.eq(self.busy & ~forget),
        ]
        with m.If((checker.report.kind == ErrorKind.NONE) & table.timed_out):
            m.d.comb += [
                statistics.report.kind.eq(ErrorKind.TIME_OUT),
                statistics.report.tag.eq(table.given_up_tag),
                statistics.report.line.eq(table.given_up.plan.line),
            ]
        for block in (statistics, histogram):
            m.d.comb += [block.write.eq(checker.write), block.latency.eq(checker.latency)]
        m.d.comb += [
            statistics.ended.eq(checker.retire),
            histogram.event.eq(checker.retire),
            histogram.index.eq(self.index),
            self.count.eq(histogram.count),
            histogram.sweep.eq(forget),
            checker.sweep.eq(forget),
            histogram.swept.eq(swept),
            checker.swept.eq(swept),
        ]
        show(m, statistics, self.statistics)
        return m

    def _run(self, m, s, table, source, issued, restart, running, forget):
        """The life of a run; the address that a clear has come to."""
        last = max(2 << BIN_BITS, self.config.tags) - 1
        swept = Signal(range(last + 1))
        left = Signal(32)
        endless, stopped = Signal(), Signal()
        clearing = self.clear & ~self.start & ~source.bursting
        with m.FSM() as life:
            with m.State("CLEAR"):
                m.d.comb += [forget.eq(1), self.cleared.eq(swept == last)]
                m.d.sync += swept.eq(Mux(swept == last, 0, swept + 1))
                with m.If(swept == last):
                    m.next = "IDLE"
            with m.State("IDLE"):
                with m.If(self.clear & ~source.bursting):
                    m.next = "CLEAR"
                with m.Elif(self.start):
                    m.d.comb += restart.eq(1)
                    m.d.sync += [left.eq(s.requests), endless.eq(s.requests == 0), stopped.eq(0)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += running.eq(endless | (left != 0))
                m.d.sync += left.eq(left - issued)
                with m.If(~self.start):
                    m.d.sync += stopped.eq(1)
                with m.If(~self.start | ~running):
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                with m.If(~self.start):
                    m.d.sync += stopped.eq(1)
                with m.If((table.outstanding == 0) & ~source.bursting):
                    m.d.comb += self.done.eq(self.start & ~stopped)
                    m.next = "IDLE"
                with m.Elif(clearing):
                    m.next = "CLEAR"
        m.d.comb += self.busy.eq(~life.ongoing("IDLE"))
        return swept
