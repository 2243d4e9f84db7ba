"""Ports on one data path, linked to each other, run by firmware through their registers."""

import functools
import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from support.dl.register_bench import Firmware
from support.tl.flits import tl_flit, tl_flit_good
from ualink.config import DLConfig
from ualink.dl.flit.error_injection import InjectionPoint
from ualink.dl.interface import LinkState
from ualink.dl.links import Links
from ualink.dl.registers.block import DLRegisterBlock
from ualink.phy.interface import SlotStatus, TxKind

CONFIG = DLConfig(replay_depth=8, idle_flit_times=4)
pytestmark = pytest.mark.xdist_group("dl_ports")


@functools.cache
class Bench:
    """What a port sends comes to the port half a round of the calendar later, in that port's cycle.

    There is one of each number of ports and of cycles from beat to beat, which each test finds as it is after reset.
    """

    def __init__(self, ports: int, cycles_per_beat: int = 1):
        self.ports, self.cycles_per_beat = ports, cycles_per_beat
        config = CONFIG.replace(cycles_per_beat=cycles_per_beat)
        self.links = links = Links(config, ports)
        self.blocks = [DLRegisterBlock(config, late=True) for _ in range(ports)]
        self.firmware = [Firmware(block.bus) for block in self.blocks]
        self.simulator: Simulator | None = None
        self.slot = slot = Signal(range(ports))
        self.module = m = Module()
        m.submodules.links = links
        m.d.sync += slot.eq(slot + 1)
        m.d.comb += [links.slot.eq(slot), links.rs.tx.ready.eq(1)]
        beat, valid = links.rs.tx.payload, links.rs.tx.valid
        for n in range(ports // 2):
            later, valid_later = Signal(beat.shape(), name=f"beat_{n}"), Signal(name=f"valid_{n}")
            m.d.sync += [later.eq(beat), valid_later.eq(valid)]
            beat, valid = later, valid_later
        m.d.comb += [
            links.rs.rx.valid.eq(valid),
            links.rs.rx.p.data.eq(beat.data),
            links.rs.rx.p.port.eq(slot),
            links.rs.rx.p.first.eq(beat.first),
            links.rs.rx.p.last.eq(beat.last),
            links.rs.rx.p.status.eq(SlotStatus.CONTROL),
        ]
        with m.If(beat.kind == TxKind.DATA):
            m.d.comb += links.rs.rx.p.status.eq(SlotStatus.GOOD)
        for port, block in enumerate(self.blocks):
            m.submodules[f"registers_{port}"] = block
            m.d.comb += [
                block.here.eq(slot == port),
                links.uart_tx[port].valid.eq(block.uart_tx.valid),
                links.uart_tx[port].payload.eq(block.uart_tx.payload),
                block.uart_tx.ready.eq(links.uart_tx[port].ready),
                block.uart_rx.valid.eq(links.uart_rx[port].valid),
                block.uart_rx.payload.eq(links.uart_rx[port].payload),
                links.uart_rx[port].ready.eq(block.uart_rx.ready),
            ]
            for settings, shown in ((links.config[port], block.dl_config), (block.dl_status, links.status[port])):
                m.d.comb += [getattr(settings, name).eq(getattr(shown, name)) for name in shown.signature.members]

    def partner(self, port: int) -> int:
        """The port at the other end of its link."""
        return (port + self.ports // 2) % self.ports

    async def transaction_layers(self, ctx):
        """Offer ``to_send`` and fill ``received``, each port in its own cycles."""
        flit = self.links.tx_flit
        while True:
            port = ctx.get(self.slot)
            waiting = self.to_send[port]
            ctx.set(flit.valid, bool(waiting))
            if waiting:
                ctx.set(flit.p, tl_flit(waiting[0], port % 4))
                if ctx.get(flit.ready):
                    waiting.pop(0)
            if ctx.get(self.links.rx_flit.valid):
                got = ctx.get(self.links.rx_flit.p)
                assert got.error or (tl_flit_good(got) and got.message == self.partner(port) % 4)
                self.received[port].append(got.data if not got.error else None)
            await ctx.tick()

    async def everywhere(self, ctx, register: str, **values):
        """Write a register of every port."""
        for firmware in self.firmware:
            assert not await firmware.put(ctx, register, **values)

    async def until(self, ctx, name: str, value: int, ports=None):
        """Read ``register.field`` of each port until it is ``value``."""
        for port in range(self.ports) if ports is None else ports:
            for _ in range(600 * self.cycles_per_beat):
                if await self.firmware[port].get(ctx, name) == value:
                    break
                await ctx.tick().repeat(4)
            else:
                raise AssertionError(f"{name} of port {port} never became {value}")

    async def bring_up(self, ctx):
        """Both channels of every link online."""
        await self.everywhere(
            ctx, "link_control", enable=1, channel_0_online=1, channel_4_online=1, may_request_channels=1
        )
        await self.until(ctx, "link_status.online", 1)
        await self.until(ctx, "link_status.online_4", 1)

    async def exchange(self, ctx, count: int):
        """``count`` TL flits out of every port arrive at the partner's, in order."""
        flits = [[self.rng.getrandbits(512) for _ in range(count)] for _ in range(self.ports)]
        for port in range(self.ports):
            self.received[port].clear()
            self.to_send[port].extend(flits[port])
        for _ in range(400 * self.ports * self.cycles_per_beat):
            if all(len(received) >= count for received in self.received):
                break
            await ctx.tick()
        assert self.received == [flits[self.partner(port)] for port in range(self.ports)]

    def run(self, story):
        """Simulate ``story(ctx)``."""
        self.story = story
        self.rng = random.Random(self.ports)
        self.to_send: list[list[int]] = [[] for _ in range(self.ports)]
        self.received: list[list[int | None]] = [[] for _ in range(self.ports)]
        if self.simulator is None:
            self.simulator = Simulator(self.module)
            self.simulator.add_clock(1e-9)
            self.simulator.add_testbench(self.transaction_layers, background=True)
            self.simulator.add_testbench(self._tell)
        else:
            self.simulator.reset()
        self.simulator.run()

    async def _tell(self, ctx):
        await self.story(ctx)


@pytest.mark.req("DL-001", "DL-005", "DL-007", "DL-025", "UPLI-027", "UPLI-028")
@pytest.mark.parametrize(("ports", "cycles_per_beat"), [(2, 1), (4, 1), (2, 4)])
def test_ports_that_share_a_data_path_are_links_of_their_own(ports, cycles_per_beat):
    """Also where a beat takes four of a port's own cycles."""
    bench = Bench(ports, cycles_per_beat)

    async def story(ctx):
        for port, firmware in enumerate(bench.firmware):
            await firmware.put(ctx, "local_port", number=100 + port, valid=1)
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 25)
        await bench.everywhere(ctx, "ask_port", start=1)
        await bench.until(ctx, "ask_port.answered", 1)
        for port, firmware in enumerate(bench.firmware):
            assert await firmware.get(ctx, "partner_port.number") == 100 + bench.partner(port)
            for n in range(3):
                await firmware.put(ctx, "uart_tx", data=1000 * port + n)
        await bench.until(ctx, "uart_levels.rx", 3)
        for port, firmware in enumerate(bench.firmware):
            words = [await firmware.get(ctx, "uart_rx.data") for _ in range(3)]
            assert words == [1000 * bench.partner(port) + n for n in range(3)]

    bench.run(story)


@pytest.mark.req("DL-126", "DL-178")
def test_an_error_of_one_port_is_replayed_and_counted_there_alone():
    bench = Bench(2)

    async def story(ctx):
        await bench.bring_up(ctx)
        await bench.firmware[0].put(ctx, "inject", enable=1, select=InjectionPoint.SENT_CRC.value, start=1)
        await bench.exchange(ctx, 40)
        await bench.everywhere(ctx, "snapshot", start=1)
        counts = {
            name: [await firmware.get(ctx, f"{name}.count") for firmware in bench.firmware]
            for name in ("crc_errors", "replays_requested", "replays_accepted", "link_downs")
        }
        assert counts == {
            "crc_errors": [0, 1],
            "replays_requested": [0, 1],
            "replays_accepted": [1, 0],
            "link_downs": [0, 0],
        }

    bench.run(story)


@pytest.mark.req("DL-181", "DL-182", "DL-177")
@pytest.mark.parametrize(
    ("point", "event", "side"),
    [
        (InjectionPoint.EGRESS_DATA, "containment_egress", 0),
        (InjectionPoint.INGRESS_DATA, "containment_ingress", 0),
    ],
)
def test_containment_takes_one_link_down_and_both_ends_start_anew(point, event, side):
    bench = Bench(4)
    ends, others = (0, 2), (1, 3)

    async def story(ctx):
        await bench.bring_up(ctx)
        await bench.firmware[side].put(ctx, "inject", enable=1, select=point.value, start=1)
        for port in range(4):
            bench.received[port].clear()
            bench.to_send[port].extend(bench.rng.getrandbits(512) for _ in range(5))
        sent = [list(flits) for flits in bench.to_send]
        await bench.until(ctx, "link_status.link_state", LinkState.IDLE.value, ends)
        assert await bench.firmware[side].get(ctx, f"events.{event}")
        for port in ends:
            bench.to_send[port].clear()
            marked = bench.received[port].index(None) if None in bench.received[port] else len(bench.received[port])
            assert bench.received[port][:marked] == sent[bench.partner(port)][:marked]
            assert len(bench.received[port]) <= marked + 1
        for port in others:
            assert await bench.firmware[port].get(ctx, "link_status.link_state") == LinkState.UP.value
            assert not await bench.firmware[port].get(ctx, f"events.{event}")
            assert bench.received[port] == sent[bench.partner(port)]
        await bench.until(ctx, "link_status.online", 1, ends)
        await bench.exchange(ctx, 12)

    bench.run(story)
