"""Credits that the partner has given to the transmitter, for slow clocks (UALink_200 §5.8)."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal

from ualink.config import TLConfig
from ualink.tl.format.fields import CREDIT_CLASSES

from .credits import TransmitCredits, gross_layout, left_to_responses

__all__ = ["LeanTransmitCredits", "transmit_credits"]


class LeanTransmitCredits(TransmitCredits):
    """``TransmitCredits``, cycle by cycle, out of counters alone: for clocks that leave time to compare and to add.

    Members are those of ``TransmitCredits``. Each bucket is counted twice: with the credits that came in the cycle
    before, and without them, which is what claims are compared with.
    """

    def __init__(self, config: TLConfig):
        super().__init__(config)
        self.held, self.free = Signal(gross_layout(config)), Signal(gross_layout(config))

    def elaborate(self, platform):
        m = Module()
        init_done, shared = self.init_done, self.shared
        m.d.sync += [init_done.eq(self.peer_init_done), shared.eq(self.peer_init_done & self.peer_shared_data)]
        m.d.sync += self.kept.eq(left_to_responses(self.announced.req_data.pool))
        for name, kind in (("request", "req"), ("read", "rsp"), ("write", "rsp")):
            self._decide(m, name, kind)
        for credit_class in CREDIT_CLASSES:
            is_data = credit_class.endswith("data")
            claims = [self.request] if credit_class.startswith("req") else [self.read]
            # A Write Response has no data, and comes alone.
            claims += [self.write] if credit_class == "rsp_cmd" else []
            amount = claims[0].beats if is_data else 1
            for vc in range(4):
                taken = Cat(claim.take & ~claim.pool & (claim.vc == vc) for claim in claims).any()
                self._count_one(m, credit_class, vc, Mux(taken, amount, 0))
            if not is_data:
                self._count_one(m, credit_class, None, Cat(claim.take & claim.pool for claim in claims).any())
        self._count_pools_of_data(m)
        m.d.sync += self.excess.eq(self.exceeds)
        with m.If(self.excess.as_value().any()):
            m.d.sync += self.protocol_error.eq(1)
        return m

    def _decide(self, m, name, kind):
        claim = getattr(self, name)
        cmd, beats = self.free[f"{kind}_cmd"], self.free[f"{kind}_data"]
        joint = self.free.req_data.pool

        def enough(count):
            # A Write Response has no data.
            return Const(1) if name == "write" else count >= claim.beats

        pool_enough, joint_enough, pool_ok, vc_ok = (Signal(name=f"{name}_{what}") for what in _ANSWERS)
        m.d.comb += [
            pool_enough.eq(enough(beats.pool)),
            joint_enough.eq(enough(joint)),
            pool_ok.eq((cmd.pool != 0) & Mux(self.shared, joint_enough, pool_enough)),
            vc_ok.eq((Array(cmd.vc)[claim.vc] != 0) & enough(Array(beats.vc)[claim.vc])),
            claim.granted.eq(self.enable & self.init_done & (pool_ok | vc_ok)),
            claim.pool.eq(pool_ok),
        ]
        if kind == "req":
            left_alone = Mux(self.read.valid & (self.read.beats > self.kept), self.read.beats, self.kept)
            m.d.comb += joint_enough.eq((claim.beats == 0) | (joint >= left_alone + claim.beats))

    def _count_one(self, m, credit_class, vc, taken):
        """Count the bucket of a VC or of the Pool, of which ``taken`` leave."""

        def of(layout):
            return layout[credit_class].pool if vc is None else layout[credit_class].vc[vc]

        exceeds = self._count_in(m, of, of(self.update), taken)
        if vc is None:
            m.d.comb += self.exceeds[credit_class].pool.eq(exceeds)
        else:
            m.d.comb += self.exceeds[credit_class].vc[vc].eq(exceeds)

    def _count_in(self, m, of, returned, taken, *, merged=0, merged_total=0, emptied=0):
        """Count a bucket and its total, as ``TransmitCredits`` does. Gives whether the count exceeds the total."""
        held, total = of(self.held), of(self.announced)
        left, total_over = Signal(len(held)), Signal(2)
        m.d.comb += [left.eq(held - taken), of(self.counts).eq(held)]
        m.d.sync += [
            of(self.free).eq(Mux(emptied, 0, left)),
            held.eq(Mux(emptied, 0, left + Mux(self.update.valid, returned, 0) + merged)),
            Cat(total, total_over).eq(
                Mux(emptied, 0, total + Mux(self.update.valid & ~self.init_done, returned, 0) + merged_total)
            ),
        ]
        return (held > Cat(total, total_over)) | total_over.any()

    def _count_pools_of_data(self, m):
        """Count the Pool buckets of both data classes, of which that of RspData empties itself into ReqData's while
        these are one."""
        update, shared, held = self.update, self.shared, self.held
        by_request, by_read = (Mux(claim.take & claim.pool, claim.beats, 0) for claim in (self.request, self.read))
        # No credit of RspData is claimed before it has been emptied.
        req_exceeds = self._count_in(
            m,
            lambda layout: layout.req_data.pool,
            update.req_data.pool + Mux(shared, update.rsp_data.pool, 0),
            by_request + Mux(shared, by_read, 0),
            merged=Mux(shared, held.rsp_data.pool, 0),
            merged_total=Mux(shared, self.announced.rsp_data.pool, 0),
        )
        rsp_exceeds = self._count_in(
            m, lambda layout: layout.rsp_data.pool, update.rsp_data.pool, by_read, emptied=shared
        )
        m.d.comb += [self.exceeds.req_data.pool.eq(req_exceeds), self.exceeds.rsp_data.pool.eq(rsp_exceeds)]


_ANSWERS = ("pool_enough", "joint_enough", "pool_ok", "vc_ok")


def transmit_credits(config: TLConfig) -> TransmitCredits:
    """The credits of a transmitter, as ``config`` wants them built."""
    return (LeanTransmitCredits if config.lean else TransmitCredits)(config)
