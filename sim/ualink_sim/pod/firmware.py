"""The firmware of a simulated pod: brings its links up and keeps them up, through registers alone."""

from collections.abc import Mapping, Set
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, Combine, RisingEdge

from ..bfm.common.controller_firmware import ControllerFirmware
from ..bfm.common.pod_controller import PodController
from ..bfm.common.register_bus import DesignTable, RegisterBus
from ..bfm.common.station_firmware import Settings, StationFirmware
from ..bfm.common.switch_firmware import SwitchFirmware
from ..records import FlowCounts
from .scenario import Scenario
from .top import make_controller, make_switch
from .topology import Topology

__all__ = ["LinkEnd", "PodFirmware"]

LinkEnd = tuple[str, int, int]
"""An end of a link: "acc" or "sw", accelerator or station, port."""

LOOK_CYCLES = 16
"""From one look at a station whose links do not all carry traffic to the next."""
EVENT = "drop_mode"
"""What firmware is told of by the interrupt line: a port is in Drop Mode, as it is after its link went down."""


class PodFirmware:
    """What the processors of the pod ``dut`` do: one for each accelerator, and one for the switch.

    Each has its device's register bus and interrupt line, and nothing else. They run beside ``PodBench.tick``.
    ``wired`` are the ends of links; ports without one stay disabled.

    Attributes
    ----------
    controllers, switch : what each processor does its work with.
    pod_controller : has that of the switch make, change and tear down virtual pods.
    online : by end, whether channel 0 was online when a processor last looked.
    link_state : by end, ``LinkState`` as a code; last read by ``take_stock``.
    counters : by end, the counters of its data link; last read by ``take_stock``.
    flows : what went through the switch by virtual pod, and for None of accelerators that were in none; as well.
    """

    def __init__(self, dut: Any, scenario: Scenario, topology: Topology, wired: Set[LinkEnd]):
        self._dut, self._scenario, self._wired = dut, scenario, wired
        controller = DesignTable(make_controller(scenario.switch).registers.to_dict())
        switch = DesignTable(make_switch(scenario.switch).registers.to_dict())
        self.controllers = [
            ControllerFirmware(_bus(dut, f"acc__{number}", controller), controller)
            for number in range(scenario.pod.accelerators)
        ]
        self.switch = SwitchFirmware(_bus(dut, "sw", switch), switch)
        self.pod_controller = PodController(self.switch, topology.wiring, ports_per_row=scenario.switch.ports_per_row)
        self._stations: dict[tuple[str, int], StationFirmware] = {
            **{("acc", number): station for number, station in enumerate(self.controllers)},
            **{("sw", number): station for number, station in enumerate(self.switch.stations)},
        }
        self.online = dict.fromkeys(wired, False)
        self.link_state = dict.fromkeys(wired, 0)
        self.counters: dict[LinkEnd, Mapping[str, int]] = {}
        self.flows: dict[str | None, FlowCounts] = {}

    async def bring_up(self) -> None:
        """All that comes before traffic: identify, choose ports, configure, write the routes, enable links; each is
        online then.

        From then on each processor waits for the interrupt of its device, to clear Drop Mode.
        """
        tasks = [cocotb.start_soon(self._bring_up_controller(number)) for number in range(len(self.controllers))]
        await Combine(*tasks, cocotb.start_soon(self._bring_up_switch()))

    async def _bring_up_controller(self, number: int) -> None:
        controller = self.controllers[number]
        await controller.identify()
        stations = {("acc", number)}
        await self._choose_ports(stations)
        await self._enable(stations)
        await self._wait_for_links(stations)
        cocotb.start_soon(self._keep_up(getattr(self._dut, f"acc__{number}__irq"), stations))

    async def _bring_up_switch(self) -> None:
        await self.switch.identify()
        stations = {("sw", number) for number in range(len(self.switch.stations))}
        await self._choose_ports(stations)
        await self._enable(stations)
        # The links come up while the switch still writes Deny everywhere, as it does after reset.
        await self.create_virtual_pods()
        await self._wait_for_links(stations)
        cocotb.start_soon(self._keep_up(self._dut.sw__irq, stations))

    async def create_virtual_pods(self) -> None:
        """Let members of each virtual pod that there is at first reach one another, and nobody else."""
        for name, members in zip(self._scenario.vpod_names, self._scenario.vpods):
            await self.pod_controller.create(name, members)

    async def _choose_ports(self, stations: Set[tuple[str, int]]) -> None:
        """Have ``stations`` use the ports of the pod, where they are built for more; no link is enabled yet."""
        pod = self._scenario.pod
        for number in sorted(stations) if pod.choosable_ports else ():
            station = self._stations[number]
            if len(station.ports) != pod.ports:
                await station.bifurcate(pod.ports)

    async def _enable(self, stations: Set[tuple[str, int]]) -> None:
        """Configure ``stations``, and let their wired links come up."""
        for number in sorted(stations):
            station = self._stations[number]
            await station.configure(self._settings(number[0]))
            await station.enable_interrupts({f"tl_{port}": [EVENT] for port in station.ports})
        for kind, device, port in self._ends_of(stations):
            await self._stations[kind, device].windows[f"dl_{port}"].write("link_control", enable=1)

    async def _wait_for_links(self, stations: Set[tuple[str, int]]) -> None:
        while not await self._look(stations):
            await ClockCycles(self._dut.clk, LOOK_CYCLES)

    def _settings(self, kind: str) -> Settings:
        scenario = self._scenario
        # A limit below the round trip would ask again before the answer can come (ruling A-21).
        round_trip = 2 * (scenario.link.latency_cycles // 10 + 8) + 16
        control = {
            "is_switch": int(kind == "sw"),
            "authentication": int(scenario.authentication),
            "disable_tx_cache": int(not scenario.compression),
            "disable_rx_cache": int(not scenario.compression),
            "disable_response_compression": int(not scenario.compression),
        }
        limit = min(255, max(scenario.station.dl.rx_replay_limit, round_trip))
        return {"tl": {"control": control}, "dl": {"replay_control": {"rx_replay_limit": limit}}}

    async def _keep_up(self, irq: Any, stations: Set[tuple[str, int]]) -> None:
        """For ever: clear Drop Mode of ``stations`` as soon as the interrupt tells of it, until their links are back.

        It is cleared at both ends of a link in whatever order, so that the link comes up again (UALink_200 §3.1.4.3).
        What was dropped stays lost.
        """
        while True:
            if not int(irq.value):
                await RisingEdge(irq)
            for number in sorted(stations):
                station = self._stations[number]
                await station.clear(await station.causes())
            await self._wait_for_links(stations)

    async def _look(self, stations: Set[tuple[str, int]]) -> bool:
        """Clear what keeps ports of ``stations`` in Drop Mode; whether all their links carry traffic."""
        carry = True
        for kind, device, port in self._ends_of(stations):
            windows = self._stations[kind, device].windows
            status = await windows[f"tl_{port}"].read_fields("status")
            if any(value for name, value in status.items() if name.startswith("drop_")):
                await windows[f"tl_{port}"].write("clear_drop", start=1)
            online = bool(await windows[f"dl_{port}"].read("link_status", "online"))
            self.online[kind, device, port] = online
            carry = carry and online and not status["dropping"]
        return carry

    def _ends_of(self, stations: Set[tuple[str, int]]) -> list[LinkEnd]:
        return sorted(end for end in self._wired if end[:2] in stations)

    async def take_stock(self) -> None:
        """Read counters and states of all links, as they are at the end."""
        for kind, device, port in sorted(self._wired):
            station = self._stations[kind, device]
            self.counters[kind, device, port] = await station.dl[port].counters()
            status = await station.windows[f"dl_{port}"].read_fields("link_status")
            self.online[kind, device, port] = bool(status["online"])
            self.link_state[kind, device, port] = status["link_state"]
        for name in (None, *self._scenario.memberships):
            self.flows[name] = await self.pod_controller.counters(name)


def _bus(dut: Any, prefix: str, table: DesignTable) -> RegisterBus:
    return RegisterBus.from_prefix(dut, f"{prefix}__bus", dut.clk, table["description"])
