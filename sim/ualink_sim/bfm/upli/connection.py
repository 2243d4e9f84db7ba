"""The connection handshake of one side of an interface (UALink_200 §4.3)."""

from dataclasses import dataclass
from typing import Any

from .bus import reader
from .rules import ProtocolError

__all__ = ["Connection", "Handshake"]


@dataclass(frozen=True)
class Handshake:
    """The four signals as one side sees them: what it asks and is answered, what it is asked and answers."""

    clk_req: Any
    peer_clk_ack: Any
    peer_clk_req: Any
    clk_ack: Any


class Connection:
    """Asks for the outbound direction and accepts the inbound one, each after a delay in cycles.

    ClkReq stays low in the first cycle, whether reset ended at the rising or at the falling edge before (ruling B-01).
    ``outbound``: this side may send credits. ``inbound``: the partner may. With both, beats may flow (``open``).
    """

    def __init__(self, handshake: Handshake, request_delay: int = 0, acknowledge_delay: int = 0):
        self.outbound = False
        self.inbound = False
        self._clk_req, self._clk_ack = handshake.clk_req, handshake.clk_ack
        self._peer_clk_ack = reader(handshake.peer_clk_ack, "handshake")
        self._peer_clk_req = reader(handshake.peer_clk_req, "handshake")
        self._requested = False
        self._request_delay = 1 + request_delay
        self._acknowledge_delay = acknowledge_delay
        self._clk_req.value = 0
        self._clk_ack.value = 0

    @property
    def open(self) -> bool:
        """Both directions are open."""
        return self.outbound and self.inbound

    def tick(self) -> None:
        """One cycle."""
        acknowledged, requested = self._peer_clk_ack(), self._peer_clk_req()
        if (self.outbound and not acknowledged) or (self.inbound and not requested):
            raise ProtocolError("handshake", "handshake_sticky")
        if self.outbound and self.inbound:
            return
        if acknowledged and not self._requested:
            raise ProtocolError("handshake", "handshake_order")
        self.outbound = bool(acknowledged)
        if not self._requested:
            self._requested = self._request_delay <= 0
            self._request_delay -= 1
            self._clk_req.value = int(self._requested)
        if requested and not self.inbound:
            self.inbound = self._acknowledge_delay <= 0
            self._acknowledge_delay -= 1
            self._clk_ack.value = int(self.inbound)
