"""Requests and their Originator Data, joined and checked (UALink_200 §2.7.8)."""

from collections import deque
from collections.abc import Sequence

from ...model.upli import transactions as upli
from .channel import Beat
from .rules import ProtocolError

__all__ = ["RequestCollector", "data_beats", "model_request"]

_REQUEST_FIELDS = tuple(upli.Request.__dataclass_fields__)


def data_beats(request: Beat) -> int:
    """OrigData beats that ``request`` brings: ReqCmd[5] and ReqNumBeats."""
    return request["num_beats"] + 1 if request["cmd"] >> 5 & 1 else 0


def model_request(request: Beat) -> upli.Request:
    """The Request of the executable model with the fields of ``request``."""
    return upli.Request(**{name: request[name] for name in _REQUEST_FIELDS})


class RequestCollector:
    """Joins each Request with the OrigData beats that it owns.

    ``check_fields`` holds the Requests against the rules for command, address and length; where an interface carries
    encrypted Requests they do not apply.
    """

    def __init__(self, ports: int, *, check_fields: bool = True):
        self.ports = ports
        self.check_fields = check_fields
        self._received: list[deque[tuple[Beat, list[Beat]]]] = [deque() for _ in range(ports)]
        self._open: dict[int, tuple[Beat, list[Beat]]] = {}
        self._due: dict[int, int] = {}

    @property
    def busy(self) -> bool:
        """A Request has come whose data are not complete."""
        return bool(self._open)

    def take(self, cycle: int, request: Beat | None, data: Beat | None) -> Sequence[tuple[Beat, list[Beat]]]:
        """Note what came in ``cycle``; gives the Requests that are complete, per port in the order in which they came.

        To be called in every cycle with a beat, and in every one while ``busy``.
        """
        if request is not None:
            self._take_request(request, data)
        if data is not None:
            self._take_data(cycle, data)
        for port, due in self._due.items():
            if due <= cycle:
                raise ProtocolError("orig_data", "contiguous", f"port {port}")
        complete = []
        for received in self._received:
            while received and len(received[0][1]) == data_beats(received[0][0]):
                complete.append(received.popleft())
        return complete

    def _take_request(self, request: Beat, data: Beat | None) -> None:
        port = request["port_id"]
        if self.check_fields:
            if upli.is_reserved(request["cmd"]):
                raise ProtocolError("req", "command", f"{request['cmd']:#04x}")
            broken = upli.violations(model_request(request))
            if broken:
                raise ProtocolError("req", "request", f"{', '.join(broken)}: {request}")
        entry: tuple[Beat, list[Beat]] = (request, [])
        if data_beats(request):
            if port in self._open:
                raise ProtocolError("req", "data_overlap", f"port {port}")
            if data is None or data["port_id"] != port:
                raise ProtocolError("req", "first_data", f"port {port}")
            self._open[port] = entry
        self._received[port].append(entry)

    def _take_data(self, cycle: int, data: Beat) -> None:
        port = data["port_id"]
        if port not in self._open:
            raise ProtocolError("orig_data", "data_owner", f"port {port}")
        request, beats = self._open[port]
        if self._due.get(port, cycle) != cycle:
            raise ProtocolError("orig_data", "contiguous", f"port {port}")
        number, count = len(beats), data_beats(request)
        if data["offset"] != number:
            raise ProtocolError("orig_data", "offset", f"{data['offset']} on beat {number} of {count}")
        if data["last"] != (number + 1 == count):
            raise ProtocolError("orig_data", "last", f"{data['last']} on beat {number} of {count}")
        if data["vc"] != request["vc"]:
            raise ProtocolError("orig_data", "vc", f"{data['vc']} of a Request on VC {request['vc']}")
        beats.append(data)
        if data["last"]:
            del self._open[port]
            self._due.pop(port, None)
        else:
            self._due[port] = cycle + self.ports
