"""Reconciliation sublayers of one, two or four ports, as many as are used, beside those that are built for so many."""

import random

import pytest
from amaranth.hdl import Elaboratable, Module, Mux, ResetInserter, Signal

from support.lib.beside import Beside
from support.phy.rs_stream import packed, unpacked
from support.phy.rs_wire import Wire
from support.upli.pair import simulate
from ualink.config import PhyConfig
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.phy.interface import TxKind
from ualink.phy.port_rate import PortRate
from ualink.phy.reconciliation import Reconciliation

CONFIG = PhyConfig(marker_interval=16, idle_interval=8)


class Chosen(Elaboratable):
    """Those of ``ports`` ports, ``built``, and those of four, of which so many are used, with the same inputs."""

    def __init__(self, ports):
        self._ports = ports
        self.built = Reconciliation(CONFIG.replace(rate=800 // ports), ports)
        self.chosen = Reconciliation(CONFIG.replace(rate=800), 4, choosable=True)
        self.slot, self.clear = Signal(2), Signal()

    def elaborate(self, platform):
        m = Module()
        built, chosen = self.built, self.chosen
        m.submodules.built = ResetInserter(self.clear)(built)
        m.submodules.chosen = ResetInserter(self.clear)(chosen)
        m.d.sync += self.slot.eq(Mux(self.clear, 0, (self.slot + 1) & (self._ports - 1)))
        m.d.comb += built.slot.eq(self.slot)
        self.beside = Beside(
            m,
            chosen,
            built,
            self._ports,
            late=lambda path: self._ports == 1 and path[0] == "status",
            unless={("dl", "rx", "payload"): ("dl", "rx", "valid"), ("pcs", "tx", "payload"): ("pcs", "tx", "valid")},
        )
        return m


@pytest.mark.req("PHY-008", "SW-024")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_ports_are_those_that_are_built_for_so_many(ports):
    """Each port hears itself over a wire: flits with markers and Idle flits between them, and a pulled cable; each at
    its share of the rate."""
    dut, rng = Chosen(ports), random.Random(ports)
    wires = [Wire(rng, 800 // ports, 24) for _ in range(ports)]

    async def bench(ctx):
        built, beats = dut.built, [0] * ports
        ctx.set(dut.clear, 1)
        await ctx.tick().repeat(RESTART_CYCLES)
        ctx.set(dut.clear, 0)
        seen = dict.fromkeys(("received_data", "received_control", "received_marker", "fault_change"), 0)
        for cycle in range(700 * ports):
            port = cycle % ports
            wire = wires[port]
            wire.cut = 450 * ports < cycle < 480 * ports
            sent, blocks, ready = built.dl.tx.p, wire.receive(8), rng.random() < 0.97
            ctx.set(built.dl.tx.valid, 1)
            beat = {"data": rng.getrandbits(512), "first": beats[port] == 0, "last": beats[port] == 9, "port": port}
            ctx.set(sent, beat | {"kind": TxKind.DATA})
            ctx.set(built.pcs.tx.ready, ready)
            ctx.set(built.pcs.rx.valid, blocks is not None)
            ctx.set(built.pcs.rx.p.port, port)
            if blocks:
                ctx.set(built.pcs.rx.p.blocks.as_value(), packed(blocks))
            if cycle:
                dut.beside.check(ctx, cycle)
            if ready and ctx.get(built.pcs.tx.valid):
                wire.send(unpacked(ctx.get(built.pcs.tx.p.blocks.as_value())))
            beats[port] = (beats[port] + ctx.get(built.dl.tx.ready)) % 10
            for name in seen:
                seen[name] += any(ctx.get(getattr(status, name)) for status in built.status)
            await ctx.tick()
        assert all(count > 1 for count in seen.values()) and seen["received_data"] > 20, seen
        assert ctx.get(dut.chosen._port.rate) == PortRate.of(800 // ports)

    simulate(dut, bench)
