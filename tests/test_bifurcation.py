"""A station whose ports are chosen: cycle by cycle that of a station built for so many, to which beats of one port come
as late, and when the choice counts."""

import os

import pytest

import ualink.dl.links
from support.chosen_station import ChosenLooped
from support.shared_simulator import SharedSimulator
from support.station_wire import FlitLink
from test_station_routing import CONFIG, Device
from ualink.bifurcation import QUIET_CYCLES, Bifurcation, BifurcationMode
from ualink.config import ConfigError, DLConfig, PhyConfig, StationConfig
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.upli.chosen_turn import ChosenTurn
from ualink.upli.turn import Turn

PORTS = (1, 2, 4) if os.environ.get("UALINK_SOAK") else (1, 2)
"""Four chosen ports take the ways that four built ones do."""


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


@pytest.mark.req("UPLI-017", "UPLI-067", "UPLI-084", "PHY-008", "PHY-009", "SW-024")
@pytest.mark.soak
@pytest.mark.parametrize("ports", PORTS)
def test_transactions_of_all_ports_are_those_of_a_station_built_for_so_many(monkeypatch, ports):
    """Also in Drop Mode, and when the station was one of another number meanwhile, and is left as it stands then.

    One that is built for four tells all its agents' ports a cycle later what it has taken from them: here the last two.
    Its agents are not ``unhurried`` here.
    """
    monkeypatch.setattr(ualink.dl.links, "DataLink", FlitLink)
    if ports == 4:
        monkeypatch.setattr(Turn, "_taken", ChosenTurn._taken)
        monkeypatch.setattr(StationConfig, "agents_upli", property(lambda config: config.upli))
    looped = ChosenLooped(CONFIG, ports)

    async def bench(ctx, looped):
        await looped.use(ctx, ports)
        for others in ((), (4, 1, 2)):
            for other in others:
                await looped.use(ctx, other)
                await ctx.tick().repeat(11)
            await looped.use(ctx, ports)
            ctx.set(looped.station.rs.local_fault, 0)
            device = Compared(looped, range(ports))
            await device.run(ctx, 10)
            device.ask()
            await device.run(ctx, 80 + 45 * ports)
            for port in range(ports):
                assert [len(device.got[channel, port]) for channel in ("req", "rd_rsp", "wr_rsp")] == [3, 2, 2]
            # A link goes down, and all ports of an accelerator enter Drop Mode.
            ctx.set(looped.station.rs.local_fault, 1)
            await device.run(ctx, 12 * ports)
            assert all(ctx.get(status.dropping) for status in looped.station.tl_status)
            device.ask()
            await device.run(ctx, 20 * ports)

    SharedSimulator(looped).run(bench)


@pytest.mark.req("PHY-007")
def test_a_choice_waits_until_links_are_down_and_nothing_moves():
    """It is pending meanwhile, until the restart is over in which it is used. What was is chosen again without one."""

    async def bench(ctx, dut):
        async def wait(cycles, **inputs):
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            restarts = 0
            for _ in range(cycles):
                restarts += ctx.get(dut.restart)
                await ctx.tick()
            shown = dut.choice
            assert ctx.get(shown.links_down) == ctx.get(dut.links_down)
            return restarts, ctx.get(shown.pending), ctx.get(shown.in_force), ctx.get(dut.used)

        four, two, one = BifurcationMode.FOUR_X1, BifurcationMode.TWO_X2, BifurcationMode.ONE_X4
        long = 3 * QUIET_CYCLES
        assert await wait(long, links_down=1) == (0, 0, four, 4)
        ctx.set(dut.choice.wanted, 1)
        assert await wait(long, links_down=0) == (0, 1, four, 4)
        assert await wait(long, links_down=1, moves=1) == (0, 1, four, 4)
        # A single cycle with a beat begins the wait anew.
        assert await wait(QUIET_CYCLES - 2, moves=0) == (0, 1, four, 4)
        assert await wait(1, moves=1) == (0, 1, four, 4)
        assert await wait(QUIET_CYCLES - 2, moves=0) == (0, 1, four, 4)
        assert await wait(1, links_down=0) == (0, 1, four, 4)
        assert await wait(QUIET_CYCLES - 1, links_down=1) == (0, 1, four, 4)
        assert await wait(1) == (0, 1, four, 4)
        assert await wait(1) == (1, 1, four, 2)
        assert await wait(RESTART_CYCLES - 1) == (RESTART_CYCLES - 1, 0, two, 2)
        assert await wait(long) == (0, 0, two, 2)
        ctx.set(dut.choice.wanted, 0)
        assert await wait(QUIET_CYCLES + 1) == (1, 1, two, 1)
        assert await wait(long) == (RESTART_CYCLES - 1, 0, one, 1)
        # No number, and one that is taken back.
        ctx.set(dut.choice.wanted, 3)
        assert await wait(long) == (0, 0, one, 1)
        ctx.set(dut.choice.wanted, 2)
        assert await wait(QUIET_CYCLES - 2) == (0, 1, one, 1)
        ctx.set(dut.choice.wanted, 0)
        assert await wait(long) == (0, 0, one, 1)
        ctx.set(dut.choice.wanted, 2)
        assert await wait(QUIET_CYCLES) == (0, 1, one, 1)
        # What comes now comes too late.
        assert await wait(1, links_down=0, moves=1) == (1, 1, one, 4)
        assert await wait(long) == (RESTART_CYCLES - 1, 0, four, 4)

    SharedSimulator(Bifurcation()).run(bench)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ports": 2}, r"station\.ports is 2; it must be 4 with choosable_ports"),
        ({"separate_upli_clock": True}, r"choosable_ports and separate_upli_clock are both set; one of them can be"),
        ({"dl": DLConfig(replay_depth=8)}, r"dl\.replay_depth is 8; .* multiple of 4, and 12 or more"),
        ({"dl": DLConfig(replay_depth=30)}, r"dl\.replay_depth is 30; .* multiple of 4, and 12 or more"),
        ({"phy": PhyConfig(rate=200)}, r"phy\.rate of one port is 200; .* 400 or 800"),
        ({"phy": PhyConfig(rate=800, marker_interval=8192)}, r"phy\.marker_interval is 8192; .* from 4 to 4096"),
        ({"phy": PhyConfig(rates=(400, 400))}, r"phy\.rate of one port is \(400, 400\); .* 400 or 800"),
    ],
)
def test_what_cannot_be_chosen_is_refused(changes, said):
    with pytest.raises(ConfigError, match=said):
        StationConfig(**{"ports": 4, "choosable_ports": True} | changes)
