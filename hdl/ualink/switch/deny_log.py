"""What a port dropped because of Deny, for the management to log (UALink_200 §10.7, ruling C-01)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer

__all__ = ["COUNTER_BITS", "DenialSignature", "DeniedKind", "DenyLog", "DenyStatusSignature"]

COUNTER_BITS = 16
"""Width of the counters of a switch."""


class DeniedKind(enum.Enum, shape=2):
    """Kind of a denied item."""

    REQUEST = 0
    READ_RESPONSE = 1
    WRITE_RESPONSE = 2


class DenialSignature(wiring.Signature):
    """One dropped item, seen from the ingress that dropped it.

    Attributes
    ----------
    valid : one item was dropped in this cycle; it counts once, whatever the number of its beats.
    src_phys_acc_id, dst_phys_acc_id : 10 bit each, its IDs.
    """

    def __init__(self):
        super().__init__({"valid": Out(1), "src_phys_acc_id": Out(10), "dst_phys_acc_id": Out(10)})


class DenyStatusSignature(wiring.Signature):
    """What the management reads and clears, seen from the log.

    Attributes
    ----------
    count : ``counter_bits``, items dropped since reset or ``clear``; stays at its largest value. Interrupt if not 0.
    src_phys_acc_id, dst_phys_acc_id, kind : the last of them; they mean something when ``count`` is not 0.
    clear : forget all; an item dropped in the same cycle is the first of the new count.
    """

    def __init__(self, counter_bits: int):
        super().__init__(
            {
                "count": Out(counter_bits),
                "src_phys_acc_id": Out(10),
                "dst_phys_acc_id": Out(10),
                "kind": Out(DeniedKind),
                "clear": In(1),
            }
        )


class DenyLog(wiring.Component):
    """Deny log of one ingress port: one cycle from ``denied`` to ``status``.

    Of several items dropped in one cycle all are counted; the last in the order of ``DeniedKind`` is shown.

    Parameters
    ----------
    counter_bits : int, 2 or more.

    Attributes
    ----------
    denied : dropped items, indexed by ``DeniedKind``.
    status : count 0 after reset.
    """

    def __init__(self, counter_bits: int = COUNTER_BITS):
        check_integer("deny_log.counter_bits", counter_bits, 2)
        self.counter_bits = counter_bits
        super().__init__(
            {
                "denied": In(DenialSignature()).array(len(DeniedKind)),
                "status": Out(DenyStatusSignature(counter_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        status = self.status
        most = (1 << self.counter_bits) - 1
        total = Signal(self.counter_bits + 1)
        m.d.comb += total.eq(Mux(status.clear, 0, status.count) + sum(denied.valid for denied in self.denied))
        m.d.sync += status.count.eq(Mux(total > most, most, total))
        for kind, denied in enumerate(self.denied):
            with m.If(denied.valid):
                m.d.sync += [
                    status.src_phys_acc_id.eq(denied.src_phys_acc_id),
                    status.dst_phys_acc_id.eq(denied.dst_phys_acc_id),
                    status.kind.eq(kind),
                ]
        return m
