"""Credits of one channel: the accounts of its sender and the returns of its receiver (UALink_200 §2.6)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits
from ualink.upli.calendar import check_ports
from ualink.upli.channels import MAX_PORTS, CreditReturnSignature
from ualink.upli.parity import credit_mismatch, credit_parity

__all__ = ["ReceiverCredits", "SenderCredits"]

VCS = 4
COUNTER_BITS = 10
"""Width of a credit account: a partner may release up to 1023 credits of one class per port."""


class SenderCredits(wiring.Component):
    """Counts the credits that the sender of a channel holds, per port, in the Pool and for each VC.

    Returns are counted in every cycle in which the inbound direction is open, for any set of ports, one cycle after
    which they can be spent; a return and a spend of one account in the same cycle both count. A port is usable when its
    CreditInitDone has been seen in ``qualification`` consecutive cycles, after which it is no longer looked at
    (ruling A-09 of UPLI). A beat spends a Pool credit when there is one, else one of its VC. A return with
    wrong parity is not counted.

    Attributes
    ----------
    credit : the return interface.
    listen : 1 bit, the inbound direction is open.
    port, vc : the beat that wants to be sent in this cycle.
    available : 0 to 4, credits of ``port`` that beats of ``vc`` can spend, 4 meaning 4 or more; 0 while the port is not
        usable.
    pool : 1 bit, class of the credit that ``spend`` takes.
    spend : 1 bit, one credit is spent in this cycle; only with ``available``.
    control_error : 1 bit, the return of this cycle has wrong parity.
    overflow : 1 bit, more credits are returned than the account can hold; it stays at its greatest value.
    """

    def __init__(self, ports: int, qualification: int):
        self.ports = check_ports("credits", ports)
        self.qualification = qualification
        super().__init__(
            {
                "credit": In(CreditReturnSignature()),
                "listen": In(1),
                "port": In(2),
                "vc": In(2),
                "available": Out(3),
                "pool": Out(1),
                "spend": In(1),
                "control_error": Out(1),
                "overflow": Out(1),
            }
        )
        self.accounts = [
            [Signal(COUNTER_BITS, name=f"port{port}_{name}") for name in ("pool", *(f"vc{vc}" for vc in range(VCS)))]
            for port in range(self.ports)
        ]
        """Per port: the Pool account, then one account per VC. For proofs and tests."""

    def elaborate(self, platform):
        m = Module()
        wrong = Signal()
        m.d.comb += [wrong.eq(credit_mismatch(self.credit)), self.control_error.eq(self.listen & wrong)]
        overflows = []
        for port in range(self.ports):
            here = Signal(name=f"port{port}_here")
            m.d.comb += here.eq(1 if self.ports == 1 else self.port == port)
            ready = self._qualify(m, port)
            pool, *vcs = self.accounts[port]
            vc_account = Signal(COUNTER_BITS, name=f"port{port}_vc_account")
            with m.Switch(self.vc):
                for vc in range(VCS):
                    with m.Case(vc):
                        m.d.comb += vc_account.eq(vcs[vc])
            usable = Signal(range(9), name=f"port{port}_usable")
            m.d.comb += usable.eq(_at_most_4(pool) + _at_most_4(vc_account))
            with m.If(here):
                m.d.comb += self.pool.eq(pool != 0)
                with m.If(ready):
                    m.d.comb += self.available.eq(_at_most_4(usable))

            returned = Signal(range(5), name=f"port{port}_returned")
            with m.If(self.listen & self.credit.vld[port] & ~wrong):
                m.d.comb += returned.eq(self.credit.port_num[port] + 1)
            spent = here & self.spend
            is_pool = self.credit.pool[port]
            overflows.append(_account(m, pool, Mux(is_pool, returned, 0), spent))
            for vc, account in enumerate(vcs):
                matches = ~is_pool & (self.credit.port_vc[port] == vc)
                overflows.append(_account(m, account, Mux(matches, returned, 0), spent & (pool == 0) & (self.vc == vc)))
        m.d.comb += self.overflow.eq(Cat(overflows).any())
        return m

    def _qualify(self, m, port):
        ready = Signal(name=f"port{port}_ready")
        seen = Signal(range(self.qualification), name=f"port{port}_seen")
        with m.If(~ready):
            with m.If(~self.listen | ~self.credit.init_done[port]):
                m.d.sync += seen.eq(0)
            with m.Elif(seen == self.qualification - 1):
                m.d.sync += ready.eq(1)
            with m.Else():
                m.d.sync += seen.eq(seen + 1)
        return ready


class ReceiverCredits(wiring.Component):
    """Releases the credits of a receiver's buffers when its outbound direction is open, then returns those of popped
    beats.

    The initial release takes up to four credits of one class per cycle, the same for all ports in the same cycles: Pool
    credits first, then those of VC 0 to 3; CreditInitDone rises one cycle after the last of them. The credit of a beat
    popped in cycle t is returned, with the beat's VC and class, in cycle t + 1 (one per port and cycle, as fast as
    beats can be popped). All outputs are registers.

    Attributes
    ----------
    open : 1 bit, credits may be sent; once high it stays high until reset.
    pop : bit n: a beat leaves the buffers of port n; with its ``pop_pool[n]`` and ``pop_vc[n]``.
    credit : the return interface; signals of ports that do not exist stay 0 (ruling A-07 of UPLI).
    """

    def __init__(self, credits: Credits, ports: int):
        self.credits = credits
        self.ports = check_ports("credits", ports)
        super().__init__(
            {
                "open": In(1),
                "pop": In(ports),
                "pop_pool": In(ports),
                "pop_vc": In(2).array(ports),
                "credit": Out(CreditReturnSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stages = [
            (pool, vc, count)
            for pool, vc, count in [(1, 0, self.credits.pool), *((0, v, n) for v, n in enumerate(self.credits.vc))]
            if count
        ]
        stage = Signal(range(len(stages) + 1))
        remaining = Signal(range(max(count for *_, count in stages) + 1), init=stages[0][2])
        releasing, chunk = Signal(), Signal(range(5))
        pool, vc = Signal(), Signal(2)
        done = Signal()
        m.d.comb += [releasing.eq(self.open & (stage != len(stages))), chunk.eq(_at_most_4(remaining))]
        with m.Switch(stage):
            for number, (stage_pool, stage_vc, _) in enumerate(stages):
                with m.Case(number):
                    m.d.comb += [pool.eq(stage_pool), vc.eq(stage_vc)]
                    following = stages[number + 1][2] if number + 1 < len(stages) else 0
                    with m.If(releasing):
                        with m.If(remaining <= 4):
                            m.d.sync += [stage.eq(number + 1), remaining.eq(following)]
                        with m.Else():
                            m.d.sync += remaining.eq(remaining - 4)
        m.d.comb += done.eq(self.open & (stage == len(stages)))

        coming = CreditReturnSignature().create(path=("coming",))
        for port in range(self.ports):
            with m.If(releasing):
                m.d.comb += [
                    coming.vld[port].eq(1),
                    coming.pool[port].eq(pool),
                    coming.port_vc[port].eq(vc),
                    coming.port_num[port].eq(chunk - 1),
                ]
            with m.Elif(self.pop[port]):
                m.d.comb += [
                    coming.vld[port].eq(1),
                    coming.pool[port].eq(self.pop_pool[port]),
                    coming.port_vc[port].eq(self.pop_vc[port]),
                ]
            m.d.comb += coming.init_done[port].eq(done)
        m.d.comb += [getattr(coming, name).eq(value) for name, value in credit_parity(coming).items()]
        for name in ("init_done", "vld", "pool", "vld_parity", "parity"):
            m.d.sync += getattr(self.credit, name).eq(getattr(coming, name))
        for port in range(MAX_PORTS):
            m.d.sync += [
                self.credit.port_vc[port].eq(coming.port_vc[port]),
                self.credit.port_num[port].eq(coming.port_num[port]),
            ]
        return m


def _at_most_4(value):
    """``value`` when it is less than 4, else 4, as 3 bits."""
    high = reduce(or_, value[2:], 0) if len(value) > 2 else 0
    return Cat(Mux(high, 0, value[:2]), high)


def _account(m, account, returned, spent):
    """Register ``account`` gains ``returned`` and loses ``spent``, never below 0 and never above what it can hold."""
    total = Signal(COUNTER_BITS + 1, name=f"{account.name}_total")
    change = Signal(signed(4), name=f"{account.name}_change")
    overflow = total[COUNTER_BITS]
    # One sum for both: -1 to 4 are added at once.
    m.d.comb += [change.eq(returned - (spent & (account != 0))), total.eq(account + change)]
    m.d.sync += account.eq(Mux(overflow, (1 << COUNTER_BITS) - 1, total))
    return overflow
