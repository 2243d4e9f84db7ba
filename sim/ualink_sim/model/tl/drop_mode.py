"""Drop Mode of a port's transaction layer, as management sees it (UALink_200 §3.1.3, §3.1.4)."""

from dataclasses import dataclass, field

__all__ = ["TLDropMode"]


@dataclass
class TLDropMode:
    """One cycle at a time: ``step`` says how the port is in this cycle.

    ``causes`` are those since Drop Mode was last cleared. A link that is down in Drop Mode is kept down until it is
    cleared; a session in which something was dropped is ended after that; dropping ends with the next one.
    """

    causes: set[str] = field(default_factory=set)
    was_online: bool = False
    spoilt: bool = False
    owes_a_session: bool = False

    def step(self, online: bool, events: set[str] = frozenset(), clear: bool = False) -> dict[str, bool]:  # type: ignore[assignment]
        """``events`` of this cycle beside a fall of ``online``: any of link_down (of another port of an accelerator),
        control_error, protocol_error, command."""
        asked_for = self.spoilt and not self.causes
        fell = self.was_online and not online and not asked_for
        now = set(events) | ({"link_down"} if fell else set())
        active = bool(self.causes or now)
        up = online and not active and not self.spoilt
        dropping = active or (self.owes_a_session and not up)
        shown = {
            "up": up,
            "dropping": dropping,
            "hold": (active and not online) or (self.spoilt and not active),
            "fell": fell,
        }
        self.causes = now | (set() if clear else self.causes)
        self.was_online = online
        self.spoilt = online and (self.spoilt or active)
        self.owes_a_session = dropping
        return shown
