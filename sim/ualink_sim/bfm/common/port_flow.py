"""Flow counters of a switch's ports, summed up for whom the port served (UALink_200 §8.5)."""

from collections.abc import Iterable

from ...records import FlowCounts
from .switch_firmware import SwitchFirmware

__all__ = ["KINDS", "WRAP", "PortFlow", "SwitchPort"]

SwitchPort = tuple[int, int]
"""Station and port."""

KINDS = ("req", "rd_rsp", "wr_rsp")
WRAP = 1 << 32
NAMES = ("accepted", "denied", "forwarded", "dropped_in", "dropped_out")


class PortFlow:
    """Reads the windows ``flow_<p>`` of ``switch``, whose counters start at 0 with reset, and wrap around."""

    def __init__(self, switch: SwitchFirmware):
        self._switch = switch
        self._last: dict[SwitchPort, dict[str, int]] = {}
        self._totals: dict[str | None, dict[str, int]] = {}

    async def account(self, places: Iterable[SwitchPort], owner: str | None) -> None:
        """Whatever went through ``places`` since they were last accounted for is of ``owner``."""
        total = self._totals.setdefault(owner, dict.fromkeys(NAMES, 0))
        for place in places:
            now = {name: sum([await self._read(place, f"{kind}_{name}") for kind in KINDS]) for name in NAMES}
            last = self._last.get(place, dict.fromkeys(NAMES, 0))
            for name in NAMES:
                total[name] += (now[name] - last[name]) % WRAP
            self._last[place] = now

    def total(self, owner: str | None) -> FlowCounts:
        """All that was accounted to ``owner``."""
        total = self._totals.get(owner, dict.fromkeys(NAMES, 0))
        dropped = total["dropped_in"] + total["dropped_out"]
        return FlowCounts(total["accepted"], total["denied"], total["forwarded"], dropped)

    async def under_way(self, place: SwitchPort) -> set[str]:
        """The kinds of which something is in the core that will leave by ``place``."""
        return {kind for kind, there in (await self._window(place).read_fields("under_way")).items() if there}

    async def forwarded(self, place: SwitchPort, kind: str) -> int:
        """How many items of ``kind`` have left by ``place``."""
        return await self._read(place, f"{kind}_forwarded")

    async def high_water(self, place: SwitchPort) -> int:
        """The most items that one of the queues which begin at ``place`` has held, or more."""
        window = self._window(place)
        return max([max((await window.read_fields(f"{kind}_high_water")).values()) for kind in KINDS])

    def _window(self, place: SwitchPort):
        station, port = place
        return self._switch.stations[station].windows[f"flow_{port}"]

    async def _read(self, place: SwitchPort, register: str) -> int:
        return await self._window(place).read(register, "count")
