"""``SwitchFirmware`` at the registers of a switch whose stations are agents only: routes, denied items, Drop Mode."""

import pytest

from support.switch.device_bench import ONE_BENCH, shared_bench
from support.switch.simulated_bus import SimulatedBus
from ualink.switch.flow import COUNTS
from ualink_sim.bfm.common.identity import FirmwareError
from ualink_sim.bfm.common.register_bus import DesignTable, RegisterError
from ualink_sim.bfm.common.switch_firmware import Denied, Route, SwitchFirmware

pytestmark = [ONE_BENCH, pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


@pytest.mark.req("SW-058", "SW-059", "SW-070", "SW-071", "SW-072", "SW-097", "SW-100")
def test_firmware_routes_denies_and_leaves_drop_mode():
    bench = shared_bench()

    async def story(ctx):
        table = DesignTable(bench.device.registers.to_dict())
        firmware = SwitchFirmware(SimulatedBus(bench, ctx, table["description"]), table, patience=50)
        identity = await firmware.identify()
        assert (identity.name, identity.windows, len(firmware.stations)) == ("switch", len(table.windows), 2)
        routes = {accelerator: Route(*place) for accelerator, place in bench.places.items()}
        await firmware.set_routes(routes)
        guarded = Route(*bench.places[5], deny=frozenset({1}))
        await firmware.set_route(0, 5, guarded)
        assert [await firmware.route(station, 5) for station in range(2)] == [guarded, routes[5]]
        assert await firmware.route(1, 7) == Route(deny=frozenset(range(4))), "as after reset"
        await firmware.enable_interrupts({"core": ["denied_port_1", "ingress_drop_mode"]})
        assert await bench.send(ctx, 0, 0, 5) == [bench.places[5]]
        assert await firmware.causes() == {} and await firmware.denied() == {}

        assert await bench.send(ctx, 0, 1, 5) == []
        assert await bench.lines(ctx) == (1, 0b01)
        assert await firmware.causes() == {0: {"core": {"denied_port_1"}}}
        assert await firmware.denied() == {(0, 1): Denied(1, 7, 5, "request")}
        await firmware.clear_denied()
        assert await firmware.denied() == {} and await firmware.causes() == {}

        assert await bench.send(ctx, 1, 0, 5, flip=True) == []
        assert await firmware.core_drops() == {1: {"ingress"}}
        causes = await firmware.causes()
        assert causes == {1: {"core": {"ingress_drop_mode"}}}
        assert (await firmware.errors())[1]["core"]["ingress_status.control_error"] == 1
        await firmware.leave_drop_mode()
        assert await firmware.core_drops() == {} and await firmware.drop_causes() == {}
        await firmware.clear(causes)
        assert await bench.lines(ctx) == (0, 0)
        assert await bench.send(ctx, 1, 0, 5) == [bench.places[5]]

        flows = await firmware.flows()
        assert flows.keys() == {(station, port) for station in range(2) for port in range(2)}
        # By port 0 of station 0 one Request came, by port 1 one that was denied; one whose parity was wrong by that of
        # station 1, and one that went back by it. None found a queue full.
        shown = {place: [flow[f"req_{name}"] for name in COUNTS] for place, flow in flows.items()}
        assert {place: counts for place, counts in shown.items() if any(counts)} == {
            (0, 0): [0, 1, 0, 0, 0, 0, 0],
            (0, 1): [0, 1, 1, 0, 0, 0, 0],
            (1, 0): [0, 1, 0, 0, 2, 0, shown[1, 0][-1]],
        }
        assert [flows[station, 0]["req_high_water.items"] for station in range(2)] == [1, 1]
        assert not any(flow[f"wr_rsp_{name}"] for flow in flows.values() for name in COUNTS)

        await firmware.stations[1].set_accelerator(1, 5)
        shown = await firmware.stations[1].windows["core"].read_fields("accelerator_1")
        assert shown == {"id": 5, "valid": 1}
        assert (await firmware.counters())[1]["dl_1"]["link_downs"] == 0
        await firmware.configure({"dl": {"local_port": {"number": 3}}})
        assert await firmware.stations[1].dl[0].bus.read("local_port", "number") == 3
        await firmware.mask_interrupts()
        for refused in (firmware.set_route(2, 0, Route()), firmware.set_route(0, 0, Route(0, 2))):
            with pytest.raises(RegisterError):
                await refused
        with pytest.raises(KeyError, match="colour"):
            await firmware.enable_interrupts({"core": ["colour"]})
        table.map_hash ^= 1
        with pytest.raises(FirmwareError, match="the table is of"):
            await firmware.identify()

    bench.run(story)
