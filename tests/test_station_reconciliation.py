"""A station with its reconciliation sublayers: blocks of each port in its cycles, and what data links hear of them."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator

import ualink.dl.links
from support.few_buffers import FEW_BUFFERS
from support.phy.rs_stream import packed, unpacked
from ualink import config as configuration
from ualink.config import PhyConfig, SwitchConfig
from ualink.dl.layer import DataLink
from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import port_table
from ualink.phy.interface import SlotStatus
from ualink.phy.port_rate import PortRate
from ualink.station import Station
from ualink.switch.switch import Switch
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rs_transmit import Offer, Transmitter

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")

CONFIG = FEW_BUFFERS.replace(phy=PhyConfig(rate=200, marker_interval=8, idle_interval=4))
STATIONS = pytest.mark.parametrize(("ports", "clocks"), [(4, 1), (2, 2)], ids=["four ports", "two ports, two clocks"])


class SlotLink(wiring.Component):
    """Stands for a data link: sends flits whose beats are numbered, counts good slots, shows its faults."""

    def __init__(self, config):
        super().__init__(DataLink(config).signature)

    def elaborate(self, platform):
        m = Module()
        sent, beat = Signal(32), Signal(range(10))
        m.d.comb += [
            self.tx.valid.eq(1),
            self.tx.p.data.eq(sent),
            self.tx.p.first.eq(beat == 0),
            self.tx.p.last.eq(beat == 9),
            self.status.rx_replay.eq(self.local_fault),
            self.status.tx_replay.eq(self.remote_fault),
        ]
        with m.If(self.tx.ready):
            m.d.sync += [sent.eq(sent + 1), beat.eq(beat + 1)]
            with m.If(beat == 9):
                m.d.sync += beat.eq(0)
        received = self.status.flits_received
        with m.If(self.rx.valid & self.rx.p.last & (self.rx.p.status == SlotStatus.GOOD)):
            m.d.sync += [received.eq(received + 1), self.status.payload_flits_received.eq(self.rx.p.data)]
        return m


@pytest.fixture
def run(monkeypatch):
    """``run(ports, clocks, bench)`` simulates ``bench(ctx, station, slot)``; ``slot`` is the port of the cycle, and
    ``rates`` are those of the ports, if they differ."""
    monkeypatch.setattr(ualink.dl.links, "DataLink", SlotLink)

    def run(ports, clocks, bench, rates=()):
        phy = PhyConfig(rates=rates, idle_interval=4) if rates else CONFIG.phy
        station = Station(CONFIG.replace(ports=ports, separate_upli_clock=clocks == 2, phy=phy))

        async def testbench(ctx):
            await bench(ctx, station, station.rs_slot if clocks == 2 else station.slot)

        simulator = Simulator(station)
        simulator.add_clock(1e-9)
        if clocks == 2:
            simulator.add_clock(1.3e-9, domain="upli")
        simulator.add_testbench(testbench)
        simulator.run()

    return run


def flit(number):
    """Of beats numbered from ten times ``number`` on."""
    return b"".join((10 * number + n).to_bytes(64, "little") for n in range(10))


@pytest.mark.req("PHY-008", "PHY-014", "PHY-016", "PHY-020", "PHY-038", "RAS-093")
@STATIONS
def test_each_port_has_a_reconciliation_sublayer_of_its_own(run, ports, clocks):
    """Each sends what the model sends. Port n gets n + 1 flits, and the last port a Local Fault behind them, which it
    alone tells its data link of and answers."""

    async def bench(ctx, station, slot):
        ctx.set(station.pcs.tx.ready, 1)
        sent = [[] for _ in range(ports)]
        streams = []
        for port in range(ports):
            stream = codes.alignment_flit([codes.IDLE] * 80, 200)
            for number in range(port + 1):
                stream += codes.data_flit(flit(100 * port + number))
            streams.append(stream)

        async def rounds(count):
            for _ in range(count * ports):
                now = ctx.get(slot)
                beat, streams[now] = streams[now][:8], streams[now][8:]
                ctx.set(station.pcs.rx.valid, bool(beat))
                ctx.set(station.pcs.rx.p.port, now)
                ctx.set(station.pcs.rx.p.blocks.as_value(), packed(beat))
                assert ctx.get(station.pcs.rx.ready)
                if ctx.get(station.pcs.tx.valid):
                    assert ctx.get(station.pcs.tx.p.port) == now
                    sent[now] += unpacked(ctx.get(station.pcs.tx.p.blocks.as_value()))
                await ctx.tick()

        assert [ctx.get(status.aligned) for status in station.rs_status] == [0] * ports
        await rounds(92)
        model, number, expected = Transmitter(200, 8, 4), 0, []
        for _ in range(9):
            _, blocks, taken, _ = model.slot(Offer.FLIT, flit(number))
            expected += blocks
            number += taken
        assert all(len(blocks) > len(expected) and blocks[: len(expected)] == expected for blocks in sent)
        shown = [
            (ctx.get(status.flits_received), ctx.get(status.payload_flits_received)) for status in station.dl_status
        ]
        assert shown == [(port + 1, 1010 * port + 9) for port in range(ports)]
        assert [ctx.get(status.aligned) for status in station.rs_status] == [1] * ports

        streams[-1] += [codes.LOCAL_FAULT] * 8 * 24
        await rounds(24)
        alone = [0] * (ports - 1) + [1]
        assert [ctx.get(status.fault).value for status in station.rs_status] == alone
        assert [ctx.get(status.rx_replay) for status in station.dl_status] == alone
        assert [ctx.get(status.tx_replay) for status in station.dl_status] == [0] * ports
        assert [codes.REMOTE_FAULT in blocks for blocks in sent] == [bool(one) for one in alone]

    run(ports, clocks, bench)


@pytest.mark.req("PHY-005", "PHY-043")
def test_software_sets_the_rate_of_each_port(run, monkeypatch):
    """Markers in 16 slots, eight from each other at 400 Gb/s and four at 200; after reset the rates are the other way
    round."""
    for rate, close in ((200, 4), (400, 8)):
        monkeypatch.setitem(configuration.MARKERS, rate, (configuration.MARKERS[rate][0], close))

    async def bench(ctx, station, slot):
        ctx.set(station.pcs.tx.ready, 1)
        for port, rate in enumerate((400, 200)):
            assert ctx.get(station.rs_rate[port]) == PortRate.of((200, 400)[port])
            ctx.set(station.rs_rate[port], PortRate.of(rate))
        markers = [0, 0]
        for _ in range(160):
            await ctx.tick().repeat(2)
            markers = [n + ctx.get(status.sent_marker) for n, status in zip(markers, station.rs_status)]
        assert markers == [2, 4]

    run(2, 1, bench, rates=(200, 400))


@pytest.mark.parametrize(("rates", "shown"), [((200, 400), True), ((200, 200), False)])
def test_a_switch_has_rates_to_set_where_those_of_its_ports_differ(rates, shown):
    station = CONFIG.replace(ports=2, phy=PhyConfig(rates=rates))
    config = SwitchConfig(stations=2, route_entries=8, station=station)
    names = {row["path"] for row in port_table(Switch(config, lambda _: Blackbox(Station(station), "station")))}
    assert [f"rs_rate.{number}" in names for number in range(2)] == [shown] * 2


@pytest.mark.parametrize("ports", [1, 4])
def test_a_switch_shows_the_blocks_of_all_ports_of_all_stations(ports):
    config = SwitchConfig(stations=3, route_entries=16, station=CONFIG.replace(ports=ports))
    station = Station(config.station)
    names = {row["path"] for row in port_table(Switch(config, lambda _: Blackbox(station, "station")))}
    for number in range(3):
        assert f"pcs.{number}.tx.valid" in names and f"rs.{number}.tx.valid" not in names
        assert {f"rs_status.{number}.{port}.fault" for port in range(ports)} <= names
