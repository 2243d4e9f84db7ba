"""Virtual pods of a simulated pod that are made, changed and torn down while it runs."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

import cocotb

from ..bfm.common.pod_controller import PodController
from ..records import VPodEvent
from .accelerator import Way
from .scenario import Scenario
from .vpod_table import VPodChange

__all__ = ["Node", "VPodChanges"]

REST_CYCLES = 20_000
"""Cycles after which the Responses that whoever leaves still waits for are given up."""
LOOK_CYCLES = 8
"""From one look at what is outstanding to the next."""

Link = tuple[int, Way]
"""A source, and one of its ways."""


class Node(Protocol):
    """What its node's management agent has an accelerator do; it issues nothing on the ways ``held``."""

    number: int
    held: set[Way]

    def under_way(self, destination: int) -> bool: ...
    def give_up(self, destination: int) -> None: ...
    def withdraw(self, ways: Iterable[Way]) -> list[int]: ...
    def withdraw_after(self, lines: set[int]) -> list[int]: ...


def links_of(vpod: str, members: Sequence[int]) -> set[Link]:
    """What members of ``vpod`` may issue on: requests of this virtual pod, and those of any."""
    return {(source, (name, to)) for source in members for to in members for name in (vpod, None)}


class VPodChanges:
    """Has ``controller`` make the changes of ``scenario`` when their time has come, one after the other, and ``nodes``
    issue Requests to members only; call ``tick`` in every cycle in which all links have been up.

    Requests of two accelerators that are never members of one virtual pod are not held: they are issued, and denied.
    Those of two that were members, and are never again, are withdrawn.

    Attributes
    ----------
    events : what was done, in order.
    withdrawn : lines of requests that are not issued any more.
    """

    def __init__(
        self,
        scenario: Scenario,
        controller: PodController,
        nodes: Sequence[Node],
        wait: Callable[[int], Awaitable[Any]],
    ):
        self._controller, self._nodes, self._wait = controller, nodes, wait
        self._left = list(scenario.vpod_changes)
        self._now: dict[str, tuple[int, ...]] = dict(zip(scenario.vpod_names, scenario.vpods))
        states = [(name, members) for name, states in scenario.memberships.items() for members in states]
        self._known = {link for state in states for link in links_of(*state)}
        self._cycle = 0
        self._task: Any = None
        self._stopped = False
        self.events: list[VPodEvent] = []
        self.withdrawn: set[int] = set()
        self._tell(range(len(nodes)))

    @property
    def busy(self) -> bool:
        """A change is under way."""
        return self._task is not None and not self._task.done()

    @property
    def next_change(self) -> int | None:
        """The cycle of the next change that has not begun."""
        return self._left[0].at if self._left else None

    def tick(self, cycle: int) -> None:
        """It is ``cycle`` now."""
        self._cycle = cycle
        if self._left and not self.busy and self._left[0].at <= cycle:
            self._task = cocotb.start_soon(self.make(self._left.pop(0)))

    async def stop(self) -> None:
        """Make no more changes, and wait for the end of the one that is under way."""
        self._stopped, self._left = True, []
        if self._task is not None:
            await self._task

    async def make(self, change: VPodChange) -> None:
        """Make ``change``, and note it."""
        begun = self._cycle
        before, after = links_of(change.vpod, self._now.get(change.vpod, ())), links_of(change.vpod, change.members)
        leave = before - after
        if change.drain:
            for source, way in leave:
                self._nodes[source].held.add(way)
            await self._rest(leave)
        if self._stopped:
            return
        if change.action == "tear_down":
            await self._controller.tear_down(change.vpod)
            del self._now[change.vpod]
        else:
            do = self._controller.create if change.action == "create" else self._controller.resize
            await do(change.vpod, change.members)
            self._now[change.vpod] = change.members
        # What one that joins has had outstanding to another since before will not be answered.
        for source, (_, destination) in after - before:
            self._nodes[source].give_up(destination)
        self._tell(change.members)
        self._withdraw()
        self.events.append(
            VPodEvent(
                action=change.action,
                vpod=change.vpod,
                members=change.members,
                drain=change.drain,
                at=change.at,
                begun=begun,
                done=self._cycle,
            )
        )

    def _tell(self, sources: Iterable[int]) -> None:
        """Have ``sources`` issue on the ways that are open now, and hold the others that ever are."""
        now = {link for state in self._now.items() for link in links_of(*state)}
        for source in sources:
            self._nodes[source].held = {way for start, way in self._known - now if start == source}

    async def _rest(self, links: Iterable[Link]) -> None:
        """Wait until nothing is outstanding on ``links``, or for so long that it never will be answered."""
        end = self._cycle + REST_CYCLES
        while not self._stopped and self._cycle < end:
            if not any(self._nodes[source].under_way(destination) for source, (_, destination) in links):
                return
            await self._wait(LOOK_CYCLES)

    def _withdraw(self) -> None:
        """Give up requests that nobody will issue, and those that wait for them."""
        to_come = {link for change in self._left for link in links_of(change.vpod, change.members)}
        lines: list[int] = []
        for node in self._nodes:
            lines += node.withdraw([way for way in node.held if (node.number, way) not in to_come])
        while lines:
            self.withdrawn.update(lines)
            lines = [line for node in self._nodes for line in node.withdraw_after(self.withdrawn)]
