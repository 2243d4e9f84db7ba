"""The credits of one channel, as its sender holds them and as they are in use (UALink_200 §2.6)."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.checker.watched import WatchedSignature
from ualink.upli.parity import credit_parity

__all__ = ["CreditCheck"]

VCS = 4
_RETURNS = ("credit_early", "credit_vld_parity", "credit_parity", "credit_port", "credit_done", "credit_return")


class CreditCheck(wiring.Component):
    """Counts the credits of each port, in the Pool and of each VC. Latency 1 cycle from ``seen``.

    A credit that comes in the cycle of a beat can be spent by it, and one that a beat spends can come back in its
    cycle: who does so works without a register, which no rule forbids. Credits before CreditInitDone are of the initial
    release; what comes back afterwards must have been spent with that class and VC.

    Parameters
    ----------
    ports : 1, 2 or 4.
    counter_bits : width of a count; credits beyond it are not counted.

    Members
    -------
    seen : the channel, out of registers; of it the credit return.
    open : 1 bit, credits may come in the cycle seen.
    spend : 1 bit, a beat of ``port_id``, ``pool`` and ``vc``, one cycle behind ``seen``.
    broken : the rules broken one cycle behind ``seen``, combinational behind registers.
    """

    def __init__(self, channel: str, ports: int, counter_bits: int):
        self.ports = ports
        self.counter_bits = counter_bits
        super().__init__(
            {
                "seen": In(WatchedSignature(channel)),
                "open": In(1),
                "spend": In(1),
                "port_id": In(2),
                "pool": In(1),
                "vc": In(2),
                "broken": Out(data.StructLayout(dict.fromkeys(["init_done", "credit", *_RETURNS], 1))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        credit, broken, ports = self.seen.credit, self.broken, self.ports
        parity = credit_parity(credit)
        wrong = Signal()
        m.d.comb += wrong.eq(
            (credit.vld_parity ^ parity["vld_parity"]) | (credit.vld.any() & (credit.parity ^ parity["parity"]))
        )
        done_before = Signal(4)
        m.d.sync += [
            done_before.eq(credit.init_done),
            broken.credit_early.eq(~self.open & Cat(credit.vld, credit.init_done).any()),
            broken.credit_vld_parity.eq(self.open & (credit.vld_parity ^ parity["vld_parity"])),
            broken.credit_parity.eq(
                self.open
                & ~(credit.vld_parity ^ parity["vld_parity"])
                & credit.vld.any()
                & (credit.parity ^ parity["parity"])
            ),
            broken.credit_port.eq(self.open & Cat(credit.vld[ports:], credit.init_done[ports:]).any()),
            broken.credit_done.eq((done_before & ~credit.init_done).any()),
        ]
        unpaid: list = []
        unknown: list = []
        undone: list = []
        for port in range(ports):
            spend = Signal(name=f"port{port}_spend")
            m.d.comb += spend.eq(self.spend & (self.port_id == port))
            # CreditInitDone of two cycles before the beat, which stays.
            done = Signal(3, name=f"port{port}_done")
            m.d.sync += done.eq(Cat(done[0] | (self.open & credit.init_done[port]), done[0], done[1]))
            undone.append(spend & ~done[2])
            counts = self._returned(m, port, self.open & credit.vld[port] & ~wrong, ~credit.init_done[port] & ~done[0])
            self._accounts(m, port, spend, counts, (unpaid, unknown))
        m.d.comb += [
            broken.init_done.eq(Cat(undone).any()),
            broken.credit.eq(Cat(unpaid).any()),
            broken.credit_return.eq(Cat(unknown).any()),
        ]
        return m

    def _returned(self, m, port, valid, initial):
        """Registers: how many credits come for ``port``, 0 to 4, and of which kind."""
        credit = self.seen.credit
        number, pool, vc = (
            Signal(width, name=f"port{port}_{name}") for name, width in zip(("number", "pool", "vc"), (3, 1, 2))
        )
        first = Signal(name=f"port{port}_initial")
        m.d.sync += [
            number.eq(Mux(valid, credit.port_num[port] + 1, 0)),
            pool.eq(credit.pool[port]),
            vc.eq(credit.port_vc[port]),
            first.eq(initial),
        ]
        return number, pool, vc, first

    def _accounts(self, m, port, spend, counts, found):
        number, pool, vc, first = counts
        unpaid, unknown = found
        for kind in range(1 + VCS):
            here = pool if kind == 0 else ~pool & (vc == kind - 1)
            mine = spend & (self.pool if kind == 0 else ~self.pool & (self.vc == kind - 1))
            held = Signal(self.counter_bits, name=f"port{port}_held_{kind}")
            less = self._count(m, held, Mux(here, number, 0), mine)
            unpaid.append(less)
        for kind in range(2 * VCS):
            of_pool, of_vc = divmod(kind, VCS)
            here = ~first & (pool == of_pool) & (vc == of_vc)
            mine = spend & (self.pool == of_pool) & (self.vc == of_vc)
            in_use = Signal(self.counter_bits, name=f"port{port}_in_use_{kind}")
            unknown.append(self._uncount(m, in_use, mine, Mux(here, number, 0)))

    def _count(self, m, count, more, one):
        """``count`` gains ``more`` and loses ``one``; 1 if it cannot lose it. ``one`` is known late."""
        kept, less = (Signal(self.counter_bits + 1, name=f"{count.name}_{name}") for name in ("kept", "less"))
        short = Signal(name=f"{count.name}_short")
        none = (count == 0) & (more == 0)
        m.d.comb += [
            kept.eq(count + more),
            less.eq(Mux(none, 0, count + (more - 1))),
            short.eq(one & none),
        ]
        full = (1 << self.counter_bits) - 1
        m.d.sync += count.eq(Mux(one, less, Mux(kept[-1], full, kept))[: self.counter_bits])
        return short

    def _uncount(self, m, count, one, less):
        """``count`` gains ``one`` and loses ``less``; 1 if it cannot lose that. ``one`` is known late."""
        with_one, without = (Signal(signed(self.counter_bits + 2), name=f"{count.name}_{n}") for n in ("more", "kept"))
        rest, short = (
            Signal(signed(self.counter_bits + 2), name=f"{count.name}_rest"),
            Signal(name=f"{count.name}_short"),
        )
        m.d.comb += [
            without.eq(count - less),
            with_one.eq(count - (less - 1)),
            rest.eq(Mux(one, with_one, without)),
            short.eq(rest[-1]),
        ]
        m.d.sync += count.eq(Mux(short, 0, rest))
        return short
