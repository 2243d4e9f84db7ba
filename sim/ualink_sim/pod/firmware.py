"""What management does in a simulated pod before and while the links are up."""

from collections.abc import Set

from amaranth.lib import wiring

from ualink.dl.registers.firmware import DLConfigSignature
from ualink.tl.control import TLControlSignature

from .scenario import Scenario
from .topology import Topology

__all__ = ["PodFirmware"]


class PodFirmware:
    """Drives the configuration of every port of the pod ``dut``; ``wired`` are the ends of links, (kind, device, port)
    each."""

    def __init__(self, dut, scenario: Scenario, topology: Topology, wired: Set[tuple[str, int, int]]):
        self._dut = dut
        self._scenario = scenario
        self._topology = topology
        self._wired = wired

    def configure(self) -> None:
        """Drive the configuration inputs: links enabled where wired, compression and tags as the scenario says."""
        scenario = self._scenario
        # A limit below the round trip would ask again before the answer can come (ruling A-21).
        round_trip = 2 * (scenario.link.latency_cycles // 10 + 8) + 16
        for kind, count in (("acc", scenario.pod.accelerators), ("sw", self._topology.stations)):
            for device in range(count):
                for port in range(self._topology.ports):
                    end = (kind, device, port)
                    dl = {
                        "enable": int(end in self._wired),
                        "rx_replay_limit": min(255, max(scenario.station.dl.rx_replay_limit, round_trip)),
                    }
                    tl = {
                        "is_switch": int(kind == "sw"),
                        "authentication": int(scenario.authentication),
                        "disable_tx_cache": int(not scenario.compression),
                        "disable_rx_cache": int(not scenario.compression),
                        "disable_response_compression": int(not scenario.compression),
                    }
                    self._set(end, "dl_config", DLConfigSignature(scenario.station.dl), dl)
                    self._set(end, "tl_control", TLControlSignature(), tl)

    def clear_drop_mode(self) -> None:
        """Clear Drop Mode where a link went down or an error was met, at both ends of the link in whatever order, so
        that the link comes up again (UALink_200 §3.1.4.3). What was dropped stays lost."""
        for end in self._wired:
            cause = getattr(self._dut, f"{_prefix(end, 'tl_status')}__drop_cause").value
            getattr(self._dut, f"{_prefix(end, 'tl_control')}__clear_drop").value = int(cause != 0)

    def _set(self, end: tuple[str, int, int], member: str, signature: wiring.Signature, values: dict) -> None:
        for name, of_signature in signature.members.items():
            value = values.get(name, int(of_signature.init or 0))
            getattr(self._dut, f"{_prefix(end, member)}__{name}").value = value


def _prefix(end: tuple[str, int, int], member: str) -> str:
    """The name of ``member`` of one port of the pod."""
    kind, device, port = end
    return f"acc__{device}__{member}__{port}" if kind == "acc" else f"sw__{member}__{device}__{port}"
