"""Reconciliation sublayers of one, two or four ports, as many as are used, beside those that are built for so many."""

import random

import pytest
from amaranth.hdl import Elaboratable, Module, Signal

from support.lib.beside import Beside
from support.upli.pair import simulate
from ualink.config import PhyConfig
from ualink.phy.interface import TxKind
from ualink.phy.port_rate import PortRate
from ualink.phy.reconciliation import Reconciliation

CONFIG = PhyConfig(marker_interval=16, idle_interval=8)


class Looped(Elaboratable):
    """Those of ``ports`` ports, each of which hears the blocks that it sends unless they are ``cut``, and beside them
    those of four, of which so many are used."""

    def __init__(self, ports):
        self.ports = ports
        self.built = Reconciliation(CONFIG.replace(rate=800 // ports), ports)
        self.chosen = Reconciliation(CONFIG.replace(rate=800), 4, choosable=True)
        self.data, self.valid, self.cut, self.slot = Signal(512), Signal(), Signal(), Signal(2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.built, m.submodules.chosen = built, chosen = self.built, self.chosen
        m.d.sync += self.slot.eq((self.slot + 1) & (self.ports - 1))
        m.d.comb += [built.slot.eq(self.slot), built.dl.tx.p.port.eq(self.slot), built.dl.tx.valid.eq(self.valid)]
        self.beside = Beside(
            m,
            chosen,
            built,
            self.ports,
            late=lambda path: self.ports == 1 and path[0] == "status",
            unless={("dl", "rx", "payload"): ("dl", "rx", "valid"), ("pcs", "tx", "payload"): ("pcs", "tx", "valid")},
        )
        for port in range(self.ports):
            beat, kept = Signal(range(10), name=f"beat_{port}"), Signal.like(built.pcs.tx.p, name=f"kept_{port}")
            came = Signal(name=f"came_{port}")
            with m.If(self.slot == port):
                m.d.comb += [
                    built.dl.tx.p.data.eq(self.data),
                    built.dl.tx.p.kind.eq(TxKind.DATA),
                    built.dl.tx.p.first.eq(beat == 0),
                    built.dl.tx.p.last.eq(beat == 9),
                    built.pcs.rx.p.blocks.eq(kept.blocks),
                    built.pcs.rx.p.port.eq(port),
                    built.pcs.rx.valid.eq(came & ~self.cut),
                ]
                m.d.sync += [kept.eq(built.pcs.tx.p), came.eq(built.pcs.tx.valid & built.pcs.tx.ready)]
                with m.If(built.dl.tx.valid & built.dl.tx.ready):
                    m.d.sync += beat.eq(beat + 1)
                    with m.If(beat == 9):
                        m.d.sync += beat.eq(0)
        return m


@pytest.mark.req("PHY-008", "SW-024")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_ports_are_those_that_are_built_for_so_many(ports):
    """Flits with markers and Idle flits between them, and a pulled cable; each port at its share of the rate."""
    dut = Looped(ports)
    rng = random.Random(ports)

    async def bench(ctx):
        seen = dict.fromkeys(("received_data", "received_control", "received_marker", "fault_change"), 0)
        for cycle in range(600 * ports):
            ctx.set(dut.data, rng.getrandbits(512))
            ctx.set(dut.valid, rng.random() < 0.97)
            ctx.set(dut.cut, 400 * ports < cycle < 420 * ports)
            ctx.set(dut.built.pcs.tx.ready, rng.random() < 0.97)
            if cycle:
                dut.beside.check(ctx, cycle)
            for name in seen:
                seen[name] += any(ctx.get(getattr(status, name)) for status in dut.built.status)
            await ctx.tick()
        assert seen["received_data"] > 20 and seen["received_control"] > 3 and seen["received_marker"] > 1, seen
        assert ctx.get(dut.chosen._port.rate) == PortRate.of(800 // ports)

    simulate(dut, bench)
