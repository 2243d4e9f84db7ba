"""What a list of requests must do: the reference that a simulation's responses and memories are compared with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..beats import orig_data_beats, response_data, upli_request
from ..model.upli.completer import Completer
from ..model.upli.transactions import OrigDataBeat, RdRspBeat, Status
from ..request import Request

__all__ = ["Outcome", "Reference", "difference", "predict"]


@dataclass(frozen=True)
class Outcome:
    """Status name, and the bytes that come back (None for requests that return none)."""

    status: str
    data: bytes | None


class Reference:
    """The memories of a pod's accelerators; ``execute`` requests in the order in which their completers took them.

    It also watches that order: requests of one source to one destination must be executed by ascending line, once each,
    as far as they take the same port (all requests to one 256-byte block do) and are of the same virtual pod.
    """

    def __init__(self, accelerators: int):
        self.completers = [Completer() for _ in range(accelerators)]
        self._last: dict[tuple[int, int, int, str | None], int] = {}

    def execute(self, request: Request, beats: Sequence[OrigDataBeat] | None = None) -> Outcome:
        """Perform ``request`` (with ``beats`` in the place of its own data, if given) and tell what it must return."""
        response = self.completers[request.dst].execute(
            upli_request(request), orig_data_beats(request) if beats is None else beats
        )
        status = Status(response[0].status).name
        read = [beat for beat in response if isinstance(beat, RdRspBeat)]
        return Outcome(status, response_data(request, read) if request.returns_data else None)

    def out_of_order(self, request: Request, port: int = 0) -> str:
        """Note that ``request`` of ``port`` is executed now; what is wrong with that, empty when nothing is."""
        pair = request.src, request.dst, port, request.vpod
        last = self._last.get(pair, 0)
        self._last[pair] = max(last, request.line)
        if request.line > last:
            return ""
        return "executed twice" if request.line == last else f"executed after line {last} of the same pair"

    def memory(self) -> dict[int, dict[int, bytes]]:
        """The final 64 bytes of every line that a request touched, per accelerator."""
        return {
            number: {address: completer.memory.read_line(address) for address in sorted(completer.touched)}
            for number, completer in enumerate(self.completers)
        }


def difference(request: Request, expected: Outcome, got: Outcome) -> str:
    """In what ``got`` differs from ``expected``, in words; empty when in nothing."""
    if got.status != expected.status:
        return f"status is {got.status}, not {expected.status}"
    if got.data == expected.data:
        return ""
    if got.data is None or expected.data is None or len(got.data) != len(expected.data):
        return "the amount of data differs"
    at = next(n for n, (a, b) in enumerate(zip(got.data, expected.data)) if a != b)
    return f"byte {request.addr + at:#x} is {got.data[at]:02x}, not {expected.data[at]:02x}"


def predict(requests: Iterable[Request], accelerators: int) -> tuple[list[Outcome], dict[int, dict[int, bytes]]]:
    """Outcomes and final memories when ``requests`` take effect one after the other in the order of the list."""
    reference = Reference(accelerators)
    return [reference.execute(request) for request in requests], reference.memory()
