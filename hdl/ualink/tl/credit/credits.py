"""Credits that the partner has given to the transmitter (UALink_200 §5.8)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import LARGEST_TRANSFER, TLConfig
from ualink.tl.format.fields import CREDIT_CLASSES
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

__all__ = ["CreditClaimSignature", "TransmitCredits", "credit_counts_layout"]


class CreditClaimSignature(wiring.Signature):
    """One field's claim of a command credit and all its data credits, seen from the claimant.

    Attributes
    ----------
    valid : a field wants credits; ``vc`` and ``beats`` (data credits, 0 to 4) are its own.
    granted : the credits are there, all in one kind of bucket; the same cycle.
    pool : valid with ``granted``: they come from the Pool, otherwise from VC ``vc``; the field's POOL bit.
    take : the field takes them in this cycle; only with ``valid`` and ``granted``.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "vc": Out(2),
                "beats": Out(range(5)),
                "take": Out(1),
                "granted": In(1),
                "pool": In(1),
            }
        )


def credit_counts_layout(config: TLConfig) -> data.StructLayout:
    """The twenty counters: for each class ``pool`` and ``vc[4]``; ``req_data.pool`` has room for a shared Pool."""

    def buckets(credit_class):
        bits = config.cmd_counter_bits if credit_class.endswith("cmd") else config.data_counter_bits
        pool_bits = bits + 1 if credit_class == "req_data" else bits
        return data.StructLayout({"pool": pool_bits, "vc": data.ArrayLayout(bits, 4)})

    return data.StructLayout({credit_class: buckets(credit_class) for credit_class in CREDIT_CLASSES})


class TransmitCredits(wiring.Component):
    """The twenty credit counters of one direction, with one claim of each kind per cycle.

    A claim prefers the Pool and falls back on its VC; command and data credits always come from the same kind of
    bucket. Credits received in one cycle can be claimed in the next.

    When the partner is in Shared Data Buffer mode both data classes share the Pool counter ``req_data.pool`` (ruling
    D15). If Requests could take all of it, and the partner held them until its own were answered, no Response could
    move (UALink_200 §10.4). So a Request leaves a largest transfer to Responses, and what a Response wants in the same
    cycle. A joint Pool of less than two largest transfers leaves Responses what is above one.

    Attributes
    ----------
    update : received credit returns.
    peer_init_done, peer_shared_data : as in ``ReceiveStatusSignature``; an update of the cycle in which
        ``peer_init_done`` rises still belongs to the initial release.
    enable : claims may be granted; they are not before ``peer_init_done`` in any case.
    request, response : claims of a Request, and of a Read or Write Response.
    counts : credits in hand, all 0 after reset.
    announced : credits of the initial release, of which ``counts`` are in hand; all 0 after reset.
    protocol_error : sticky, more credits were returned than were given at the start, or than the counter holds.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "update": In(CREDIT_UPDATE_LAYOUT),
                "peer_init_done": In(1),
                "peer_shared_data": In(1),
                "enable": In(1),
                "request": In(CreditClaimSignature()),
                "response": In(CreditClaimSignature()),
                "counts": Out(credit_counts_layout(config)),
                "announced": Out(credit_counts_layout(config)),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        counts = self.counts
        totals = self.announced
        init_done = Signal()
        shared = Signal()
        m.d.sync += [init_done.eq(self.peer_init_done), shared.eq(self.peer_init_done & self.peer_shared_data)]

        joint = totals.req_data.pool
        kept, wanted, reserved = Signal(range(5)), Signal(range(5)), Signal(range(5))
        with m.If(joint >= 2 * LARGEST_TRANSFER):
            m.d.comb += kept.eq(LARGEST_TRANSFER)
        with m.Elif(joint > LARGEST_TRANSFER):
            m.d.comb += kept.eq(joint - LARGEST_TRANSFER)
        m.d.comb += [
            wanted.eq(Mux(self.response.valid, self.response.beats, 0)),
            reserved.eq(Mux(wanted > kept, wanted, kept)),
        ]
        self._grant(m, self.response, counts.rsp_cmd, counts.rsp_data, init_done, shared, 0)
        self._grant(m, self.request, counts.req_cmd, counts.req_data, init_done, shared, reserved)

        for credit_class in CREDIT_CLASSES:
            claim = self.request if credit_class.startswith("req") else self.response
            is_data = credit_class.endswith("data")
            count, total, update = counts[credit_class], totals[credit_class], self.update[credit_class]
            amount = claim.beats if is_data else 1
            for vc in range(4):
                returned = Mux(self.update.valid, update.vc[vc], 0)
                spent = Mux(claim.take & ~claim.pool & (claim.vc == vc), amount, 0)
                given = Mux(init_done, 0, returned)
                self._count(m, count.vc[vc], total.vc[vc], gained=returned, lost=spent, given=given)
            if not is_data:
                returned = Mux(self.update.valid, update.pool, 0)
                spent = claim.take & claim.pool
                given = Mux(init_done, 0, returned)
                self._count(m, count.pool, total.pool, gained=returned, lost=spent, given=given)
        self._count_data_pools(m, totals, init_done, shared)
        return m

    def _grant(self, m, claim, cmd, beats, init_done, shared, reserved):
        """Decide ``claim``, which leaves ``reserved`` credits in a shared Pool."""
        pool_beats = Signal.like(self.counts.req_data.pool)
        pool_ok = Signal()
        vc_ok = Signal()
        m.d.comb += [
            pool_beats.eq(Mux(shared, self.counts.req_data.pool, beats.pool)),
            pool_ok.eq((cmd.pool != 0) & ((claim.beats == 0) | (pool_beats >= claim.beats + Mux(shared, reserved, 0)))),
            vc_ok.eq((cmd.vc[claim.vc] != 0) & (beats.vc[claim.vc] >= claim.beats)),
            claim.granted.eq(self.enable & init_done & (pool_ok | vc_ok)),
            claim.pool.eq(pool_ok),
        ]

    def _count(self, m, count, total, *, gained, lost, given, lost_total=0):
        """Count a bucket and its total: what the initial release gave, which the count may never exceed."""
        following = Signal(len(count) + 2)
        following_total = Signal(len(count) + 2)
        m.d.comb += [following.eq(count + gained - lost), following_total.eq(total + given - lost_total)]
        m.d.sync += [count.eq(following), total.eq(following_total)]
        with m.If((following > following_total) | (following_total >= 1 << len(count))):
            m.d.sync += self.protocol_error.eq(1)

    def _count_data_pools(self, m, totals, init_done, shared):
        """Count the Pool buckets of both data classes; while ``shared``, that of RspData empties itself into
        ReqData's."""
        req, req_total = self.counts.req_data.pool, totals.req_data.pool
        rsp, rsp_total = self.counts.rsp_data.pool, totals.rsp_data.pool
        req_spent = Mux(self.request.take & self.request.pool, self.request.beats, 0)
        rsp_spent = Mux(self.response.take & self.response.pool, self.response.beats, 0)
        req_returned = Mux(self.update.valid, self.update.req_data.pool, 0)
        rsp_returned = Mux(self.update.valid, self.update.rsp_data.pool, 0)
        self._count(
            m,
            req,
            req_total,
            gained=req_returned + Mux(shared, rsp + rsp_returned, 0),
            lost=req_spent + Mux(shared, rsp_spent, 0),
            given=Mux(init_done, 0, req_returned) + Mux(shared, rsp_total, 0),
        )
        self._count(
            m,
            rsp,
            rsp_total,
            gained=Mux(shared, 0, rsp_returned),
            lost=Mux(shared, rsp, rsp_spent),
            given=Mux(init_done, 0, rsp_returned),
            lost_total=Mux(shared, rsp_total, 0),
        )
