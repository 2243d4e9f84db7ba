"""Credits that the partner has given to the transmitter (UALink_200 §5.8)."""

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import LARGEST_TRANSFER, TLConfig
from ualink.lib.select import select_one
from ualink.lib.sums import total
from ualink.tl.format.fields import CREDIT_CLASSES
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

__all__ = [
    "CreditClaimSignature",
    "TransmitCredits",
    "credit_counts_layout",
    "gross_layout",
    "left_to_responses",
]


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


def gross_layout(config):
    """The counters with two bits more each, for what a partner gives too much."""

    def wider(bucket):
        if isinstance(bucket, data.StructLayout):
            return data.StructLayout({name: wider(field.shape) for name, field in bucket})
        return (
            data.ArrayLayout(wider(bucket.elem_shape), bucket.length)
            if isinstance(bucket, data.ArrayLayout)
            else bucket + 2
        )

    return wider(credit_counts_layout(config))


def _spent_layout(credit_class):
    most = LARGEST_TRANSFER if credit_class.endswith("data") else 1
    # Of a joint Pool Requests and Responses claim in one cycle.
    pool = 2 * most if credit_class == "req_data" else most
    return data.StructLayout({"pool": pool, "vc": data.ArrayLayout(most, 4)})


_SPENT_LAYOUT = data.StructLayout({credit_class: _spent_layout(credit_class) for credit_class in CREDIT_CLASSES})


def _less_layout(credit_class):
    spent = _spent_layout(credit_class)
    pool, each = (
        signed(Shape.cast(shape).width.bit_length() + 1)
        for shape in (spent["pool"].shape, spent["vc"].shape.elem_shape)
    )
    return data.StructLayout({"pool": pool, "vc": data.ArrayLayout(each, 4)})


_LESS_LAYOUT = data.StructLayout({credit_class: _less_layout(credit_class) for credit_class in CREDIT_CLASSES})


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
    announced : credits of the initial release, of which some are in hand; all 0 after reset.
    protocol_error : sticky, more credits were returned than were given at the start, or than the counter holds; 2
        cycles after the counts.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        # The initial release is over; both data Pools are one; the first cycle of that.
        self.init_done, self.shared, self.merges = (Signal(name=name) for name in ("init_done", "shared", "merges"))
        # Credits in hand, all 0 after reset; and with those that were claimed in the cycle before: bit n of ``spent``
        # for n + 1 of them, and ``less`` is minus these.
        self.counts = Signal(credit_counts_layout(config))
        self.gross, self.spent = Signal(gross_layout(config), name="gross"), Signal(_SPENT_LAYOUT, name="spent")
        self.less = Signal(_LESS_LAYOUT)
        # Bit n: the bucket has n + 1 credits or more; true whenever it is set.
        self.at_least = Signal(_FLAGS_LAYOUT)
        # What Requests leave of a joint Pool to Responses.
        self.kept = Signal(range(LARGEST_TRANSFER + 1))
        # A bit for each bucket: its count is more than was announced; the same, one cycle later.
        self.exceeds, self.excess = Signal(_EACH_LAYOUT, name="exceeds"), Signal(_EACH_LAYOUT, name="excess")
        super().__init__(
            {
                "update": In(CREDIT_UPDATE_LAYOUT),
                "peer_init_done": In(1),
                "peer_shared_data": In(1),
                "enable": In(1),
                "request": In(CreditClaimSignature()),
                "read": In(CreditClaimSignature()),
                "write": In(CreditClaimSignature()),
                "announced": Out(credit_counts_layout(config)),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        totals = self.announced
        init_done, shared = self.init_done, self.shared
        will_share = self.peer_init_done & self.peer_shared_data
        m.d.sync += [init_done.eq(self.peer_init_done), shared.eq(will_share), self.merges.eq(will_share & ~shared)]
        m.d.sync += self.kept.eq(left_to_responses(totals.req_data.pool))

        for name, kind in (("request", "req"), ("read", "rsp"), ("write", "rsp")):
            self._grant(m, name, kind, init_done, shared)
        for credit_class in CREDIT_CLASSES:
            is_data = credit_class.endswith("data")
            claims = (
                [self.request] if credit_class.startswith("req") else [self.read, *([] if is_data else [self.write])]
            )
            amount = claims[0].beats if is_data else Const(1)
            for vc in range(4):
                taken = _any(claim.take & ~claim.pool & (claim.vc == vc) for claim in claims)
                self._count_bucket(m, credit_class, vc, taken, amount)
            if not is_data:
                taken = _any(claim.take & claim.pool for claim in claims)
                self._count_bucket(m, credit_class, None, taken, amount)
        self._count_data_pools(m, totals, shared)
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
        vc_ok = Signal(4, name=f"{name}_vc_ok")
        # A Write Response has no data.
        amount = Const(1, 1) if name == "write" else _exactly(m, claim.beats)
        m.d.comb += [
            pool_enough.eq(_holds(beats.pool, amount)),
            joint_enough.eq(_holds(joint, amount)),
            pool_ok.eq(cmd.pool[0] & Mux(shared, joint_enough, pool_enough)),
            vc_ok.eq(Cat((claim.vc == vc) & cmd.vc[vc][0] & _holds(beats.vc[vc], amount) for vc in range(4))),
            claim.granted.eq(self.enable & init_done & (pool_ok | vc_ok.any())),
            claim.pool.eq(pool_ok),
        ]
        if kind == "req":
            # What is left to Responses, and whether one is claiming, which comes late.
            left, wanted = (_without(m, joint, _exactly(m, amount)) for amount in (self.kept, self.read.beats))
            enough, enough_for_both = _holds(left, amount), _holds(wanted, amount)
            m.d.comb += joint_enough.eq(amount[0] | (enough & (~self.read.valid | enough_for_both)))

    def _count_bucket(self, m, credit_class, vc, taken, amount):
        """Count the bucket of a VC or of the Pool; ``taken``, which comes late, when ``amount`` is claimed of it."""

        def of(layout):
            return layout[credit_class].pool if vc is None else layout[credit_class].vc[vc]

        spent = of(self.spent)
        m.d.sync += [spent.eq(_spent(taken, amount, len(spent))), of(self.less).eq(Mux(taken, -amount, 0))]
        # What is certain of it in the next cycle, for both answers, each in one step from the count.
        held, before = _thermometer(m, of(self.gross), 3 * len(spent)), _or_none(m, spent)
        if_taken = _without(m, held, _together(m, before, _exactly(m, amount)))
        exceeds = self._count(m, of, before, [of(self.update)], announced=of(self.update))
        m.d.sync += of(self.at_least).eq(Mux(taken, if_taken, _without(m, held, before)))
        if vc is None:
            m.d.comb += self.exceeds[credit_class].pool.eq(exceeds)
        else:
            m.d.comb += self.exceeds[credit_class].vc[vc].eq(exceeds)

    def _count(self, m, of, spent, returned, *, announced, merges=0, merged=0, merged_total=0, emptied=0):
        """Count a bucket and its total: what the initial release gave, which the count may never exceed. Gives whether
        it does, in the cycle after.

        ``of`` gives the bucket in a layout; ``spent``, one-hot, is what was claimed of it in the cycle before;
        ``returned`` are the terms of what an update returns to it; ``announced`` is what one of the initial release
        does. That there is one is known late. In the cycle of ``merges`` the bucket gets ``merged`` and its total
        ``merged_total``: the initial release is over then, and nothing has been claimed yet. What is claimed leaves
        ``gross`` a cycle later, so that nothing of this waits for claims.
        """
        count, announced_yet, gross = of(self.counts), of(self.announced), of(self.gross)
        net, less, total_over = Signal(len(gross)), Signal(len(gross)), Signal(2)
        gains, gives = self.update.valid, self.update.valid & ~self.init_done
        amount = select_one(spent, range(len(spent)))
        m.d.comb += [net.eq(gross - amount), count.eq(net), less.eq(of(self.less))]
        change = Mux(merges, merged, less)
        following = Mux(gains, total(m, [gross, *returned, change], len(gross), "more"), gross + change)
        following_total = Mux(gives, announced_yet + announced, announced_yet + Mux(merges, merged_total, 0))
        m.d.sync += [
            gross.eq(Mux(emptied, 0, following)),
            Cat(announced_yet, total_over).eq(Mux(emptied, 0, following_total)),
        ]
        # In one sum: of what was announced, what is not left in ``gross`` nor has just been claimed.
        out = Cat(announced_yet, total_over) + amount - gross
        return (out < 0) | total_over.any()

    def _count_data_pools(self, m, totals, shared):
        """Count the Pool buckets of both data classes; while ``shared``, that of RspData empties itself into
        ReqData's."""
        req_taken, rsp_taken = (claim.take & claim.pool for claim in (self.request, self.read))
        req_beats, rsp_beats = self.request.beats, self.read.beats
        req_spent, rsp_spent = self.spent.req_data.pool, self.spent.rsp_data.pool
        # What is certain of them in the next cycle, without the credits that come in this one: for each answer to who
        # takes of them, which comes late.
        flags = self.at_least.req_data.pool
        holds = _thermometer(m, self.gross.req_data.pool, len(flags) + 4 * LARGEST_TRANSFER)
        holds = _without(m, holds, _or_none(m, req_spent))
        req_amount, rsp_amount = (_exactly(m, beats) for beats in (req_beats, rsp_beats))
        less_req, less_rsp = (_without(m, holds, amount) for amount in (req_amount, rsp_amount))
        both_amount = _together(m, req_amount, rsp_amount)
        less_both = _without(m, holds, both_amount)
        joint = rsp_taken & shared
        claimed = Mux(req_taken, Mux(joint, both_amount, req_amount), Mux(joint, rsp_amount, 0))
        m.d.sync += [
            req_spent.eq(claimed[1:]),
            rsp_spent.eq(_spent(rsp_taken & ~shared, rsp_beats, LARGEST_TRANSFER)),
            self.less.req_data.pool.eq(
                Mux(req_taken, Mux(joint, -(req_beats + rsp_beats), -req_beats), Mux(joint, -rsp_beats, 0))
            ),
            self.less.rsp_data.pool.eq(Mux(rsp_taken & ~shared, -rsp_beats, 0)),
        ]
        m.d.sync += flags.eq(Mux(req_taken, Mux(joint, less_both, less_req), Mux(joint, less_rsp, holds)))
        holds = _thermometer(m, self.gross.rsp_data.pool, 3 * LARGEST_TRANSFER)
        holds = _without(m, holds & ~shared.replicate(len(holds)), _or_none(m, rsp_spent))
        less = _without(m, holds, _exactly(m, rsp_beats))
        m.d.sync += self.at_least.rsp_data.pool.eq(Mux(rsp_taken, less, holds))

        # No credit of RspData is claimed before it has been emptied.
        update, in_rsp, rsp_total = self.update, self.gross.rsp_data.pool, totals.rsp_data.pool
        req_exceeds = self._count(
            m,
            lambda layout: layout.req_data.pool,
            _or_none(m, req_spent),
            [update.req_data.pool, Mux(shared, update.rsp_data.pool, 0)],
            announced=update.req_data.pool,
            merges=self.merges,
            merged=in_rsp,
            merged_total=rsp_total,
        )
        rsp_exceeds = self._count(
            m,
            lambda layout: layout.rsp_data.pool,
            _or_none(m, rsp_spent),
            [update.rsp_data.pool],
            announced=update.rsp_data.pool,
            emptied=shared,
        )
        m.d.comb += [self.exceeds.req_data.pool.eq(req_exceeds), self.exceeds.rsp_data.pool.eq(rsp_exceeds)]


def left_to_responses(joint):
    """What Requests leave of a joint Pool of ``joint`` to Responses."""
    above = Mux(joint > LARGEST_TRANSFER, (joint - LARGEST_TRANSFER)[:3], 0)
    return Mux(joint >= 2 * LARGEST_TRANSFER, LARGEST_TRANSFER, above)


def _exactly(m, amount):
    """One-hot: ``amount``, 0 to 4."""
    exactly = Signal(min(1 << len(amount), LARGEST_TRANSFER + 1))
    m.d.comb += exactly.eq(Cat(amount == n for n in range(len(exactly))))
    return exactly


def _spent(taken, amount, most):
    """One-hot for the next cycle: nothing, or 1 to ``most`` credits claimed."""
    return Cat(taken & (amount == n) for n in range(1, most + 1))


def _or_none(m, spent):
    """One-hot: 0, or what ``spent`` says."""
    number = Signal(len(spent) + 1)
    m.d.comb += number.eq(Cat(~spent.any(), spent))
    return number


def _thermometer(m, count, most):
    """Bit n: ``count`` is n + 1 or more."""
    bits = most.bit_length()
    at_least = Signal(most)
    # A bit of the count decides between what those below it say: one gate a bit.
    low = Signal(0)
    for bit in count[:bits]:
        below, low = low, Signal(min(2 * len(low) + 1, most))
        m.d.comb += low.eq(Cat(*(bit | one for one in below), bit, *(bit & one for one in below)))
    more = Signal()
    m.d.comb += [more.eq(count[bits:].any()), at_least.eq(low | more.replicate(most))]
    return at_least


def _together(m, one, other):
    """One-hot: the sum of two one-hot numbers."""
    total = Signal(len(one) + len(other) - 1)
    sums = [Const(0)] * len(total)
    for n, here in enumerate(one):
        for k, there in enumerate(other):
            sums[n + k] |= here & there
    m.d.comb += total.eq(Cat(sums))
    return total


def _without(m, at_least, amount):
    """What is left of a bucket with these flags, without ``amount``, one-hot; as many flags fewer as that may be."""
    left = Signal(len(at_least) - (len(amount) - 1))
    m.d.comb += left.eq(select_one(amount, [at_least[n : n + len(left)] for n in range(len(amount))]))
    return left


def _holds(at_least, amount):
    """Whether a bucket with these flags has ``amount``, one-hot."""
    return (amount & Cat(1, at_least)).any()


def _any(conditions):
    return Cat(conditions).any()
