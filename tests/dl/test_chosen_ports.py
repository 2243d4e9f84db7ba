"""Data links of one, two or four ports on one path, as many as are used, beside those that are built for so many."""

import os
import random

import pytest
from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal

from support.lib.beside import Beside
from support.upli.pair import simulate
from ualink.config import ConfigError, DLConfig
from ualink.dl.interface import LinkState
from ualink.dl.links import Links
from ualink.dl.replay.buffer import ReplayBuffer
from ualink.lib.parity import byte_parity, even_parity
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.phy.interface import SlotStatus, TxKind

CONFIG = DLConfig(replay_depth=12, idle_flit_times=4, uart_tx_dwords=4, uart_rx_dwords=4)
PORTS = (1, 2, 4) if os.environ.get("UALINK_SOAK") else (1, 2)
"""Four chosen ports take the ways that four built ones do."""


class Looped(Elaboratable):
    """Links of ``ports`` ports, each of which hears what it sends, and beside them those of four, of which so many are
    used. ``data`` and ``valid`` are of the flit that every port would send; a slot that ends with ``bad`` is lost."""

    def __init__(self, ports):
        self.ports = ports
        self.built = Links(CONFIG.replace(replay_depth=CONFIG.replay_depth // ports), ports)
        self._chosen = Links(CONFIG, 4, choosable=True)
        self.clear, self.data, self.valid, self.bad = Signal(), Signal(512), Signal(), Signal()
        self.slot = Signal(2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.built = ResetInserter(self.clear)(self.built)
        m.submodules.chosen = ResetInserter(self.clear)(self._chosen)
        self.beside = Beside(
            m,
            self._chosen,
            self.built,
            self.ports,
            # Status of one port alone is that of the cycle.
            late=lambda path: self.ports == 1 and path[0] == "status",
            unless={("uart_rx", n, "payload"): ("uart_rx", n, "valid") for n in range(self.ports)},
            alone=lambda path: path[0] in ("config", "status", "uart_tx", "uart_rx") and path[1] >= self.ports,
        )
        built = self.built
        m.d.sync += self.slot.eq((self.slot + 1) & (self.ports - 1))
        with m.If(self.clear):
            m.d.sync += self.slot.eq(0)
        sent, came, flit = built.rs.tx.p, built.rs.rx.p, built.tx_flit.p
        m.d.comb += [
            built.slot.eq(self.slot),
            built.tx_flit.valid.eq(self.valid),
            flit.data.eq(self.data),
            flit.parity.eq(byte_parity(self.data)),
            flit.control_parity.eq(even_parity(flit.message, flit.error)),
        ]
        for port in range(self.ports):
            kept, valid = Signal.like(sent, name=f"kept_{port}"), Signal(name=f"valid_{port}")
            with m.If(self.slot == port):
                m.d.sync += [kept.eq(sent), valid.eq(built.rs.tx.valid & built.rs.tx.ready)]
                m.d.comb += [
                    built.rs.rx.valid.eq(valid),
                    came.port.eq(port),
                    *(getattr(came, name).eq(getattr(kept, name)) for name in ("data", "first", "last")),
                ]
                with m.If(kept.kind != TxKind.DATA):
                    m.d.comb += came.status.eq(SlotStatus.CONTROL)
                with m.Elif(self.bad):
                    m.d.comb += came.status.eq(SlotStatus.BAD)
        return m


@pytest.mark.req("SW-024")
@pytest.mark.soak
@pytest.mark.parametrize("ports", PORTS)
def test_links_are_those_that_are_built_for_so_many(ports):
    """Up, and flits with lost ones between them: TxReplay of a port has its share, so that it is full as soon."""
    dut = Looped(ports)
    rng = random.Random(ports)

    async def bench(ctx):
        came = replayed = full = 0
        ctx.set(dut.clear, 1)
        await ctx.tick().repeat(RESTART_CYCLES)
        ctx.set(dut.clear, 0)
        for port in range(ports):
            ctx.set(dut.built.config[port].enable, 1)
        ctx.set(dut.built.rs.tx.ready, 1)
        for cycle in range(LONG[ports]):
            ctx.set(dut.data, rng.getrandbits(512))
            ctx.set(dut.valid, rng.random() < 0.8)
            lossy = cycle // (400 * ports) % 2
            ctx.set(dut.bad, rng.random() < 0.1 * lossy)
            ctx.set(dut.built.rs.tx.ready, rng.random() < 0.95)
            dut.beside.check(ctx, cycle)
            came += ctx.get(dut.built.rx_flit.valid)
            full += ctx.get(dut.valid) and ctx.get(dut.built.online) and not ctx.get(dut.built.tx_flit.ready)
            await ctx.tick()
        for port in range(ports):
            status = dut.built.status[port]
            assert ctx.get(status.link_state) == LinkState.UP
            replayed += ctx.get(status.flits_replayed)
        assert came > 100 and replayed > 4 and full

    simulate(dut, bench)


LONG = {1: 1800, 2: 3200, 4: 6000}


@pytest.mark.parametrize(("depth", "said"), [(8, "a whole number from 12"), (14, "need a multiple of 4")])
def test_a_depth_that_cannot_be_shared_out_is_refused(depth, said):
    with pytest.raises(ConfigError, match=f"replay_depth is {depth}; .*{said}"):
        ReplayBuffer(depth, shared=True)
