"""The registers of a switch on its bus: routes, denied items, Drop Mode of the core, interrupts, what is not there."""

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from support.switch.device_bench import CONFIG, ONE_BENCH, PLACES, PORTS, READ, DeviceBench, empty, shared_bench
from support.upli.pair import pack
from ualink.config import BUSES
from ualink.csr.table import Access
from ualink.dl.interface import LinkState
from ualink.station import Station
from ualink.switch.deny_log import DeniedKind

pytestmark = [ONE_BENCH, pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


@pytest.mark.req("SW-058", "SW-059", "SW-061", "SW-062", "SW-072", "SW-100")
def test_routes_and_denies_are_written_over_the_bus():
    """A route forwards, Deny of a port drops and is logged at that port of that station alone, and interrupts."""
    bench = shared_bench()

    async def story(ctx):
        await bench.ready(ctx)
        assert await bench.send(ctx, 0, 0, 5) == [], "all is denied after reset"
        assert await bench.read(ctx, "station_0_core", "denied_0", "count") == 1
        await bench.write(ctx, "station_0_core", "deny_clear_0", start=1)
        assert await bench.read(ctx, "station_0_core", "denied_0") == 0
        # Port 1 of station 0 is denied accelerator 5; station 1 has a table of its own.
        await bench.set_route(ctx, 0, 5, deny=0b10)
        await bench.set_route(ctx, 0, 2)
        assert await bench.send(ctx, 0, 0, 5) == [PLACES[5]]
        assert await bench.send(ctx, 0, 1, 2) == [PLACES[2]]
        assert await bench.send(ctx, 1, 0, 5) == [], "the other table is as after reset"
        await bench.set_route(ctx, 1, 5)
        assert await bench.send(ctx, 1, 1, 5) == [PLACES[5]]

        await bench.write(ctx, "station_0_core", "denied_events", port_0=1, port_1=1)
        await bench.write(ctx, "station_1_core", "deny_clear_0", start=1)
        await bench.write(ctx, "station_1_core", "denied_events", port_0=1, port_1=1)
        assert await bench.lines(ctx) == (0, 0)
        for station in range(2):
            await bench.write(ctx, f"station_{station}_interrupts", "core_mask", denied_port_1=1)
        assert await bench.send(ctx, 0, 1, 5) == []
        assert await bench.send(ctx, 0, 1, 5) == []
        assert await bench.read(ctx, "station_0_core", "denied_1", "count") == 2
        for station, port in ((0, 0), (1, 0), (1, 1)):
            assert await bench.read(ctx, f"station_{station}_core", f"denied_{port}", "count") == 0
        last = [
            await bench.read(ctx, "station_0_core", "last_denied_1", field)
            for field in ("source", "destination", "kind")
        ]
        assert last == [7, 5, DeniedKind.REQUEST.value]
        assert await bench.lines(ctx) == (1, 0b01)
        assert await bench.read(ctx, "station_0_interrupts", "core_events", "denied_port_1") == 1
        assert await bench.read(ctx, "station_0_interrupts", "pending_windows", "core") == 1
        # Cleared it stays down, until the log has been cleared and there is a first one again.
        await bench.write(ctx, "station_0_core", "denied_events", port_1=1)
        assert await bench.lines(ctx) == (0, 0)
        await bench.send(ctx, 0, 1, 5)
        assert await bench.lines(ctx) == (0, 0)
        await bench.write(ctx, "station_0_core", "deny_clear_1", start=1)
        await bench.send(ctx, 0, 1, 5)
        assert await bench.lines(ctx) == (1, 0b01)
        await bench.write(ctx, "station_0_interrupts", "core_mask", denied_port_1=0)
        assert await bench.lines(ctx) == (0, 0)

    bench.run(story)


@pytest.mark.req("SW-070", "SW-071")
def test_drop_mode_of_the_core_is_seen_and_cleared_at_its_station():
    """A Control Error before the core puts the Completer of that station into Drop Mode until firmware clears it."""
    bench = shared_bench()

    async def story(ctx):
        await bench.ready(ctx)
        for station in range(2):
            await bench.set_route(ctx, station, 5)
            await bench.write(ctx, f"station_{station}_interrupts", "core_mask", ingress_drop_mode=1)
        assert await bench.send(ctx, 0, 0, 5, flip=True) == []
        status = [
            await bench.read(ctx, f"station_{n}_core", f"{a}_status") for n in (0, 1) for a in ("ingress", "egress")
        ]
        connected, control_error, dropping = 1, 4, 16
        assert status == [connected | control_error | dropping, connected, connected, connected]
        assert await bench.lines(ctx) == (1, 0b01)
        assert await bench.read(ctx, "station_0_interrupts", "core_events", "ingress_control_error") == 1
        assert await bench.send(ctx, 0, 1, 5) == [], "of all ports"
        await bench.write(ctx, "station_1_core", "ingress_clear_drop", start=1)
        await bench.write(ctx, "station_0_core", "egress_clear_drop", start=1)
        assert await bench.send(ctx, 0, 1, 5) == [], "that was the Drop Mode of others"
        await bench.write(ctx, "station_0_core", "ingress_clear_drop", start=1)
        assert await bench.send(ctx, 0, 1, 5) == [PLACES[5]]
        await bench.write(ctx, "station_0_core", "ingress_clear", start=1)
        assert await bench.read(ctx, "station_0_core", "ingress_status") == connected
        await bench.write(ctx, "station_0_core", "ingress_events", control_error=1, drop_mode=1)
        assert await bench.lines(ctx) == (0, 0)

    bench.run(story)


@pytest.mark.req("SW-066", "SW-068")
def test_firmware_can_tell_what_it_has():
    """Kind, size and order; each register where the table says, and an error where none is."""
    bench = shared_bench()

    async def story(ctx):
        words = [await bench.read(ctx, "description", f"name_{n}") for n in range(4)]
        assert b"".join(word.to_bytes(4, "little") for word in words).rstrip(b"\0") == b"switch"
        assert await bench.read(ctx, "description", "clock") == CONFIG.clock_hz
        assert await bench.read(ctx, "description", "layout", "windows") == len(bench.windows)
        assert await bench.read(ctx, "description", "map_hash") == bench.device.registers.map_hash
        built = [await bench.read(ctx, "switch", "capabilities", field) for field in ("stations", "ports")]
        assert built == [2, PORTS]
        assert await bench.read(ctx, "switch", "route_capabilities", "entries") == 8
        for station in range(2):
            assert await bench.read(ctx, f"station_{station}_core", "capabilities", "ports") == PORTS
            assert await bench.read(ctx, f"station_{station}_core", "capabilities", "strict_ordering") == 1
            for port in range(PORTS):
                values = {"id": 100 * station + port, "valid": 1}
                await bench.write(ctx, f"station_{station}_core", f"accelerator_{port}", **values)
        for station in range(2):
            for port in range(PORTS):
                at = f"station_{station}_core", f"accelerator_{port}"
                assert await bench.read(ctx, *at) == 1 << 31 | 100 * station + port
                # Registers of the station are its own.
                await bench.write(ctx, f"station_{station}_dl_{port}", "local_port", number=40 * station + port)
        for station in range(2):
            for port in range(PORTS):
                shown = await bench.read(ctx, f"station_{station}_dl_{port}", "local_port", "number")
                assert shown == 40 * station + port
        known = {base + register.offset for base, table in bench.windows.values() for register in table}
        size = 4 << bench.device.registers.address_bits
        for base, _ in bench.windows.values():
            unknown = [base + offset for offset in range(0, size, 4) if base + offset not in known]
            for address in (unknown[0], unknown[-1]):
                assert (await bench.master.read(ctx, address), await bench.master.write(ctx, address, 1)) == ((0, 1), 1)
        for address in (size * len(bench.windows), (4 << len(bench.device.bus.address)) - 4):
            assert await bench.master.read(ctx, address) == (0, 1)
        for values in ({"accelerator": 8}, {"station": 2}):
            assert await bench.write(ctx, "switch", "route_select", **values) == 1
        assert await bench.write(ctx, "switch", "route_write", egress_port=2, start=1) == 1

    bench.run(story)


@pytest.mark.req("SW-081", "SW-097")
def test_registers_of_a_station_are_joined_to_its_ports():
    """What firmware sets arrives at the port whose window it is, and what the port shows is read there alone."""
    bench = shared_bench()
    places = [(station, port) for station in range(2) for port in range(PORTS)]

    async def story(ctx):
        for number, (station, port) in enumerate(places):
            window = f"station_{station}"
            assert not await bench.write(ctx, f"{window}_dl_{port}", "local_port", number=number + 5, valid=1)
            assert not await bench.write(ctx, f"{window}_tl_{port}", "control", is_switch=number & 1)
            assert not await bench.write(ctx, f"{window}_dl_{port}", "uart_tx", data=number + 900)
            agents = bench.agents[station]
            ctx.set(agents.tl_status[port].isolates, number + 40)
            ctx.set(agents.dl_status[port].link_state, LinkState(number))
        for station, agents in enumerate(bench.agents):
            ctx.set(agents.completer_status.control_error, station)
            ctx.set(agents.originator_status.data_error, 1 - station)
        await ctx.tick().repeat(4)
        for number, (station, port) in enumerate(places):
            agents = bench.agents[station]
            assert ctx.get(agents.dl_config[port].local_port.number) == number + 5
            assert ctx.get(agents.tl_control[port].is_switch) == number & 1
            sent = agents.dl_uart_tx[port]
            assert (ctx.get(sent.valid), ctx.get(sent.payload)) == (1, number + 900)
            # Injection was not built: no register sets it off.
            assert not await bench.write(ctx, f"station_{station}_dl_{port}", "inject", enable=1)
            assert await bench.read(ctx, f"station_{station}_dl_{port}", "inject", "enable")
            assert not ctx.get(agents.dl_config[port].inject_enable)
            assert await bench.read(ctx, f"station_{station}_tl_{port}", "counts", "isolates") == number + 40
            assert await bench.read(ctx, f"station_{station}_dl_{port}", "link_status", "link_state") == number
        # Of the four states one is Up: the last, at the last port.
        events = [await bench.read(ctx, f"station_{station}_core", "link_events") for station in range(2)]
        assert events == [0, 0b10]
        await bench.write(ctx, "station_1_core", "link_events", up_1=1)
        ctx.set(bench.agents[1].dl_status[1].link_state, LinkState.NOP)
        await bench.write(ctx, "station_1_interrupts", "core_mask", link_down_1=1)
        assert await bench.lines(ctx) == (1, 0b10)
        assert await bench.read(ctx, "station_1_core", "link_events") == 0b10_0000
        await bench.write(ctx, "station_1_core", "link_events", down_1=1)
        assert await bench.lines(ctx) == (0, 0)
        for station in range(2):
            window = f"station_{station}_upli"
            assert await bench.read(ctx, window, "completer_status", "control_error") == station
            assert await bench.read(ctx, window, "originator_status", "data_error") == 1 - station

    bench.run(story)


class Dead(wiring.Component):
    """A station that does nothing."""

    def __init__(self, config):
        super().__init__(dict(Station(config).signature.members))

    def elaborate(self, platform):
        return Module()


@pytest.mark.parametrize("bus", [bus for bus in BUSES if bus != CONFIG.bus])
def test_every_access_is_answered_behind_every_bridge(bus):
    """The first and the last register of each window, and behind it; stations that are not there."""
    switch = CONFIG.switch.replace(station=CONFIG.switch.station.replace(ports=1))
    bench = DeviceBench(CONFIG.replace(bus=bus, switch=switch), Dead, empty)
    size = 4 << bench.device.registers.address_bits
    there = size * len(bench.windows)
    reach = 4 << len(bench.device._banks.bus.address)

    async def story(ctx):
        async def errors(address):
            """Whether a read and a write of 0 there are."""
            return [(await bench.master.read(ctx, address))[1] != 0, await bench.master.write(ctx, address, 0) != 0]

        for name, (base, table) in bench.windows.items():
            registers = list(table)
            for register in (registers[0], registers[-1]):
                if not (register.has(Access.POP) or register.has(Access.PUSH)):
                    expected = [not register.readable, not register.writable]
                    assert await errors(base + register.offset) == expected, (name, register.name)
            offsets = {register.offset for register in registers}
            unknown = [offset for offset in range(0, size, 4) if offset not in offsets]
            for offset in (unknown[0], unknown[-1]):
                assert await errors(base + offset) == [True, True], name
        for address in (there, (there + reach) // 2 & ~3, reach - 4):
            assert await errors(address) == [True, True]
        assert await bench.read(ctx, "description", "map_hash") == bench.device.registers.map_hash
        assert not await bench.write(ctx, "station_1_core", "accelerator_0", id=77, valid=1)
        assert await bench.read(ctx, "station_1_core", "accelerator_0", "id") == 77
        assert await bench.read(ctx, "station_0_core", "accelerator_0", "id") == 0

    bench.run(story)


@pytest.mark.req("SW-059", "SW-100")
def test_routes_change_over_the_bus_while_items_go_by_them():
    """Each item of a stream leaves once, by one of the routes that there were, or is counted as denied."""
    bench = shared_bench()
    ways = [(1, 0), (0, 1), None, (1, 1), (0, 0), None, (1, 0)]
    left, sent = [], [0]

    async def stream(ctx):
        """Reads by port 0 of station 0, as many as it takes."""
        link = bench.agents[0].link_req[0]
        ctx.set(Value.cast(link.payload), pack("req", dst_phys_acc_id=5, src_phys_acc_id=7, cmd=READ))
        while True:
            taken, *there = (await ctx.tick().sample(link.valid & link.ready, *(a.into_link for a in bench.agents)))[2:]
            sent[0] += taken
            left.extend((n, port) for n, bits in enumerate(there) for port in range(PORTS) if bits >> port & 1)

    async def story(ctx):
        await bench.ready(ctx)
        assert not await bench.write(ctx, "switch", "route_select", station=0, accelerator=5)
        ctx.set(bench.agents[0].link_req[0].valid, 1)
        for way in ways:
            station, port = way or (1, 1)
            deny = 0 if way else 0b01
            assert not await bench.write(
                ctx, "switch", "route_write", start=1, deny=deny, egress_station=station, egress_port=port
            )
            await ctx.tick().repeat(16)
            before = len(left), sent[0]
            await ctx.tick().repeat(16)
            assert sent[0] > before[1] + 4 and set(left[before[0] :]) == ({way} if way else set())
        ctx.set(bench.agents[0].link_req[0].valid, 0)
        await ctx.tick().repeat(16)
        denied = await bench.read(ctx, "station_0_core", "denied_0", "count")
        assert denied > 16 and len(left) + denied == sent[0]
        assert [await bench.read(ctx, f"station_{n}_core", f"denied_{1 - n}") for n in range(2)] == [0, 0]

    bench.run(story, stream)
