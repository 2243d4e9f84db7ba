"""Credits that the receiver gives to the partner (UALink_200 §5.1.1, §5.8)."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig

from .fields import CREDIT_CLASSES, FLOW_CONTROL
from .internal import CREDIT_RELEASE_LAYOUT

__all__ = ["FC_FIELDS", "CreditRelease"]

FC_FIELDS = 5
"""Useful FC fields of one half-flit: one for each bucket."""

RELEASES_OF_CLASS = {
    "req_cmd": ("req_cmd",),
    "rsp_cmd": ("rd_rsp_cmd", "wr_rsp_cmd"),
    "req_data": ("req_data",),
    "rsp_data": ("rsp_data",),
}


class CreditRelease(wiring.Component):
    """Announces the receive buffers of ``config`` after reset and returns each of them when it becomes free again.

    FC fields of one cycle never name a bucket of a class twice, so any of them may share a half-flit. Each class offers
    its waiting buckets round robin. A buffer freed in one cycle is offered in the next.

    Attributes
    ----------
    enable : credits may leave.
    release : buffers freed; those of buckets that ``config`` does not give are ignored.
    fields, valid : FC fields that have something to return; the first ones are filled first.
    take : fields that leave in this cycle.
    complete : all credits of the initial release have left and Initial Credit Release Complete has not.
    complete_taken : it leaves in this cycle.
    init_sent : it has left; 0 after reset.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "release": In(CREDIT_RELEASE_LAYOUT),
                "fields": Out(FLOW_CONTROL).array(FC_FIELDS),
                "valid": Out(FC_FIELDS),
                "take": In(FC_FIELDS),
                "complete": Out(1),
                "complete_taken": In(1),
                "init_sent": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        waiting = Const(0)
        for credit_class in CREDIT_CLASSES:
            waiting |= self._return_class(m, credit_class)
        for n, field in enumerate(self.fields):
            m.d.comb += self.valid[n].eq(self.enable & (field.as_value() != 0))
        m.d.comb += self.complete.eq(self.enable & ~self.init_sent & ~waiting)
        with m.If(self.complete_taken):
            m.d.sync += self.init_sent.eq(1)
        return m

    def _return_class(self, m, credit_class):
        """Fill one class of the FC fields from its buckets; return whether any bucket waits."""
        credits = getattr(self.config, credit_class)
        buckets = [n for n, total in enumerate((credits.pool, *credits.vc)) if total]
        totals = (credits.pool, *credits.vc)
        most = (1 << FLOW_CONTROL[credit_class].shape["count"].shape) - 1

        pending = [Signal(range(totals[b] + 1), init=totals[b], name=f"{credit_class}_{b}") for b in buckets]
        amounts = [Mux(count > most, most, count) for count in pending]
        # Buckets above the one that was served last come before the others.
        above = Signal(len(buckets), name=f"{credit_class}_above")
        chosen = self._choose(m, pending, above, credit_class)

        for n, (field, choice) in enumerate(zip(self.fields, chosen)):
            for i, b in enumerate(buckets):
                with m.If(choice[i]):
                    m.d.comb += [
                        field[credit_class].count.eq(amounts[i]),
                        field[credit_class].is_vc.eq(b > 0),
                        field[credit_class].vc.eq(max(b - 1, 0)),
                    ]
                    with m.If(self.take[n]):
                        m.d.sync += above.eq((-1 << (i + 1)) & ((1 << len(buckets)) - 1))

        for i, b in enumerate(buckets):
            taken = Const(0)
            for n, choice in enumerate(chosen):
                taken |= choice[i] & self.take[n]
            freed = sum(
                (self._freed(self.release[name], b) for name in RELEASES_OF_CLASS[credit_class]), start=Const(0)
            )
            m.d.sync += pending[i].eq(pending[i] + freed - Mux(taken, amounts[i], 0))
        return _any(pending)

    def _choose(self, m, pending, above, credit_class):
        """For each FC field one bucket or none, one-hot, in round robin order."""
        later = Signal(len(pending), name=f"{credit_class}_later")
        earlier = Signal(len(pending), name=f"{credit_class}_earlier")
        for i, count in enumerate(pending):
            m.d.comb += [later[i].eq((count != 0) & above[i]), earlier[i].eq((count != 0) & ~above[i])]
        chosen = []
        for n in range(min(FC_FIELDS, len(pending))):
            choice = Signal(len(pending), name=f"{credit_class}_choice_{n}")
            m.d.comb += choice.eq(Mux(later != 0, later & -later, earlier & -earlier))
            later, earlier = later & ~choice, earlier & ~choice
            chosen.append(choice)
        return chosen

    def _freed(self, release, bucket):
        matches = release.pool if bucket == 0 else ~release.pool & (release.vc == bucket - 1)
        return Mux(release.valid & matches, release.count, 0)


def _any(counts):
    waiting = Const(0)
    for count in counts:
        waiting |= count != 0
    return waiting
