"""Credits of one channel: the accounts of its sender and the returns of its receiver (UALink_200 §2.6)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits
from ualink.lib.ports_used import existing, slot_after, used_member
from ualink.lib.select import of_now, select_one
from ualink.upli.calendar import check_ports
from ualink.upli.channels import MAX_PORTS, CreditReturnSignature
from ualink.upli.parity import credit_mismatch, credit_parity

__all__ = ["ReceiverCredits", "SenderCredits"]

VCS = 4
COUNTER_BITS = 10
"""Width of a credit account: a partner may release up to 1023 credits of one class per port."""
MOST_ASKED = 4
"""Credits that are asked for at once, and returned at once: of the beats of a transfer."""
LOW = 3
"""Bits of an account in which a change of that many is added."""


class SenderCredits(wiring.Component):
    """Counts the credits that the sender of a channel holds, per port, in the Pool and for each VC.

    Returns are taken in every cycle in which the inbound direction is open, for any set of ports, into registers, with
    what their parity says; one of cycle t is counted in cycle t + 1 and can be spent from cycle t + 2 on. A return that
    is counted and a spend of one account in the same cycle both count. A port is usable when its
    CreditInitDone has been seen in ``qualification`` consecutive cycles, after which it is no longer looked at
    (ruling A-09 of UPLI). A beat spends a Pool credit when there is one, else one of its VC. A return with
    wrong parity is not counted.

    Parameters
    ----------
    ports : 1, 2 or 4.
    qualification : cycles.
    choosable : it does what one for as many ports does as are used; there is ``used``, as of ``ports_used``.

    Attributes
    ----------
    credit : the return interface.
    listen : 1 bit, the inbound direction is open.
    port : of the beat that wants to be sent in this cycle: of all that are used in turn, 0 first and without a pause;
        ``vc`` : 4 bits, bit n: its VC is n; one of them at most.
    available : 4 bits, bit n: beats of that VC can spend more than n credits of ``port``; 0 while it is not usable.
    pool : 1 bit, class of the credit that ``spend`` takes.
    spend : 1 bit, one credit is spent in this cycle; only with ``available``.
    control_error : 1 bit, the return of the cycle before had wrong parity.
    overflow : 1 bit, it brought more credits than the account can hold, which stays at its greatest value.
    """

    def __init__(self, ports: int, qualification: int, *, choosable: bool = False):
        self.ports = check_ports("credits", ports, choosable)
        self.choosable = choosable
        self.qualification = qualification
        super().__init__(
            {
                **used_member(choosable),
                "credit": In(CreditReturnSignature()),
                "listen": In(1),
                "port": In(2),
                "vc": In(VCS),
                "available": Out(MOST_ASKED),
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
        self.more = [[Signal(MOST_ASKED, name=f"{account.name}_more") for account in port] for port in self.accounts]
        """Beside each account, out of a register: bit n: it has more than n."""

    def elaborate(self, platform):
        m = Module()
        wrong = Signal()
        m.d.comb += wrong.eq(credit_mismatch(self.credit))
        m.d.sync += self.control_error.eq(self.listen & wrong)
        overflows, usable, coming, follows = [], [], [], []
        for port in range(self.ports):
            here = Signal(name=f"port{port}_here")
            m.d.comb += here.eq(1 if self.ports == 1 else self.port == port)
            ready, becomes_ready = self._qualify(m, port)
            pool = self.more[port][0]
            here_valid, number = Signal(name=f"port{port}_returned"), self.credit.port_num[port]
            m.d.comb += here_valid.eq(self.listen & self.valid(port) & ~wrong)
            is_pool = self.credit.pool[port]
            unspent, becomes = [], []
            for n, (account, more) in enumerate(zip(self.accounts[port], self.more[port])):
                matches = is_pool if n == 0 else ~is_pool & (self.credit.port_vc[port] == n - 1)
                mine = Signal(name=f"{account.name}_is_next")
                m.d.comb += mine.eq(here & (pool[0] if n == 0 else ~pool[0] & self.vc[n - 1] & more[0]))
                returned = Signal(MOST_ASKED, name=f"{account.name}_returned")
                m.d.sync += returned.eq(Cat(here_valid & matches & (number == k) for k in range(MOST_ASKED)))
                overflow, without, with_spend = _account(m, account, more, returned, mine, self.spend)
                overflows.append(overflow)
                unspent.append(without)
                becomes.append(with_spend)
            usable.append(Cat(ready, *self.more[port]))
            coming.append(Cat(becomes_ready, *unspent))
            follows.append(Cat(becomes_ready, *becomes))
        m.d.comb += self.overflow.eq(Cat(overflows).any())
        now = usable[0] if self.ports == 1 else self._of_turn(m, coming, follows[0])
        pool, *vcs = (now[1 + n * MOST_ASKED :][:MOST_ASKED] for n in range(1 + VCS))
        vc = Signal(MOST_ASKED, name="vc_more")
        m.d.comb += [vc.eq(select_one(self.vc, vcs)), self.pool.eq(pool[0])]
        with m.If(now[0]):
            m.d.comb += self.available.eq(Cat(_together(pool, vc, n) for n in range(1, MOST_ASKED + 1)))
        return m

    def _of_turn(self, m, coming, of_one_alone):
        """What is usable of ``port``, out of a register: chosen a cycle ahead, of what is ``coming``, for credits of a
        port are spent in its turn alone. One port alone has every turn, and may have spent one in the cycle before."""
        now = Signal(len(of_one_alone), name="usable_now")
        if not self.choosable:
            m.d.sync += now.eq(of_now(slot_after(self.port, self.ports), coming))
            return now
        following = slot_after(self.port, self.ports, self.used)
        m.d.sync += now.eq(Mux(self.used[0], of_one_alone, of_now(following, coming)))
        return now

    def valid(self, port: int) -> Value:
        """Credits of ``port`` are returned; there are none where it is not used."""
        valid = self.credit.vld[port]
        return valid & existing(self.used)[port] if self.choosable else valid

    def _qualify(self, m, port):
        """Whether ``port`` is usable, and whether it is in the next cycle."""
        ready, becomes = Signal(name=f"port{port}_ready"), Signal(name=f"port{port}_becomes_ready")
        seen = Signal(range(self.qualification), name=f"port{port}_seen")
        ready_here = self.listen & self.credit.init_done[port]
        m.d.comb += becomes.eq(ready | (ready_here & (seen == self.qualification - 1)))
        m.d.sync += ready.eq(becomes)
        with m.If(~ready):
            m.d.sync += seen.eq(Mux(ready_here, Mux(becomes, seen, seen + 1), 0))
        return ready, becomes


class ReceiverCredits(wiring.Component):
    """Releases the credits of a receiver's buffers when its outbound direction is open, then returns those of popped
    beats.

    The initial release takes up to four credits of one class per cycle, the same for all ports in the same cycles: Pool
    credits first, then those of VC 0 to 3; CreditInitDone rises one cycle after the last of them. The credit of a beat
    popped in cycle t is returned, with the beat's VC and class, in cycle t + 1 (one per port and cycle, as fast as
    beats can be popped). All outputs are registers.

    Parameters
    ----------
    credits : buffers of each port.
    ports : 1, 2 or 4.
    choosable : it does what one for as many ports does as are used; there is ``used``, as of ``ports_used``.

    Attributes
    ----------
    open : 1 bit, credits may be sent; once high it stays high until reset.
    pop : bit n: a beat leaves the buffers of port n; with its ``pop_pool[n]`` and ``pop_vc[n]``.
    credit : the return interface; signals of ports that do not exist stay 0 (ruling A-07 of UPLI).
    """

    def __init__(self, credits: Credits, ports: int, *, choosable: bool = False):
        self.credits = credits
        self.ports = check_ports("credits", ports, choosable)
        self._choosable = choosable
        super().__init__(
            {
                **used_member(choosable),
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
        exists = existing(self.used) if self._choosable else None
        for port in range(self.ports):
            with m.If(releasing if exists is None else releasing & exists[port]):
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
            m.d.comb += coming.init_done[port].eq(done if exists is None else done & exists[port])
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


def _together(one, other, count):
    """Whether two accounts have ``count`` or more; bit n of each: it has more than n."""
    first = [Const(1), *one]
    second = [Const(1), *other]
    return reduce(or_, (first[n] & second[count - n] for n in range(count + 1)))


def _account(m, account, more, returned, mine, spend):
    """Register ``account`` gains n + 1 with bit n of the register ``returned``, loses one with ``spend`` if that is
    ``mine``, never below 0 and never above what it can hold; ``more`` beside it. ``spend`` is known late: what becomes
    of the account with it and without it stands ready. Gives whether that was too much, what ``more`` becomes if there
    is no ``spend``, and what it becomes."""
    none = Signal(name=f"{account.name}_none_returned")
    m.d.comb += none.eq(~returned.any())
    gains = [none, *returned]
    kept = _changed(m, account, more, dict(enumerate(gains)))
    lowered = _changed(m, account, more, {gain - 1: one for gain, one in enumerate(gains)})
    results = []
    for name, without, behind in zip(("next", "next_more", "overflow"), kept, lowered):
        less = Signal.like(without, name=f"{account.name}_{name}_if_spent")
        result = Signal.like(without, name=f"{account.name}_{name}")
        m.d.comb += [less.eq(Mux(mine, behind, without)), result.eq(Mux(spend, less, without))]
        results.append(result)
    m.d.sync += [account.eq(results[0]), more.eq(results[1])]
    return results[2], kept[1], results[1]


def _changed(m, account, more, changes):
    """``account`` changed by the key of ``changes`` whose bit is set, its ``more``, and whether that was too much."""
    # The lowest bits, and what they carry or borrow.
    low, high = account[:LOW], account[LOW:]
    low_sum = Signal(LOW + 1, name=f"{account.name}_low")
    carry, overflow = Signal(name=f"{account.name}_carry"), Signal(name=f"{account.name}_overflow")
    borrow = changes.get(-1, Const(0)) & (low == 0)
    m.d.comb += [
        low_sum.eq(select_one(changes.values(), [(low + change)[: LOW + 1] for change in changes])),
        carry.eq(low_sum[LOW] & ~changes.get(-1, Const(0))),
        overflow.eq(carry & high.all()),
    ]
    high_sum = Mux(carry & ~overflow, high + 1, Mux(borrow, high - 1, high))[: len(high)]
    most = Signal(name=f"{account.name}_above_most")
    m.d.comb += most.eq(account > MOST_ASKED)
    above = [Const(1)] * MOST_ASKED + [*more, most]  # above[n + MOST_ASKED]: it has more than n
    flags = Cat(
        select_one(changes.values(), [above[n + MOST_ASKED - change] for change in changes]) for n in range(MOST_ASKED)
    )
    changed, changed_more = Signal.like(account, name=f"{account.name}_changed"), Signal.like(more)
    m.d.comb += [changed.eq(Cat(low_sum[:LOW] | overflow.replicate(LOW), high_sum)), changed_more.eq(flags)]
    return changed, changed_more, overflow
