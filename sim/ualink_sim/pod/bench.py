"""The cocotb side of ``ualink sim``: drives a compiled pod until every request has completed or nothing moves any more.
Files are those of ``running``.
"""

import random
from collections.abc import Callable
from pathlib import Path

import cocotb
from cocotb.triggers import ClockCycles

from ualink.phy.interface import BEATS_PER_FLIT

from ..bfm.upli.bus import UPLIBus
from ..bfm.upli.channel import Beat
from ..capture.pcapng import CaptureWriter
from ..model.upli import transactions as upli
from ..records import WITHDRAWN, Transaction
from ..report.results import Results
from ..request import Request
from .accelerator import Accelerator, Journey, Services
from .block_port import BlockPort
from .cable_cuts import CableCuts
from .firmware import PodFirmware
from .job import LOOK_CYCLES, Job
from .link_fault import LinkEndState, fault_of
from .predict import Reference
from .running import End, run_job
from .station import PodStation, UPLIChoice
from .vpod_changes import VPodChanges
from .wiring import make_links

__all__ = ["PodBench"]


class PodBench:
    """Accelerators' bus models, wires and the switch's tables around the pod on ``dut``."""

    def __init__(self, dut, job: Job, capture: CaptureWriter | None, stop: Path):
        scenario = job.scenario
        self._stop = stop
        self._next_look = 0
        self.skipped_cycles = 0
        self.dut = dut
        self.job = job
        self.topology = scenario.pod.topology
        self.reference = Reference(scenario.pod.accelerators)
        self.cycle = 0
        self.links_up: int | None = None
        self.completed: set[int] = set()
        self.finished: dict[int, Journey] = {}
        self._under_way: dict[int, Journey] = {}
        self.accelerators = [
            Accelerator(
                number,
                self.topology,
                UPLIBus.from_prefix(dut, f"acc__{number}__upli_completer"),
                UPLIBus.from_prefix(dut, f"acc__{number}__upli_originator"),
                self._services(number),
            )
            for number in range(scenario.pod.accelerators)
        ]
        self.ends = make_links(scenario, self.topology, capture)
        counts = {"acc": scenario.pod.accelerators, "sw": self.topology.stations}
        self.stations = {(kind, n): self._station(kind, n) for kind, count in counts.items() for n in range(count)}
        self.directions = [direction for end, pair in self.ends.items() if end[0] == "acc" for direction in pair]
        self.cuts = CableCuts(scenario.cuts, {direction.name: direction.wire for direction in self.directions})
        self.firmware = PodFirmware(dut, scenario, self.topology, set(self.ends))
        controller = self.firmware.pod_controller
        self.changes = VPodChanges(scenario, controller, self.accelerators, lambda n: ClockCycles(dut.clk, n))

    def _services(self, accelerator: int) -> Services:
        choice = UPLIChoice(self.dut, accelerator) if self.job.scenario.pod.choosable_ports else None
        return Services(self._perform, self._find, self._tags_of(accelerator), choice)

    def _station(self, kind: str, device: int) -> PodStation:
        mine = (pair for end, pair in self.ends.items() if end[:2] == (kind, device))
        wires = [direction.wire for pair in mine for direction in pair]
        return PodStation(self.dut, self.job.scenario, kind, device, wires)

    def _tags_of(self, accelerator: int) -> Callable[[], int]:
        """Draws the authentication tags of ``accelerator``, which are 0 where nothing is authenticated."""
        if not self.job.scenario.authentication:
            return lambda: 0
        rng = random.Random(f"{self.job.scenario.link.seed}/tags of {accelerator}")
        return lambda: rng.getrandbits(64)

    def _find(self, key: tuple[int, int, int]) -> Journey | None:
        return self.accelerators[key[0]].outstanding.get(key) if key[0] < len(self.accelerators) else None

    def _perform(self, journey: Journey, received: Beat, data: list[Beat]) -> list:
        """Execute what arrived on the destination's memory, and compare it with what was sent."""
        request = journey.request
        journey.arrive(received, data)
        journey.fault = journey.fault or self.reference.out_of_order(request, journey.transaction.port)
        beats = [
            upli.OrigDataBeat(
                data=beat["data"].to_bytes(64, "little"), byte_en=beat["byte_en"], error=bool(beat["error"])
            )
            for beat in data
        ]
        completer = self.reference.completers[request.dst]
        fields = {name: received[name] for name in upli.Request.__dataclass_fields__}
        response = completer.execute(upli.Request(**fields), beats)
        journey.expected = journey.outcome_of(response)
        return list(response)

    def check_end(self) -> None:
        """Raise ``End`` if no other cycle may begin."""
        if self.cycle >= self.job.scenario.run.max_cycles:
            raise End("max_cycles")
        if self.cycle >= self._next_look:
            self._next_look = self.cycle + LOOK_CYCLES
            if self._stop.exists():
                raise End("interrupted")

    def start(self) -> None:
        """Reset ends."""

    def tick(self) -> None:
        """One cycle of everything around the device, on the falling edge; raises ``End``."""
        self.check_end()
        self.cycle += 1
        self.cuts.tick(self.cycle)
        if self.links_up is not None:
            self.changes.tick(self.cycle)
        for station in self.stations.values():
            self._carry(station)
        for accelerator in self.accelerators:
            for journey in accelerator.tick(self.cycle, self.completed):
                self.finished[journey.request.line] = journey
                self.completed.add(journey.request.line)
        self._count_data()

    def _carry(self, station: PodStation) -> None:
        """Take the beat that ``station`` sends in this cycle, and give it the one that has come for the same port."""
        slot, beats = station.slot(), station.below
        if slot is None:
            return
        out = self.ends.get((station.kind, station.device, slot))
        if out is not None:
            sent = beats.transmitted()
            if sent is None:
                out[0].transmit(self.cycle, None, 0, False, False)
            else:
                out[0].transmit(self.cycle, *sent[1:])
        beats.receive(slot, out[1].take() if out is not None else None)

    def _count_data(self) -> None:
        """Credit each link direction with the data bytes that crossed the accelerators' UPLI interfaces."""
        for accelerator in self.accelerators:
            originator, completer = accelerator.originator, accelerator.completer
            for port in range(self.topology.ports):
                up, down = self.ends["acc", accelerator.number, port]
                up.carried(64 * (originator.orig_data.beats[port] + completer.rd_rsp.beats[port]))
                down.carried(64 * (originator.rd_rsp.beats[port] + completer.orig_data.beats[port]))

    def begin(self) -> None:
        """Traffic begins."""
        for direction in self.directions:
            direction.begin(self.cycle)
        for accelerator in self.accelerators:
            accelerator.give(r for r in self.job.requests if r.src == accelerator.number)

    async def advance(self, fall) -> None:
        """``LOOK_CYCLES`` cycles, or fewer when nothing is left to do."""
        for _ in range(LOOK_CYCLES):
            await fall
            self.tick()
            if self.left == 0:
                break

    @property
    def ended(self) -> int:
        """Requests that have their Response."""
        return len(self.completed)

    @property
    def left(self) -> int:
        """Requests that have no Response, but for those that are withdrawn."""
        return len(self.job.requests) - self.ended - len(self.changes.withdrawn)

    def up(self) -> bool:
        """Every wired port was online when firmware last looked."""
        return all(self.firmware.online.values())

    @property
    def marker_cycles(self) -> int:
        """From one alignment marker of a link to the next; 0 without any."""
        phy = self.job.scenario.port_phy
        return 0 if phy is None else phy.marker_slots * BEATS_PER_FLIT * self.topology.ports

    def _find_faults(self) -> None:
        """Name what keeps the links down that are not online at both ends."""
        firmware = self.firmware
        state = {}
        for acc, switch in self.topology.links():
            ends = ("acc", acc.device, acc.port), ("sw", switch.device, switch.port)
            chosen = not any(self.stations[end[:2]].chooses for end in ends)
            for end in ends:
                state[end] = LinkEndState(firmware.online[end], firmware.link_state[end], chosen)
            if not all(state[end].online for end in ends):
                for sender, receiver in (ends, ends[::-1]):
                    direction = self.ends[sender][0]
                    direction.result.fault = fault_of(
                        direction.wire, self.job.scenario.link, self.cycle, state[receiver], self.links_up
                    )

    def idle_until(self, stalled: bool) -> int | None:
        """The cycle of the next issue, of a change of a virtual pod, or of a cut before it, if it is still to come and
        nothing else is under way; None otherwise.

        What is in flight and has ``stalled`` is not waited for.
        """
        if self.changes.busy:
            return None
        times = [at for accelerator in self.accelerators for at in accelerator.waits_for(self.completed)]
        if self.changes.next_change is not None:
            times.append(max(self.cycle, self.changes.next_change - 1))
        change = self.cuts.next_change
        if change is not None and times:
            times.append(max(self.cycle, change - 1))
        if stalled:
            return min((at for at in times if at > self.cycle), default=None)
        if self.cuts.in_force or not self.up():
            return None
        busy = any(accelerator.in_flight for accelerator in self.accelerators)
        if busy or any(direction.recovering for direction in self.directions) or not times:
            return None
        return min(times) if min(times) > self.cycle else None

    def skip_to(self, cycle: int) -> None:
        """Let the clock stand still until the cycle before ``cycle``; the hardware sees nothing of that time."""
        for direction in self.directions:
            direction.stand_still(self.cycle, cycle - 1)
        self.skipped_cycles += cycle - 1 - self.cycle
        self.cycle = cycle - 1

    async def take_stock(self) -> None:
        """Have firmware read what ``results`` tells of links and switch; nothing comes over the wires meanwhile."""
        for station in self.stations.values():
            station.below.receive(0, None)
        await self.changes.stop()
        await self.firmware.take_stock()

    def results(self, seconds: float, ended: str) -> Results:
        """Everything that was found; to be called after ``take_stock``."""
        for end, (_, received) in self.ends.items():
            kind, device, number = end
            result = received.result
            counters = self.firmware.counters[end]
            result.crc_errors, result.link_downs = counters["crc_errors"], counters["link_downs"]
            port = self.stations[kind, device].below
            if isinstance(port, BlockPort):
                result.inserted_blocks, result.deleted_blocks = port.matched(number)
        if self.left:
            self._find_faults()
        self._under_way = {
            journey.request.line: journey
            for accelerator in self.accelerators
            for journey in accelerator.outstanding.values()
        }
        return Results(
            scenario=self.job.scenario,
            cycles=self.cycle,
            seconds=seconds,
            transactions=[self.fate(request) for request in self.job.requests],
            links=[direction.close(self.cycle) for direction in self.directions],
            memory=self.memory(),
            links_up=self.links_up,
            ended=ended,
            skipped_cycles=self.skipped_cycles,
            vpod_events=self.changes.events,
            vpod_flows=self.firmware.flows,
        )

    def memory(self) -> dict[int, dict[int, bytes]]:
        """Every line that a request touched, per accelerator."""
        return self.reference.memory()

    def fate(self, request: Request) -> Transaction:
        """What became of ``request``."""
        journey = self.finished.get(request.line)
        common = {name: getattr(request, name) for name in ("line", "src", "dst", "op", "addr", "len", "workload")}
        if journey is None:
            under_way = self._under_way.get(request.line)
            issued = under_way.issued if under_way else None
            status = WITHDRAWN if request.line in self.changes.withdrawn else "NONE"
            return Transaction(**common, status=status, data=None, issued=issued, completed=None)
        outcome = journey.outcome
        return Transaction(
            **common,
            status=outcome.status,
            data=outcome.data,
            issued=journey.issued,
            completed=journey.completed,
            mismatch=journey.mismatch,
        )


@cocotb.test()
async def pod(dut):
    """The job of ``UALINK_JOB``."""
    await run_job(dut, lambda job, capture, stop: PodBench(dut, job, capture, stop))
