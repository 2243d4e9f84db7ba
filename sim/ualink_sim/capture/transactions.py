"""Requests and responses of the two directions of a link, put together into transactions."""

from dataclasses import dataclass

from ..model.decode import DecodedFlit
from ..model.tl.reassembly import Received, ReceivedReadResponse, ReceivedRequest
from ..model.upli.transactions import RdRspBeat, Request, WrRspBeat
from .pcapng import CapturedFlit

__all__ = ["CapturedTransaction", "TransactionTracker"]


@dataclass
class CapturedTransaction:
    """A Request that crossed the link of ``interface`` and, once seen on the way back, its Response.

    Times are those of the flits in which Request and Response became whole. ``sent`` and ``received`` are whole 64-byte
    beats; ``status`` is None while no Response has come; ``poisoned`` when any of the data was.
    """

    interface: str
    request: Request
    requested_ps: int
    sent: bytes = b""
    poisoned: bool = False
    address_known: bool = True
    responded_ps: int | None = None
    status: int | None = None
    received: bytes = b""

    def respond(self, beats: tuple[RdRspBeat, ...] | tuple[WrRspBeat], time_ps: int) -> bool:
        """Take a Response, or one beat of several; True when it was the last."""
        self.responded_ps = time_ps
        for beat in beats:
            self.status = self.status or beat.status
            if isinstance(beat, RdRspBeat):
                self.received += beat.data
                self.poisoned = self.poisoned or beat.data_error
        return not isinstance(beats[-1], RdRspBeat) or beats[-1].last


class TransactionTracker:
    """Matches the Requests of one direction of a link with the Responses of the other, on every link of a capture.

    A transaction therefore appears on each link that it crosses. Of two taps on a direction only the one at the
    transmitter is followed.
    """

    def __init__(self) -> None:
        self._outstanding: dict[tuple[str, int, int], CapturedTransaction] = {}
        self._transmitters: set[str] = set()

    def see(self, packet: CapturedFlit, decoded: DecodedFlit) -> list[CapturedTransaction]:
        """Transactions that end with this flit: completed, or given up as the link restarted or the tag came again."""
        link, _, tap = packet.interface.partition("/")
        if tap == "rx" and link in self._transmitters:
            return []
        if tap == "tx":
            self._transmitters.add(link)
        ended: list[CapturedTransaction] = []
        if decoded.restarted:
            ended += self._give_up(link)
        for flit in decoded.tl_flits:
            for received in flit.received:
                ended += self._take(link, packet, received)
        return ended

    def unanswered(self) -> list[CapturedTransaction]:
        """Requests that still have no whole Response."""
        return list(self._outstanding.values())

    def _give_up(self, link: str) -> list[CapturedTransaction]:
        keys = [key for key in self._outstanding if key[0] == link]
        return [self._outstanding.pop(key) for key in keys]

    def _take(self, link: str, packet: CapturedFlit, received: Received) -> list[CapturedTransaction]:
        if isinstance(received, ReceivedRequest):
            request = received.request
            key = link, request.src_phys_acc_id, request.tag
            ended = [self._outstanding.pop(key)] if key in self._outstanding else []
            self._outstanding[key] = CapturedTransaction(
                packet.interface,
                request,
                packet.time_ps,
                sent=b"".join(beat.data for beat in received.beats),
                poisoned=any(beat.error for beat in received.beats),
                address_known=received.address_known,
            )
            return ended
        beats = received.beats if isinstance(received, ReceivedReadResponse) else (received.beat,)
        near, _, far = link.partition(">")
        key = f"{far}>{near}", beats[0].dst_phys_acc_id, beats[0].tag
        found = self._outstanding.get(key)
        return [self._outstanding.pop(key)] if found is not None and found.respond(beats, packet.time_ps) else []
