"""The checker of a UPLI interface (UALink_200 §2, §4.3)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ualink.config import CheckerConfig
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.checker.beats import HEADERS, BeatCheck, Phase
from ualink.upli.checker.connection import ConnectionCheck
from ualink.upli.checker.credits import CreditCheck
from ualink.upli.checker.originator_data import OriginatorDataCheck
from ualink.upli.checker.outstanding import OutstandingCheck
from ualink.upli.checker.requests import RequestCheck
from ualink.upli.checker.rules import RULES
from ualink.upli.checker.transfers import TransferCheck
from ualink.upli.checker.watched import WatchedSignature, leaves
from ualink.upli.commands import Status

__all__ = ["FIRST_LAYOUT", "VIOLATIONS_LAYOUT", "UPLIChecker"]

VIOLATIONS_LAYOUT = data.StructLayout({rule.name: 1 for rule in RULES})
"""A bit for each rule, by name; bit n is that of rule number n."""

_GROUP = 10
"""Rules among which the lowest is found at once."""

FIRST_LAYOUT = data.StructLayout({"valid": 1, "rule": ceil_log2(len(RULES)), **HEADERS})
"""``rule``: number of a rule, the lowest of those broken in that cycle; of each channel what was on it then."""


class UPLIChecker(wiring.Component):
    """Watches one UPLI interface and says which rule is broken in which cycle. It drives nothing of the interface.

    The interface goes into registers first, is judged behind a second row of them, and what is found leaves out of
    registers: what happens in cycle t shows in ``violations`` in cycle t + 3 and in ``first`` in t + 4. The reset of
    the clock domain is that of the interface, the inverse of UPLIReset_N; after it all is forgotten.

    Parameters
    ----------
    config : CheckerConfig.

    Members
    -------
    upli : the interface, all of it inputs.
    encrypted : 1 bit, reset value of the port 0: addresses, enables, data and tags are cipher text and not judged.
    clear : 1 bit, forget ``first``.
    violations : ``VIOLATIONS_LAYOUT``, each bit 1 for one cycle per cycle that breaks its rule; 0 after reset.
    first : ``FIRST_LAYOUT``, the first violation since reset or ``clear``; ``valid`` is 0 after reset.
    tracking : 1 bit, the rules on tags are judged; 0 with ``config.tracked`` 0.
    """

    def __init__(self, config: CheckerConfig):
        self.config = config
        super().__init__(
            {
                "upli": In(WatchedSignature()),
                "encrypted": In(1),
                "clear": In(1),
                "violations": Out(VIOLATIONS_LAYOUT),
                "first": Out(FIRST_LAYOUT),
                "tracking": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ports = self.config.ports
        seen = WatchedSignature().create(path=("seen",))
        m.d.sync += [
            kept.eq(now) for kept, now in zip(leaves(seen, WatchedSignature()), leaves(self.upli, WatchedSignature()))
        ]
        found: dict[str, list] = {rule.name: [] for rule in RULES}

        def report(broken, prefix=""):
            for name in broken.shape().members:
                found[prefix + name].append(broken[name])

        m.submodules.connection = connection = ConnectionCheck()
        _connect(m, connection.seen, seen, WatchedSignature())
        report(connection.broken)
        beats = {}
        for name in CHANNEL_LAYOUTS:
            m.submodules[name] = beats[name] = check = BeatCheck(name, ports)
            m.submodules[f"{name}_credits"] = credits = CreditCheck(name, ports, self.config.counter_bits)
            outward = name in ("req", "orig_data")
            here, signature = getattr(seen, name), WatchedSignature(name)
            _connect(m, check.seen, here, signature)
            _connect(m, credits.seen, here, signature)
            m.d.comb += [
                check.open.eq(connection.outward & connection.homeward),
                check.listen.eq(connection.outward if outward else connection.homeward),
                credits.open.eq(connection.homeward if outward else connection.outward),
                credits.spend.eq(check.trusted),
                credits.port_id.eq(check.beat.port_id),
                credits.pool.eq(check.beat.pool),
                credits.vc.eq(check.beat.vc),
            ]
            report(check.broken, f"{name}_")
            report(credits.broken, f"{name}_")
        for name in ("req", "rd_rsp", "wr_rsp"):
            m.submodules[f"{name}_phase"] = phase = Phase(ports)
            m.d.comb += [phase.vld.eq(beats[name].trusted), phase.port_id.eq(beats[name].beat.port_id)]
            for channel in (name, "orig_data") if name == "req" else (name,):
                m.d.comb += [beats[channel].known.eq(phase.known), beats[channel].owner.eq(phase.owner)]

        facts = self._requests(m, seen, beats, report)
        m.submodules.transfers = transfers = TransferCheck(ports)
        rd_rsp = beats["rd_rsp"]
        m.d.comb += [
            transfers.beat.eq(rd_rsp.beat),
            transfers.good.eq(rd_rsp.good),
            transfers.bad.eq(rd_rsp.bad),
        ]
        report(transfers.broken, "rd_rsp_")
        isolate = Signal()
        m.d.comb += isolate.eq(beats["wr_rsp"].good & (beats["wr_rsp"].beat.status == Status.ISOLATE))
        if not self.config.isolate:
            found["wr_rsp_isolate"].append(isolate)
        if self.config.tracked:
            self._outstanding(m, seen, beats, (facts, isolate, report))
        self._tell(m, found, beats)
        return m

    def _requests(self, m, seen, beats, report):
        req, orig_data = beats["req"], beats["orig_data"]
        m.submodules.requests = requests = RequestCheck()
        m.submodules.originator_data = data_check = OriginatorDataCheck(self.config.ports)
        _connect(m, requests.seen, seen.req, WatchedSignature("req"))
        _connect(m, data_check.seen, seen.orig_data, WatchedSignature("orig_data"))
        m.d.comb += [
            requests.encrypted.eq(self.encrypted),
            requests.good.eq(req.good),
            data_check.encrypted.eq(self.encrypted),
            data_check.request.eq(req.beat),
            data_check.facts.eq(requests.facts),
            data_check.request_good.eq(req.good),
            data_check.request_bad.eq(req.bad),
            data_check.beat.eq(orig_data.beat),
            data_check.beat_good.eq(orig_data.good),
            data_check.beat_bad.eq(orig_data.bad),
        ]
        report(requests.broken, "req_")
        report(data_check.broken, "orig_data_")
        overlap = Signal(data.StructLayout({"overlap": 1}))
        m.d.comb += overlap.overlap.eq(data_check.overlap)
        report(overlap, "req_")
        return requests.facts

    def _outstanding(self, m, seen, beats, others):
        facts, isolate, report = others
        m.submodules.outstanding = outstanding = OutstandingCheck(self.config.tracked)
        for name in ("req", "rd_rsp", "wr_rsp"):
            header = getattr(outstanding, f"seen_{name}")
            m.d.comb += [header[part].eq(getattr(getattr(seen, name), part)) for part, _ in HEADERS[name]]
            m.d.comb += getattr(outstanding, name).eq(beats[name].beat)
        m.d.comb += [
            outstanding.facts.eq(facts),
            outstanding.req_good.eq(beats["req"].good),
            outstanding.rd_rsp_good.eq(beats["rd_rsp"].good),
            outstanding.wr_rsp_good.eq(beats["wr_rsp"].good & ~isolate),
            outstanding.upset.eq(self.encrypted | Cat(beats[name].bad for name in ("req", "rd_rsp", "wr_rsp")).any()),
            self.tracking.eq(outstanding.tracking),
        ]
        report(outstanding.broken)

    def _tell(self, m, found, beats):
        violations, first = self.violations, self.first
        headers = {name: Signal(layout, name=f"{name}_header") for name, layout in HEADERS.items()}
        for name, causes in found.items():
            if causes:
                m.d.sync += violations[name].eq(Cat(causes).any())
        m.d.sync += [header.eq(beats[name].beat) for name, header in headers.items()]
        bits = violations.as_value()
        # The lowest that is set, in groups: the lowest of each, and which group is the first.
        groups = [bits[at : at + _GROUP] for at in range(0, len(bits), _GROUP)]
        some = Signal(len(groups))
        m.d.comb += some.eq(Cat(group.any() for group in groups))
        lowest = Signal(len(bits))
        m.d.comb += lowest.eq(
            Cat(
                group[n] & ~group[:n].any() & ~some[:number].any()
                for number, group in enumerate(groups)
                for n in range(len(group))
            )
        )
        width = len(first.rule)
        number = Cat(Cat(lowest[n] for n in range(len(bits)) if n >> place & 1).any() for place in range(width))
        with m.If(some.any() & (~first.valid | self.clear)):
            m.d.sync += [first.valid.eq(1), first.rule.eq(number)]
            m.d.sync += [first[name].eq(header) for name, header in headers.items()]
        with m.Elif(self.clear):
            m.d.sync += first.valid.eq(0)


def _connect(m, inner, outer, signature):
    m.d.comb += [one.eq(other) for one, other in zip(leaves(inner, signature), leaves(outer, signature))]
