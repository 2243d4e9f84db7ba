"""What the benchmarks of a station are made of: the devices before the stations, wires of several ports, the rows."""

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from support.shared_simulator import SharedSimulator
from support.switch.bench import run
from ualink.lib.ports_used import last_port
from ualink.phy.interface import SlotStatus, TxKind
from ualink_sim.bench.link_wire import Wire
from ualink_sim.bench.rows import Options
from ualink_sim.bench.station import LIMIT, WRITE, benches
from ualink_sim.bench.station_device import PORTS, StationDevice
from ualink_sim.bench.station_pair import MODES
from ualink_sim.bench.station_top import STATION_WIRE
from ualink_sim.bench.tl_patterns import Pattern


def test_a_wire_keeps_the_ports_of_beats_apart():
    wire = Wire(1)
    kinds = (TxKind.DATA, TxKind.IDLE, TxKind.REMOTE_FAULT)
    sent = [(n * 0x0123456789ABCDEF, n % PORTS, n % 3 == 0, n % 5 == 0, kinds[n % 3]) for n in range(30)]

    async def bench(ctx):
        ctx.set(wire.latency, STATION_WIRE)
        came = []
        faults = [0] * PORTS
        for n in range(len(sent) + STATION_WIRE):
            assert ctx.get(wire.remote_fault) == sum(fault << port for port, fault in enumerate(faults))
            if ctx.get(wire.rx.valid):
                beat = ctx.get(wire.rx.p)
                came.append((n - STATION_WIRE, beat.data, beat.port, beat.first, beat.last, beat.status))
                faults[beat.port] = sent[n - STATION_WIRE][4] == TxKind.REMOTE_FAULT
            ctx.set(wire.tx.valid, n < len(sent) and n % 7 != 0)
            if n < len(sent):
                ctx.set(wire.tx.p, dict(zip(("data", "port", "first", "last", "kind"), sent[n])))
            await ctx.tick()
        expected = [
            (n, *beat[:4], SlotStatus.GOOD if beat[4] == TxKind.DATA else SlotStatus.CONTROL)
            for n, beat in enumerate(sent)
            if n % 7
        ]
        assert came == expected

    run(wire, bench)


class Facing(wiring.Component):
    """Two devices whose UPLI are joined, without stations; ``spoil`` changes a bit of the data that device 0 sends."""

    def __init__(self):
        self.devices = [StationDevice(number) for number in range(2)]
        super().__init__({"spoil": In(1), "used": In(3, init=4), "slot": Out(2)})

    def elaborate(self, platform):
        m = Module()
        first, second = self.devices
        m.submodules.first, m.submodules.second = first, second
        m.d.sync += self.slot.eq((self.slot + 1) & last_port(self.used))
        connect(m, second.originator, first.completer)
        for path, member, value in first.originator.signature.flatten(first.originator):
            other = second.completer
            for name in path:
                other = other[name] if isinstance(name, int) else getattr(other, name)
            source, sink = (value, other) if member.flow == Out else (other, value)
            changed = self.spoil if path[:2] == ("orig_data", "data") else 0
            m.d.comb += sink.eq(source ^ changed)
        for device in self.devices:
            m.d.comb += [device.slot.eq(self.slot), device.used.eq(self.used)]
        self.restart = Signal()
        m.d.comb += [device.restart.eq(self.restart) for device in self.devices]
        return m


@pytest.fixture(scope="module")
def facing():
    """The simulator of both devices: making it takes longer than the tests."""
    return SharedSimulator(Facing())


@pytest.mark.xdist_group("bench_station")
@pytest.mark.parametrize(("ports", "spoil"), [(2, False), (4, True)])
def test_devices_ask_and_answer_on_the_ports_that_are_used(facing, ports, spoil):
    """Beats come on as many ports as there are, none of them wrong, unless one is spoilt on its way."""
    levels = Pattern(kinds=(WRITE,)).levels()

    async def bench(ctx, top):
        ctx.set(top.used, ports)
        ctx.set(top.restart, 1)
        await ctx.tick()
        ctx.set(top.restart, 0)
        for device in top.devices:
            for name, value in levels.items():
                part = device
                for step in name.split("__"):
                    part = part[int(step)] if step.isdigit() else getattr(part, step)
                ctx.set(Value.cast(part), value)
            for port in range(ports):
                ctx.set(device.limits[port], 8)
        await ctx.tick().repeat(120)
        ctx.set(top.spoil, spoil)
        await ctx.tick().repeat(8)
        ctx.set(top.spoil, 0)
        await ctx.tick().repeat(120)
        assert all(ctx.get(device.beats) > 100 for device in top.devices)
        assert ctx.get(top.devices[0].mismatches) == 0 and ctx.get(top.devices[0].errors) == 0
        assert (ctx.get(top.devices[1].mismatches) > 0) == spoil
        # A wrong bit is one that its parity tells of.
        assert ctx.get(top.devices[1].errors) == spoil

    facing.run(bench)


def test_rows_are_those_of_each_number_of_ports():
    rows = [row for bench in benches(Options()) for row in bench.rows]
    assert [row.name for row in rows] == [
        f"station.{what}.{mode}" for mode in MODES for what in ("throughput", "latency_cycles", "latency_ns")
    ]
    # Five WriteFull of four beats and their Responses in two Control half-flits, of 157 of 160 sectors.
    assert pytest.approx(5 * 8 / (5 * 8 + 2) * 157 / 160) == LIMIT
