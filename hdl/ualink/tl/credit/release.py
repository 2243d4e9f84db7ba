"""Credits that the receiver gives to the partner (UALink_200 §5.1.1, §5.8)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits, TLConfig
from ualink.tl.format.fields import CREDIT_CLASSES, FLOW_CONTROL
from ualink.tl.internal import CREDIT_RELEASE_LAYOUT

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

    FC fields of one cycle never name a bucket of a class twice, so any of them may share a half-flit, and a class that
    returns nothing is all zero in a field (ruling D23). Each class offers its waiting buckets round robin: the first
    that did not leave comes first in the next cycle. A buffer freed in one cycle is offered in the next.

    Credits may be kept waiting so that they leave many in a field, until ``urgent``. It rises at once for a bucket in
    which a quarter of all its credits waits, so that a partner with few of them never runs out for the sake of fuller
    fields. While ``urgent``, whatever waits leaves with the fifth FC field at the latest, or the sixth and so on where
    a bucket has more waiting than one field holds.

    In Shared Data Buffer mode a buffer of the joint Pool returns as the class of the transaction that had it, whichever
    class it was announced as (ruling D15).

    Attributes
    ----------
    enable : credits may leave.
    release : buffers freed; those of buckets that ``config`` does not give are ignored.
    fields, valid : FC fields that have something to return; the first ones are filled first.
    urgent : level, with ``valid[0]``: a credit is still to be announced, or has been offered in
        ``config.credit_return_delay`` cycles, or what waits in a bucket fills a field or is a quarter of its total.
    take : fields that leave in this cycle.
    complete : all credits of the initial release have left and Initial Credit Release Complete has not.
    complete_taken : it leaves in this cycle.
    init_sent : it has left; 0 after reset.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        # Of each bucket that may be given: the credits that wait, and beside them out of registers whether they are as
        # many as ``least`` says: any, more than a field holds, so many that they are urgent.
        self.pending: dict[tuple[str, int], data.View] = {}
        self.least: dict[tuple[str, int], dict[str, int]] = {}
        waits, presses = False, False
        for credit_class in CREDIT_CLASSES:
            credits: Credits = getattr(config, credit_class)
            for bucket, (count, total) in enumerate(zip((credits.pool, *credits.vc), self._totals(credit_class))):
                if total:
                    self._make_bucket(credit_class, bucket, count, total)
                    waits |= count > 0
                    presses |= count >= self.least[credit_class, bucket]["full"]
        # Beside them, whether any bucket waits, and whether any is full or its oldest credit overdue.
        self.waits = Signal(init=waits)
        self.presses = Signal(init=presses)
        super().__init__(
            {
                "enable": In(1),
                "release": In(CREDIT_RELEASE_LAYOUT),
                "fields": Out(FLOW_CONTROL).array(FC_FIELDS),
                "valid": Out(FC_FIELDS),
                "urgent": Out(1),
                "take": In(FC_FIELDS),
                "complete": Out(1),
                "complete_taken": In(1),
                "init_sent": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Whether any bucket will wait or press, and in which fields those are that will unless the field leaves.
        waiting, pressing = Const(0, FC_FIELDS), Const(0, FC_FIELDS)
        waits, presses = Const(0), Const(0)
        for credit_class in CREDIT_CLASSES:
            class_waiting, class_pressing, class_waits, class_presses = self._return_class(m, credit_class)
            waiting |= class_waiting
            pressing |= class_pressing
            waits |= class_waits
            presses |= class_presses
        m.d.sync += [
            self.waits.eq(waits | (waiting & ~self.take).any()),
            self.presses.eq(presses | (pressing & ~self.take).any()),
        ]
        m.d.comb += [
            self.valid.eq(Cat(self.waits, waiting[1:]) & self.enable.replicate(FC_FIELDS)),
            self.complete.eq(self.enable & ~self.init_sent & ~self.waits),
            self.urgent.eq(self.enable & (self.presses | (self.waits & ~self.init_sent))),
        ]
        with m.If(self.complete_taken):
            m.d.sync += self.init_sent.eq(1)
        return m

    def _totals(self, credit_class):
        """Credits that may wait in each bucket at once, Pool first."""
        credits = getattr(self.config, credit_class)
        if self.config.shared_data_buffer and credit_class.endswith("data"):
            return (self.config.req_data.pool + self.config.rsp_data.pool, *credits.vc)
        return (credits.pool, *credits.vc)

    def _make_bucket(self, credit_class, bucket, announced, total):
        most = _most(credit_class)
        least = {"waits": 1, "over": most + 1, "full": min(most, -(-total // 4))}
        self.least[credit_class, bucket] = least
        self.pending[credit_class, bucket] = Signal(
            data.StructLayout({"count": range(total + 1), **dict.fromkeys(least, 1)}),
            init={"count": announced, **{name: announced >= count for name, count in least.items()}},
            name=f"{credit_class}_{bucket}",
        )

    def _return_class(self, m, credit_class):
        """Fill one class of the FC fields from its buckets. What is taken is known late; so return in which fields it
        is, in which of them it will be full or overdue if they stay, and whether any of it will wait, and be full or
        overdue, whatever leaves."""
        buckets = [bucket for kind, bucket in self.pending if kind == credit_class]
        pending = [self.pending[credit_class, b] for b in buckets]
        most = _most(credit_class)
        amounts = [Mux(bucket.over, most, bucket.count) for bucket in pending]
        # Buckets above the one that was served last come before the others.
        above = Signal(len(buckets), name=f"{credit_class}_above")
        chosen = self._choose(m, [bucket.waits for bucket in pending], above, credit_class)

        for n, (field, choice) in enumerate(zip(self.fields, chosen)):
            for i, b in enumerate(buckets):
                with m.If(choice[i]):
                    m.d.comb += [
                        field[credit_class].count.eq(amounts[i]),
                        field[credit_class].is_vc.eq(b > 0),
                        field[credit_class].vc.eq(max(b - 1, 0)),
                    ]
                    # A field that was passed over is not forgotten: the turn ends before it.
                    with m.If(self.take[: n + 1].all()):
                        m.d.sync += above.eq((-1 << (i + 1)) & ((1 << len(buckets)) - 1))

        waits, presses, pressing = Const(0), Const(0), [Const(0)] * len(chosen)
        for i, b in enumerate(buckets):
            taken = Const(0)
            for n, choice in enumerate(chosen):
                taken |= choice[i] & self.take[n]
            freed = sum(
                (self._freed(self.release[name], b) for name in RELEASES_OF_CLASS[credit_class]), start=Const(0)
            )
            bucket, least = pending[i], self.least[credit_class, b]
            stay, rest = (Signal(len(bucket.count) + 1, name=f"{credit_class}_{b}_{name}") for name in ("stay", "rest"))
            m.d.comb += [
                stay.eq(bucket.count + freed),
                rest.eq(Mux(bucket.over, bucket.count - most, 0) + freed),
            ]
            full = [number >= least["full"] for number in (rest, stay)]
            m.d.sync += [
                bucket.count.eq(Mux(taken, rest, stay)),
                bucket.waits.eq((freed != 0) | Mux(taken, bucket.over, bucket.waits)),
                bucket.over.eq(Mux(taken, rest >= least["over"], stay >= least["over"])),
                bucket.full.eq(Mux(taken, *full)),
            ]
            aged = self._aged(m, ~bucket.waits | (taken & ~bucket.over), f"{credit_class}_{b}_age")
            if_taken, if_not = full[0] | (bucket.over & aged), Signal(name=f"{credit_class}_{b}_will_press")
            m.d.comb += if_not.eq(full[1] | (bucket.waits & aged))
            waits |= (freed != 0) | bucket.over
            presses |= if_taken | (if_not & ~Cat(choice[i] for choice in chosen).any())
            pressing = [some | (choice[i] & if_not) for some, choice in zip(pressing, chosen)]
        return Cat(choice.any() for choice in chosen), Cat(pressing), waits, presses

    def _aged(self, m, emptied, name):
        """Whether the oldest credit of a bucket, if it stays, will have been offered for ``credit_return_delay``
        cycles."""
        delay = self.config.credit_return_delay
        age = Signal(range(delay), name=name)
        with m.If(emptied):
            m.d.sync += age.eq(0)
        with m.Elif(age < delay - 1):
            m.d.sync += age.eq(age + 1)
        return age >= delay - 1

    def _choose(self, m, waits, above, credit_class):
        """For each FC field one bucket or none, one-hot, in round robin order."""
        later = Signal(len(waits), name=f"{credit_class}_later")
        earlier = Signal(len(waits), name=f"{credit_class}_earlier")
        for i, one in enumerate(waits):
            m.d.comb += [later[i].eq(one & above[i]), earlier[i].eq(one & ~above[i])]
        chosen = []
        for n in range(min(FC_FIELDS, len(waits))):
            choice = Signal(len(waits), name=f"{credit_class}_choice_{n}")
            m.d.comb += choice.eq(Mux(later != 0, later & -later, earlier & -earlier))
            later, earlier = later & ~choice, earlier & ~choice
            chosen.append(choice)
        return chosen

    def _freed(self, release, bucket):
        matches = release.pool if bucket == 0 else ~release.pool & (release.vc == bucket - 1)
        return Mux(release.valid & matches, release.count, 0)


def _most(credit_class):
    """Credits of a class that one FC field returns."""
    return (1 << FLOW_CONTROL[credit_class].shape["count"].shape) - 1
