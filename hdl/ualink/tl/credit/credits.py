"""Credits that the partner has given to the transmitter (UALink_200 §5.8)."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
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


def _flags_layout(credit_class):
    most = LARGEST_TRANSFER if credit_class.endswith("data") else 1
    # A Request and what it leaves to a Response.
    pool = 2 * most if credit_class == "req_data" else most
    return data.StructLayout({"pool": pool, "vc": data.ArrayLayout(most, 4)})


_FLAGS_LAYOUT = data.StructLayout({credit_class: _flags_layout(credit_class) for credit_class in CREDIT_CLASSES})


_EACH_LAYOUT = data.StructLayout({name: data.StructLayout({"pool": 1, "vc": 4}) for name in CREDIT_CLASSES})


class TransmitCredits(wiring.Component):
    """The twenty credit counters of one direction, with one claim of a Request and one of a Response per cycle.

    A claim prefers the Pool and falls back on its VC; command and data credits always come from the same kind of
    bucket. Credits received in one cycle are counted in the next and can be claimed one cycle later: a claim is decided
    by flags beside the counts, that a bucket has 1, 2, 3 or 4 credits or more, and leaves out what has just come.

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
    request, read, write : claims of a Request, of a Read Response and of a Write Response, which has no ``beats``. One
        of the Responses at most is ``valid`` in a cycle; what is granted to either does not wait for which it is.
    counts : credits in hand, all 0 after reset.
    announced : credits of the initial release, of which ``counts`` are in hand; all 0 after reset.
    protocol_error : sticky, more credits were returned than were given at the start, or than the counter holds; 2
        cycles after the counts.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        # The initial release is over; both data Pools are one.
        self.init_done, self.shared = Signal(), Signal()
        # Bit n: the bucket has n + 1 credits or more; true whenever it is set.
        self.at_least = Signal(_FLAGS_LAYOUT)
        # What Requests leave of a joint Pool to Responses.
        self.kept = Signal(range(LARGEST_TRANSFER + 1))
        # A bit for each bucket: its count is more than was announced; the same, one cycle later.
        self.exceeds, self.excess = Signal(_EACH_LAYOUT), Signal(_EACH_LAYOUT)
        super().__init__(
            {
                "update": In(CREDIT_UPDATE_LAYOUT),
                "peer_init_done": In(1),
                "peer_shared_data": In(1),
                "enable": In(1),
                "request": In(CreditClaimSignature()),
                "read": In(CreditClaimSignature()),
                "write": In(CreditClaimSignature()),
                "counts": Out(credit_counts_layout(config)),
                "announced": Out(credit_counts_layout(config)),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        counts, totals = self.counts, self.announced
        init_done, shared = self.init_done, self.shared
        m.d.sync += [init_done.eq(self.peer_init_done), shared.eq(self.peer_init_done & self.peer_shared_data)]
        m.d.sync += self.kept.eq(_kept(totals.req_data.pool))

        for name, kind in (("request", "req"), ("read", "rsp"), ("write", "rsp")):
            self._grant(m, name, kind, init_done, shared)
        for credit_class in CREDIT_CLASSES:
            is_data = credit_class.endswith("data")
            claims = (
                [self.request] if credit_class.startswith("req") else [self.read, *([] if is_data else [self.write])]
            )
            count, total, update = counts[credit_class], totals[credit_class], self.update[credit_class]
            at_least, exceeds = self.at_least[credit_class], self.exceeds[credit_class]
            amount = claims[0].beats if is_data else 1

            def bucket(count, total, at_least, returned, taken, amount=amount):
                gained = Mux(self.update.valid, returned, 0)
                given = Mux(init_done, 0, gained)
                self._follow(m, at_least, count, [(taken, amount)])
                return self._count(m, count, total, gained=gained, lost=[(taken, amount)], given=given)

            for vc in range(4):
                taken = _any(claim.take & ~claim.pool & (claim.vc == vc) for claim in claims)
                too_many = bucket(count.vc[vc], total.vc[vc], at_least.vc[vc], update.vc[vc], taken)
                m.d.comb += exceeds.vc[vc].eq(too_many)
            if not is_data:
                taken = _any(claim.take & claim.pool for claim in claims)
                too_many = bucket(count.pool, total.pool, at_least.pool, update.pool, taken)
                m.d.comb += exceeds.pool.eq(too_many)
        self._count_data_pools(m, totals, init_done, shared)
        m.d.sync += self.excess.eq(self.exceeds)
        with m.If(self.excess.as_value().any()):
            m.d.sync += self.protocol_error.eq(1)
        return m

    def _grant(self, m, name, kind, init_done, shared):
        """Decide the claim ``name``; a Request leaves credits in a shared Pool."""
        claim = getattr(self, name)
        cmd, beats = self.at_least[f"{kind}_cmd"], self.at_least[f"{kind}_data"]
        joint = self.at_least.req_data.pool
        pool_enough, joint_enough = Signal(name=f"{name}_pool_enough"), Signal(name=f"{name}_joint_enough")
        pool_ok = Signal(name=f"{name}_pool_ok")
        vc_ok = Signal(name=f"{name}_vc_ok")
        # A Write Response has no data.
        amount = 0 if name == "write" else claim.beats
        m.d.comb += [
            pool_enough.eq(_holds(beats.pool, amount)),
            joint_enough.eq(_holds(joint, amount)),
            pool_ok.eq(cmd.pool[0] & Mux(shared, joint_enough, pool_enough)),
            vc_ok.eq(cmd.vc[claim.vc][0] & Array(_holds(beats.vc[vc], amount) for vc in range(4))[claim.vc]),
            claim.granted.eq(self.enable & init_done & (pool_ok | vc_ok)),
            claim.pool.eq(pool_ok),
        ]
        if kind == "req":
            # What is left to Responses, for both answers to whether one is claiming; that comes late.
            left = [Signal(range(5), name=f"left_{n}") for n in range(2)]
            wanted = self.read.beats
            m.d.comb += [left[0].eq(self.kept), left[1].eq(Mux(wanted > self.kept, wanted, self.kept))]
            enough = [_holds(joint, claim.beats + amount) for amount in left]
            m.d.comb += joint_enough.eq((claim.beats == 0) | Mux(self.read.valid, enough[1], enough[0]))

    def _count(self, m, count, total, *, gained, lost, given, emptied=0):
        """Count a bucket and its total: what the initial release gave, which the count may never exceed. Gives whether
        it does, in the cycle after.

        ``lost`` are one or two pairs of a condition, which comes late, and an amount.
        """
        following = Signal(len(count) + 2)
        following_total = Signal(len(count) + 2)
        over, total_over = Signal(2), Signal(2)
        m.d.comb += [
            following.eq(Mux(emptied, 0, _chosen(lost, lambda amount: count + gained - amount))),
            following_total.eq(Mux(emptied, 0, total + given)),
        ]
        m.d.sync += [
            Cat(count, over).eq(following),
            Cat(total, total_over).eq(following_total),
        ]
        return (Cat(count, over) > Cat(total, total_over)) | total_over.any()

    def _follow(self, m, at_least, count, lost, emptied=0):
        """What is certain of a bucket in the next cycle, without the credits that come in this one."""
        holds = [Mux(emptied, 0, count >= n) for n in range(2 * len(at_least) + 1)]
        for n in range(1, len(at_least) + 1):
            m.d.sync += at_least[n - 1].eq(_chosen(lost, lambda amount, n=n: Array(holds[n:])[amount]))

    def _count_data_pools(self, m, totals, init_done, shared):
        """Count the Pool buckets of both data classes; while ``shared``, that of RspData empties itself into
        ReqData's."""
        req, req_total = self.counts.req_data.pool, totals.req_data.pool
        rsp, rsp_total = self.counts.rsp_data.pool, totals.rsp_data.pool
        req_taken, rsp_taken = (claim.take & claim.pool for claim in (self.request, self.read))
        req_returned = Mux(self.update.valid, self.update.req_data.pool, 0)
        rsp_returned = Mux(self.update.valid, self.update.rsp_data.pool, 0)
        from_req = [(req_taken, self.request.beats), (rsp_taken & shared, self.read.beats)]
        from_rsp = [(rsp_taken, self.read.beats)]
        self._follow(m, self.at_least.req_data.pool, req, from_req)
        self._follow(m, self.at_least.rsp_data.pool, rsp, from_rsp, shared)
        req_exceeds = self._count(
            m,
            req,
            req_total,
            gained=req_returned + Mux(shared, rsp + rsp_returned, 0),
            lost=from_req,
            given=Mux(init_done, 0, req_returned) + Mux(shared, rsp_total, 0),
        )
        rsp_exceeds = self._count(
            m,
            rsp,
            rsp_total,
            gained=rsp_returned,
            lost=from_rsp,
            given=Mux(init_done, 0, rsp_returned),
            emptied=shared,
        )
        m.d.comb += [self.exceeds.req_data.pool.eq(req_exceeds), self.exceeds.rsp_data.pool.eq(rsp_exceeds)]


def _kept(joint):
    """What Requests leave of a joint Pool of ``joint`` to Responses."""
    above = Mux(joint > LARGEST_TRANSFER, (joint - LARGEST_TRANSFER)[:3], 0)
    return Mux(joint >= 2 * LARGEST_TRANSFER, LARGEST_TRANSFER, above)


def _holds(at_least, amount):
    """Whether a bucket with these flags has ``amount``."""
    return Array([Const(1), *at_least])[amount]


def _any(conditions):
    return Cat(conditions).any()


def _chosen(lost, of):
    """``of`` of what is lost, with an ``of`` for each possible answer to the conditions, which come late."""
    if len(lost) == 1:
        [(taken, amount)] = lost
        return Mux(taken, of(amount), of(0))
    (first, one), (second, other) = lost
    return Mux(first, Mux(second, of(one + other), of(one)), Mux(second, of(other), of(0)))
