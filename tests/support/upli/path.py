"""Bus models and monitors at accelerators of a pod, and what lies between them.

``LINK`` is ``pod`` with a switch between the accelerators, ``direct`` for two without one, or ``ingress`` for two of
which the second has the transaction layer of a switch; ``AUTHENTICATION`` is 0 or 1.
"""

import os
from functools import partial

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.completer import UPLICompleter
from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.options import CompleterOptions
from ualink_sim.bfm.upli.originator import UPLIOriginator
from ualink_sim.pod.firmware import PodFirmware
from ualink_sim.pod.link import BeatPort
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.pod.topology import Topology
from ualink_sim.pod.wire import Wire

LINK = os.environ.get("LINK", "pod")
DIRECT = LINK != "pod"
AUTHENTICATION = os.environ.get("AUTHENTICATION") == "1"
CORE = range(4)
"""Stations of the switch."""
DEVICES = (0, 1) if DIRECT else (0, 1, 2)
SCENARIO = '[pod]\naccelerators = 4\n[[workload]]\nkind = "uniform"\n'


class Device:
    """Accelerator ``number``: a bus model and a monitor on each UPLI interface of its station.

    ``sent`` and ``received`` are the Response beats that it has sent and received, per channel, in their order;
    ``overtaking`` the commands of Requests that it has issued in a cycle with data of an earlier one.
    """

    def __init__(self, dut, number, handler, check_fields=True, **options):
        outer = UPLIBus.from_prefix(dut, f"acc__{number}__upli_completer")
        inner = UPLIBus.from_prefix(dut, f"acc__{number}__upli_originator")
        self.originator = UPLIOriginator(outer)
        self.completer = UPLICompleter(inner, handler, CompleterOptions(check_fields=check_fields, **options))
        self.monitors = [UPLIMonitor(bus, check_fields=check_fields) for bus in (outer, inner)]
        self.sent = {"rd_rsp": [], "wr_rsp": []}
        self.received = {"rd_rsp": [], "wr_rsp": []}
        self.overtaking = set()
        self.originator.req.drive = partial(self._issue, self.originator.req.drive)
        for channel in self.sent:
            sender, receiver = getattr(self.completer, channel), getattr(self.originator, channel)
            sender.drive = partial(self._send, self.sent[channel], sender.drive)
            receiver.sample = partial(self._receive, self.received[channel], receiver.sample)

    def _issue(self, drive, beat):
        if not beat["cmd"] >> 5 and any(self.originator._burst):
            self.overtaking.add(beat["cmd"])
        drive(beat)

    @staticmethod
    def _send(beats, drive, beat):
        beats.append(beat)
        drive(beat)

    @staticmethod
    def _receive(beats, sample, cycle):
        beat = sample(cycle)
        if beat is not None:
            beats.append(beat)
        return beat


class Path:
    """The pod with ``handler(device, request, data)`` behind the Completer of each device; ``step`` is one cycle."""

    def __init__(self, dut, handler, **options):
        self.dut = dut
        self.topology = Topology(4, 1)
        self.fall = FallingEdge(dut.clk)
        self.devices = {n: Device(dut, n, partial(handler, n), **options) for n in DEVICES}
        links = [(("acc", 0), ("acc", 1))]
        if not DIRECT:
            links = [(("acc", n), ("sw", self.topology.switch_end(n, 0).device)) for n in DEVICES]
        self.ends, self.sent, self.arrivals = {}, {}, {}
        for pair in links:
            wires = Wire(10), Wire(10)
            for end, out, back in zip(pair, wires, reversed(wires)):
                prefix = "acc__{}__rs" if end[0] == "acc" else "sw__rs__{}"
                self.ends[end] = BeatPort(dut, prefix.format(end[1])), out, back
        scenario = parse_scenario(SCENARIO, "scenario")
        self.firmware = PodFirmware(dut, scenario, self.topology, {(*end, 0) for end in self.ends})

    def station(self, end):
        """Firmware of the station at ``end`` of a link."""
        kind, device = end
        return (self.firmware.controllers if kind == "acc" else self.firmware.switch.stations)[device]

    async def _bring_up(self, end):
        station, is_switch = self.station(end), end[0] == "sw" or (LINK == "ingress" and end[1] == 1)
        control = {"is_switch": int(is_switch), "authentication": int(AUTHENTICATION)}
        await station.configure({"tl": {"control": control}})
        await station.bring_up([0])

    def tick(self):
        """Everything around the device, on the falling edge."""
        for port, _, back in self.ends.values():
            port.receive(0, self.arrivals.get(back))
            # Nothing in the first cycle after reset.
            self.sent[port] = (port.transmitted() or (0,))[1:]
        for port, out, _ in self.ends.values():
            self.arrivals[out] = out.cycle(*self.sent[port])
        for device in self.devices.values():
            device.originator.tick()
            device.completer.tick()

    async def step(self):
        await self.fall
        self.tick()

    async def begin(self):
        """Reset, routes, links up."""
        dut = self.dut
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
        for device in self.devices.values():
            for monitor in device.monitors:
                cocotb.start_soon(monitor.start(dut.clk, dut.rst))
        for _ in range(16):
            await self.fall
        dut.rst.value = 0
        if not DIRECT:
            await self.meanwhile(self.firmware.create_virtual_pods())
        await self.meanwhile(*(self._bring_up(end) for end in self.ends))

    async def meanwhile(self, *works, limit=8_000):
        """Cycles until all ``works``, which firmware does side by side, are done; what they give."""
        tasks = [cocotb.start_soon(work) for work in works]
        for _ in range(limit):
            if all(task.done() for task in tasks):
                return [task.result() for task in tasks]
            await self.step()
        raise AssertionError("firmware does not come to an end")

    async def finish(self, limit=20_000):
        """Until everything has completed and every credit is back."""
        for _ in range(limit):
            await self.step()
            if all(device.originator.idle and device.completer.idle for device in self.devices.values()):
                break
        for number, device in self.devices.items():
            assert device.originator.idle, f"{number}: {device.originator.responses.outstanding}"
        for _ in range(80):
            await self.step()
        for device in self.devices.values():
            for monitor in device.monitors:
                assert all(not channel.accounts.in_use for channel in monitor.channels.values())

    async def perform(self, source, transaction):
        """Submit ``transaction`` at ``source`` and wait for its Response."""
        self.devices[source].originator.submit(transaction)
        for _ in range(2000):
            if transaction.done:
                return
            await self.step()
        raise AssertionError(f"no Response to {transaction.request}")
