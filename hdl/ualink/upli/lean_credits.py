"""Accounts of a sender's credits for slow clocks (UALink_200 §2.6)."""

from amaranth.hdl import Cat, Module, Mux, Signal

from ualink.config import UPLIConfig
from ualink.lib.select import select_one

from .credits import COUNTER_BITS, MOST_ASKED, VCS, SenderCredits
from .parity import credit_mismatch

__all__ = ["LeanSenderCredits", "sender_credits"]


class LeanSenderCredits(SenderCredits):
    """``SenderCredits``, cycle by cycle, out of counters alone: for clocks that leave time to compare and to add.

    Members are those of ``SenderCredits``. What is there is compared when it is asked for, and one sum takes a return
    and a spend together, so that whether a beat is sent goes through a carry chain.
    """

    def elaborate(self, platform):
        m = Module()
        wrong = Signal()
        m.d.comb += wrong.eq(credit_mismatch(self.credit))
        m.d.sync += self.control_error.eq(self.listen & wrong)
        overflows = []
        for port, (pool, *vcs) in enumerate(self.accounts):
            here = Signal(name=f"port{port}_here")
            m.d.comb += here.eq(1 if self.ports == 1 else self.port == port)
            ready, _ = self._qualify(m, port)
            of_vc = Signal(COUNTER_BITS, name=f"port{port}_of_vc")
            usable = Signal(range(2 * MOST_ASKED + 1), name=f"port{port}_usable")
            m.d.comb += [of_vc.eq(select_one(self.vc, vcs)), usable.eq(_at_most(pool) + _at_most(of_vc))]
            with m.If(here):
                m.d.comb += self.pool.eq(pool != 0)
                with m.If(ready):
                    m.d.comb += self.available.eq(Cat(usable > n for n in range(MOST_ASKED)))

            valid, number = Signal(name=f"port{port}_returned"), Signal(2, name=f"port{port}_number")
            class_of = Signal(1 + VCS, name=f"port{port}_class")
            m.d.sync += [
                valid.eq(self.listen & self.valid(port) & ~wrong),
                number.eq(self.credit.port_num[port]),
                class_of.eq(_one_hot(self.credit.pool[port], self.credit.port_vc[port])),
            ]
            from_pool = here & self.spend & (pool != 0)
            from_vc = here & self.spend & (pool == 0) & (of_vc != 0)
            for n, account in enumerate(self.accounts[port]):
                spent = from_pool if n == 0 else from_vc & self.vc[n - 1]
                overflows.append(_account(m, account, Mux(valid & class_of[n], number + 1, 0), spent))
        m.d.comb += self.overflow.eq(Cat(overflows).any())
        return m


def _at_most(count):
    """``count``, or ``MOST_ASKED`` if it is more."""
    return Mux(count > MOST_ASKED, MOST_ASKED, count)[: MOST_ASKED.bit_length()]


def _one_hot(pool, vc):
    """Bit 0: of the Pool; bit n + 1: of VC n."""
    return Cat(pool, *(~pool & (vc == n) for n in range(VCS)))


def _account(m, account, gain, spent):
    """Register ``account`` gains ``gain``, loses 1 if ``spent``, and stays at its greatest value beyond it; gives
    whether it is beyond."""
    change = Signal(range(-1, MOST_ASKED + 1), name=f"{account.name}_change")
    result = Signal(COUNTER_BITS + 1, name=f"{account.name}_next")
    m.d.comb += [change.eq(gain - spent), result.eq(account + change)]
    m.d.sync += account.eq(result[:COUNTER_BITS] | result[COUNTER_BITS].replicate(COUNTER_BITS))
    return result[COUNTER_BITS]


def sender_credits(config: UPLIConfig, ports: int, *, choosable: bool = False) -> SenderCredits:
    """The accounts of a sender, as ``config`` wants them built."""
    kind = LeanSenderCredits if config.lean else SenderCredits
    return kind(ports, config.init_done_qualification, choosable=choosable)
