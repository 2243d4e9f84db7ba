"""A station: which port each cycle belongs to, and what a port sees of the reconciliation sublayer."""

import functools

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

import ualink.dl.links
import ualink.station
from support.few_buffers import FEW_BUFFERS
from support.shared_simulator import SharedSimulator
from ualink.config import (
    ConfigError,
    DLConfig,
    StationConfig,
    SwitchConfig,
    TLConfig,
)
from ualink.dl.layer import DataLink
from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import port_table
from ualink.phy.interface import SlotStatus
from ualink.station import Station
from ualink.switch.switch import Switch
from ualink.tl.layer import TransactionLayer

PORTS = pytest.mark.parametrize(
    "ports", [pytest.param(ports, marks=pytest.mark.xdist_group(f"station-{ports}")) for ports in (1, 2, 4)]
)
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


class CountingLink(wiring.Component):
    """Stands for a data link: sends the number of beats sent before, counts the beats that come, shows its faults."""

    def __init__(self, config):
        super().__init__(DataLink(config).signature)

    def elaborate(self, platform):
        m = Module()
        sent, cycle = Signal(32), Signal(32)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += [self.tx.valid.eq(1), self.tx.p.data.eq(sent), self.status.flits_sent.eq(cycle)]
        with m.If(self.tx.ready):
            m.d.sync += sent.eq(sent + 1)
        received = self.status.flits_received
        with m.If(self.rx.valid):
            m.d.sync += [received.eq(received + 1), self.status.payload_flits_received.eq(self.rx.p.data)]
        m.d.comb += [self.status.rx_replay.eq(self.local_fault), self.status.tx_replay.eq(self.remote_fault)]
        return m


class SilentLayer(wiring.Component):
    """Stands for a transaction layer, which does nothing."""

    def __init__(self, config, *, coded):
        super().__init__(TransactionLayer(config, coded=coded).signature)

    def elaborate(self, platform):
        return Module()


@functools.cache
def counting(ports):
    """A station of ``ports`` ports, simulated, whose data links only count; nothing above them has a part in that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ualink.dl.links, "DataLink", CountingLink)
        patch.setattr(ualink.station, "TransactionLayer", SilentLayer)
        return SharedSimulator(Station(FEW_BUFFERS.replace(ports=ports)))


@pytest.mark.req("UPLI-017", "SW-024")
@PORTS
def test_cycles_go_round_the_ports(ports):
    """Slots 0; 0, 1; or 0, 1, 2, 3, from reset on, and every port gets an equal share of the wire: one beat in each."""

    async def bench(ctx, station):
        ctx.set(station.rs.tx.ready, 1)
        for cycle in range(6 * ports + 1):
            assert ctx.get(station.slot) == cycle % ports
            assert ctx.get(station.rs.tx.valid)
            beat = ctx.get(station.rs.tx.p)
            assert (beat.port, beat.data) == (cycle % ports, cycle // ports)
            await ctx.tick()

    counting(ports).run(bench)


@pytest.mark.req("UPLI-017", "SW-024")
def test_a_station_has_one_two_or_four_ports():
    for ports in (0, 3, 5, 8):
        with pytest.raises(ConfigError, match=rf"station\.ports is {ports}; .*1, 2, 4"):
            StationConfig(ports=ports)


@PORTS
def test_a_port_stands_still_in_the_cycles_of_the_others(ports):
    async def bench(ctx, station):
        for _ in range(5 * ports):
            await ctx.tick()
        # Ports that share a data path show what was true in their last cycle.
        expected = 5 if ports == 1 else 4
        assert [ctx.get(station.dl_status[port].flits_sent) for port in range(ports)] == [expected] * ports

    counting(ports).run(bench)


@PORTS
def test_a_stalled_wire_loses_no_beat(ports):
    ready = [1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1] * 3

    async def bench(ctx, station):
        taken = [0] * ports
        for cycle, now in enumerate(ready):
            ctx.set(station.rs.tx.ready, now)
            assert ctx.get(station.rs.tx.p.data) == taken[cycle % ports]
            taken[cycle % ports] += now
            await ctx.tick()

    counting(ports).run(bench)


@PORTS
def test_a_beat_reaches_its_port_in_its_cycle_only(ports):
    """In the cycle of each port come beats of every port, and cycles without a beat."""

    async def bench(ctx, station):
        count, data = [0] * ports, [0] * ports
        for cycle in range(8 * ports):
            slot, named, valid = cycle % ports, (cycle // ports) % ports, cycle % 3 != 0
            beat = {"data": 100 + cycle, "port": named, "first": 0, "last": 0, "status": SlotStatus.GOOD}
            ctx.set(station.rs.rx.p, beat)
            ctx.set(station.rs.rx.valid, valid)
            assert ctx.get(station.rs.rx.ready)
            if valid and slot == named:
                count[slot] += 1
                data[slot] = 100 + cycle
            await ctx.tick()
        ctx.set(station.rs.rx.valid, 0)
        for _ in range(2 * ports):
            await ctx.tick()
        assert all(count)
        assert [ctx.get(station.dl_status[port].flits_received) for port in range(ports)] == count
        assert [ctx.get(station.dl_status[port].payload_flits_received) for port in range(ports)] == data

    counting(ports).run(bench)


@PORTS
def test_each_port_sees_its_own_faults(ports):
    async def bench(ctx, station):
        for pattern in range(1 << ports):
            ctx.set(station.rs.local_fault, pattern)
            ctx.set(station.rs.remote_fault, ~pattern & 15)
            # They hold from the next cycle on.
            for _ in range(1 + ports):
                await ctx.tick()
            for port in range(ports):
                assert ctx.get(station.dl_status[port].rx_replay) == pattern >> port & 1
                assert ctx.get(station.dl_status[port].tx_replay) == ~pattern >> port & 1

    counting(ports).run(bench)


class OnlineLink(CountingLink):
    """A data link whose channel 0 is online unless its RS shows a local fault, or the TL has an error."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.online.eq(~self.local_fault & ~self.tl_error)
        return m


def alarmed(agent):
    """A class of agents that do nothing but report errors: ``alarms`` are the (cycle, class) of all of them."""

    class Alarmed(wiring.Component):
        alarms: tuple[tuple[int, str], ...] = ()

        def __init__(self, config, ports, *, coded):
            super().__init__(agent(config, ports, coded=coded).signature)

        def elaborate(self, platform):
            m = Module()
            cycle = Signal(10)
            m.d.sync += cycle.eq(cycle + 1)
            for at, kind in self.alarms:
                with m.If(cycle == at):
                    m.d.comb += getattr(self, f"{kind}_event").eq(1)
                with m.If(cycle >= at):
                    m.d.comb += getattr(self, f"{kind}_error").eq(1)
            return m

    return Alarmed


def dropping(ctx, station):
    return [ctx.get(status.dropping) for status in station.tl_status]


async def clear_drop(ctx, station, ports, which=None):
    """A pulse of one round of the ports, and the time until it shows."""
    for level in (1, 0):
        for port in range(ports) if which is None else [which]:
            ctx.set(station.tl_control[port].clear_drop, level)
        await ctx.tick().repeat(3 * ports if not level else ports)


@pytest.mark.req("RAS-110", "RAS-111", "RAS-042", "RAS-050", "RAS-084", "RAS-086")
def test_each_error_of_either_agent_puts_all_ports_into_drop_mode(monkeypatch):
    """Errors of both classes at both agents, in every slot: the first and, after a clear, the next as well, though the
    agent still shows the one before."""
    monkeypatch.setattr(ualink.dl.links, "DataLink", OnlineLink)
    errors = [("Completer", "control"), ("Completer", "control"), ("Originator", "protocol"), ("Originator", "control")]
    errors += [("Completer", "protocol")]
    begin, every = 40, 61  # odd: each error falls into another slot
    for side in ("Completer", "Originator"):
        stub = alarmed(getattr(ualink.station, side))
        stub.alarms = tuple((begin + every * n, kind) for n, (of, kind) in enumerate(errors) if of == side)
        monkeypatch.setattr(ualink.station, side, stub)

    async def bench(ctx, station):
        await ctx.tick().repeat(begin)
        for side, kind in errors:
            assert dropping(ctx, station) == [0] * 4
            await ctx.tick().repeat(11)
            assert dropping(ctx, station) == [1] * 4
            for status in station.tl_status:
                cause = status.drop_cause
                assert [ctx.get(cause[f"{name}_error"]) for name in ("control", "protocol")] == [
                    kind == "control",
                    kind == "protocol",
                ]
            shown = getattr(station, f"{side.lower()}_status")
            assert ctx.get(getattr(shown, f"{kind}_error")) and not ctx.get(getattr(shown, f"{kind}_event"))
            await clear_drop(ctx, station, 4)
            await ctx.tick().repeat(every - 11 - 16)

    SharedSimulator(Station(FEW_BUFFERS.replace(ports=4))).run(bench)


@pytest.mark.req("RAS-116", "RAS-094", "RAS-095", "RAS-046", "RAS-048", "RAS-093", "SW-077")
@pytest.mark.parametrize("device", ["accelerator", "switch"])
def test_link_down_of_one_port(monkeypatch, device):
    """At an accelerator all ports of the TL enter Drop Mode, at a switch that port only; links that come up first do
    nothing, and nobody but management leaves."""
    monkeypatch.setattr(ualink.dl.links, "DataLink", OnlineLink)
    ports = 4
    config = FEW_BUFFERS.replace(ports=4, tl=FEW_BUFFERS.tl.replace(device=device))

    async def bench(ctx, station):
        await ctx.tick().repeat(4 * ports)
        assert not any(dropping(ctx, station))
        for port in range(ports):
            ctx.set(station.rs.local_fault, 1 << port)
            await ctx.tick().repeat(6 * ports)
            expected = [int(device == "accelerator" or number == port) for number in range(ports)]
            assert dropping(ctx, station) == expected
            assert [ctx.get(status.drop_cause.link_down) for status in station.tl_status] == expected
            ctx.set(station.rs.local_fault, 0)
            await ctx.tick().repeat(6 * ports)
            assert dropping(ctx, station) == expected, "the link's coming back is no reason to leave"
            await clear_drop(ctx, station, ports)
            await ctx.tick().repeat(6 * ports)
            assert dropping(ctx, station) == [0] * ports

    SharedSimulator(Station(config)).run(bench)


@pytest.mark.req("UPLI-023")
def test_one_upli_interface_for_each_kind_of_local_agent():
    """The local Originator drives requests into the station, and the station drives them into the local Completer."""
    directions = {row["path"]: row["direction"] for row in port_table(Station(StationConfig()))}
    for channel, into_completer in (("req", True), ("orig_data", True), ("rd_rsp", False), ("wr_rsp", False)):
        for side, inwards in (("upli_completer", into_completer), ("upli_originator", not into_completer)):
            assert directions[f"{side}.{channel}.vld"] == ("input" if inwards else "output")
            assert directions[f"{side}.{channel}.credit.vld"] == ("output" if inwards else "input")


@pytest.mark.req("UPLI-024")
def test_tl_and_dl_exchange_flits_of_64_bytes():
    for layer in (TransactionLayer(TLConfig()), DataLink(DLConfig())):
        for flit in (layer.tx_flit, layer.rx_flit):
            assert len(flit.p.data) == 64 * 8


@PORTS
def test_a_switch_shows_all_ports_of_all_stations(ports):
    config = SwitchConfig(stations=3, route_entries=16, station=StationConfig(ports=ports))
    station = Station(config.station)
    switch = Switch(config, lambda _: Blackbox(station, "station"))
    names = {row["path"] for row in port_table(switch)}
    for number in range(3):
        assert f"rs.{number}.tx.valid" in names
        shown = {int(name.split(".")[2]) for name in names if name.startswith(f"dl_config.{number}.")}
        assert shown == set(range(ports))
