"""A station whose ports are chosen: cycle by cycle that of a station built for so many, and when the choice counts."""

import pytest

import ualink.dl.links
from support.chosen_station import ChosenLooped
from support.shared_simulator import SharedSimulator
from support.station_wire import FlitLink
from test_station_routing import CONFIG, Device


class Compared(Device):
    """The device before the station that is built for so many; in each cycle both stations are the same."""

    cycle = 0

    def __init__(self, looped, ports):
        super().__init__(looped, ports)
        self.looped = looped

    def drive(self, ctx):
        super().drive(ctx)
        self.looped.beside.check(ctx, self.cycle)
        self.cycle += 1


@pytest.mark.req("UPLI-017", "UPLI-067", "UPLI-084", "PHY-009", "SW-024")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_transactions_of_all_ports_are_those_of_a_station_built_for_so_many(monkeypatch, ports):
    monkeypatch.setattr(ualink.dl.links, "DataLink", FlitLink)
    looped = ChosenLooped(CONFIG, ports)

    async def bench(ctx, looped):
        await looped.start(ctx)
        device = Compared(looped, range(ports))
        await device.run(ctx, 10)
        device.ask()
        await device.run(ctx, 80 + 50 * ports)
        for port in range(ports):
            assert len(device.got["req", port]) == 3
            assert len(device.got["rd_rsp", port]) == 2 and len(device.got["wr_rsp", port]) == 2
        # A link goes down, and all ports of an accelerator enter Drop Mode.
        ctx.set(looped.station.rs.local_fault, 1)
        await device.run(ctx, 12 * ports)
        assert all(ctx.get(status.dropping) for status in looped.station.tl_status)
        device.ask()
        await device.run(ctx, 20 * ports)

    SharedSimulator(looped).run(bench)
