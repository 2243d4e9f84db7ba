"""The time division calendar of a group of channels (UALink_200 §2.5)."""

__all__ = ["Slots"]


class Slots:
    """Learns from the first beat of a group which port owns which cycle."""

    def __init__(self, ports: int):
        self.ports = ports
        self._phase: int | None = None

    def owns(self, port: int, cycle: int) -> bool:
        """Whether a beat of ``port`` may come in ``cycle``; the first one always may."""
        phase = (port - cycle) % self.ports
        if self._phase is None:
            self._phase = phase
        return phase == self._phase
