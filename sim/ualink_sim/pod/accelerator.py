"""A simulated accelerator: issues its requests in a legal order, and answers those of others from its memory."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..beats import orig_data_beats, response_data, upli_request
from ..bfm.upli.bus import UPLIBus
from ..bfm.upli.channel import Beat
from ..bfm.upli.completer import UPLICompleter
from ..bfm.upli.memory_handler import to_beat
from ..bfm.upli.options import CompleterOptions, OriginatorOptions
from ..bfm.upli.originator import Transaction, UPLIOriginator
from ..model.upli import transactions as upli
from ..request import Request
from .predict import Outcome, difference
from .station import UPLIChoice
from .topology import Topology

__all__ = ["Accelerator", "Journey", "Services", "Way"]

Way = tuple[str | None, int]
"""The virtual pod of requests, None: any, and their destination. Requests on one way are issued in their order."""

READY_REQUESTS = 4
"""Requests handed to the bus model ahead of their issue, per accelerator."""


@dataclass(eq=False)
class Journey:
    """A request under way: its bus transaction, and what its completer did with it (None until then).

    ``issued`` and ``completed`` are cycles of the pod, which the bus models do not know when waits are skipped.
    ``response_tag`` is the authentication tag that the completer gave its Response; ``fault`` what was wrong by then.
    """

    request: Request
    transaction: Transaction
    issued: int | None = None
    completed: int | None = None
    expected: Outcome | None = None
    response_tag: int = 0
    fault: str = ""

    def arrive(self, received: Beat, data: list[Beat]) -> None:
        """Compare what has come to the completer with what was sent."""
        sent = self.transaction
        changed = [
            name for name in received if name not in ("pool", "port_id") and received[name] != sent.request.get(name, 0)
        ]
        if changed:
            self.fault = f"the Request arrived with other {', '.join(changed)}"
        if self.expected is not None:
            self.fault = "the Request was executed twice"
        for beat, original in zip(data, sent.data):
            if any(beat[name] != original[name] for name in ("data", "byte_en", "error")):
                self.fault = "the Request's data arrived changed"

    @property
    def mismatch(self) -> str:
        """What is wrong with the whole of a journey that has ended; empty when nothing is."""
        if self.expected is None:
            return "answered although nobody executed it"
        wrong = self.fault or difference(self.request, self.expected, self.outcome)
        if not wrong and any(beat["auth_tag"] != self.response_tag for beat in self.transaction.response):
            return "the Response arrived with another auth_tag"
        return wrong

    @property
    def outcome(self) -> Outcome:
        """What came back on the bus."""
        response = self.transaction.response
        if not self.request.returns_data:
            return self.outcome_of([upli.WrRspBeat(tag=beat["tag"], status=beat["status"]) for beat in response])
        return self.outcome_of(
            [
                upli.RdRspBeat(
                    tag=beat["tag"],
                    status=beat["status"],
                    data=beat["data"].to_bytes(64, "little"),
                    offset=beat["offset"],
                )
                for beat in response
            ]
        )

    def outcome_of(self, response: Sequence[upli.RdRspBeat] | Sequence[upli.WrRspBeat]) -> Outcome:
        """Status and data that ``response`` brings to this request."""
        status = upli.Status(response[0].status).name
        read = [beat for beat in response if isinstance(beat, upli.RdRspBeat)]
        return Outcome(status, response_data(self.request, read) if self.request.returns_data else None)


@dataclass(frozen=True)
class Services:
    """What an accelerator asks of its pod, and of its station beside UPLI.

    ``find`` gives the journey of an outstanding Request by (source, port, tag); ``perform`` executes one on the
    destination's memory and gives the response beats of the executable model. ``draw_tag`` gives the authentication
    tag of each Request and of each Response; every beat of a Response has the same. ``choice`` is there where the ports
    of its station are chosen.
    """

    perform: Callable[[Journey, Beat, list[Beat]], list]
    find: Callable[[tuple[int, int, int]], Journey | None]
    draw_tag: Callable[[], int] = lambda: 0
    choice: UPLIChoice | None = None


class Accelerator:
    """Accelerator ``number``: two bus models, one per UPLI interface of its station, called once per cycle.

    With ``services.choice`` its station is built for more ports than it may use: whenever that is reset for another
    number, both bus models begin anew, with the ports of the pod.

    Attributes
    ----------
    held : ways on which it hands on no request.
    """

    def __init__(
        self,
        number: int,
        topology: Topology,
        originator_bus: UPLIBus,
        completer_bus: UPLIBus,
        services: Services,
    ):
        self.number = number
        self.topology = topology
        ports = topology.built_ports or topology.ports
        self.originator = UPLIOriginator(originator_bus, OriginatorOptions(ports=ports, time_out=0))
        self.completer = UPLICompleter(completer_bus, self._answer, CompleterOptions(ports=ports))
        self.outstanding: dict[tuple[int, int, int], Journey] = {}
        self._perform = services.perform
        self._find = services.find
        self._draw_tag = services.draw_tag
        self._choice = services.choice
        self.held: set[Way] = set()
        self._waiting: dict[Way, deque[Request]] = {}
        self._in_flight: dict[Transaction, Journey] = {}
        self._given_up: set[Transaction] = set()
        self._turn = 0

    def give(self, requests: Iterable[Request]) -> None:
        """Add requests of this source, in their order."""
        for request in requests:
            self._waiting.setdefault((request.vpod, request.dst), deque()).append(request)

    @property
    def left(self) -> int:
        """Requests that wait or are in flight."""
        return sum(map(len, self._waiting.values())) + len(self._in_flight)

    @property
    def in_flight(self) -> int:
        """Requests that were handed on and have no response yet."""
        return len(self._in_flight)

    def under_way(self, destination: int) -> bool:
        """Whether a request to ``destination`` was handed on and has no response yet, but for those given up."""
        return any(
            journey.request.dst == destination and transaction not in self._given_up
            for transaction, journey in self._in_flight.items()
        )

    def give_up(self, destination: int) -> None:
        """Expect no more responses of ``destination`` to what was handed on, which holds up nothing then."""
        self._given_up.update(t for t, journey in self._in_flight.items() if journey.request.dst == destination)

    def withdraw(self, ways: Iterable[Way]) -> list[int]:
        """Give up the requests that wait on ``ways``; their lines."""
        return [request.line for way in ways for request in self._waiting.pop(way, ())]

    def withdraw_after(self, lines: set[int]) -> list[int]:
        """Give up the requests that wait for the completion of any of ``lines``; their own lines."""
        given_up: list[int] = []
        for way, queue in self._waiting.items():
            given_up += [request.line for request in queue if lines.intersection(request.after)]
            self._waiting[way] = deque(request for request in queue if not lines.intersection(request.after))
        return given_up

    def waits_for(self, completed: set[int]) -> list[int]:
        """``at`` of the requests that nothing but the time, past or to come, keeps from being handed on."""
        heads = [queue[0] for queue in self._waiting.values() if queue]
        return [head.at for head in heads if self._may_go(head, head.at, completed)]

    def tick(self, cycle: int, completed: set[int]) -> list[Journey]:
        """One cycle; ``completed`` are the lines that have. Returns the journeys that end now."""
        if self._choice is not None and self._begins_anew(self._choice):
            return []
        self._issue(cycle, completed)
        ended = [self._in_flight.pop(transaction) for transaction in self.originator.tick()]
        self._given_up.difference_update(journey.transaction for journey in ended)
        self.completer.tick()
        for journey in ended:
            journey.completed = cycle
            request = journey.transaction.request
            del self.outstanding[self.number, request["port_id"], request["tag"]]
        for transaction in self._newly_issued():
            request = transaction.request
            key = self.number, request["port_id"], request["tag"]
            journey = self.outstanding[key] = self._in_flight[transaction]
            journey.issued = cycle
        return ended

    def _begins_anew(self, choice: UPLIChoice) -> bool:
        """Whether the station is in reset in this cycle; no request was handed on by then."""
        choice.tell(not (self.originator.idle and self.completer.idle))
        restarts = choice.restarts()
        if restarts:
            for model in (self.originator, self.completer):
                model.options = replace(model.options, ports=self.topology.ports)
                model.reset()
        return restarts

    def _newly_issued(self) -> list[Transaction]:
        issued, self.originator.issued = self.originator.issued, []
        return issued

    def _issue(self, cycle: int, completed: set[int]) -> None:
        """Hand on requests whose time has come: in order per way, ways in turn."""
        ways = list(self._waiting)
        for step in range(len(ways)):
            if self.originator.backlog >= READY_REQUESTS:
                return
            queue = self._waiting[ways[(self._turn + step) % len(ways)]]
            if queue and self._may_go(queue[0], cycle, completed):
                self._start(queue.popleft())
                self._turn = (self._turn + step + 1) % len(ways)
                return

    def _may_go(self, request: Request, cycle: int, completed: set[int]) -> bool:
        return (
            cycle >= request.at
            and (request.vpod, request.dst) not in self.held
            and len(self._in_flight) - len(self._given_up) < request.window
            and all(line in completed for line in request.after)
        )

    def _start(self, request: Request) -> None:
        transaction = Transaction(
            request=to_beat(upli_request(request)) | {"auth_tag": self._draw_tag()},
            data=[to_beat(beat) for beat in orig_data_beats(request)],
            port=self.topology.port_for(request.addr),
        )
        self._in_flight[transaction] = Journey(request, transaction)
        self.originator.submit(transaction)

    def _answer(self, request: Beat, data: list[Beat]) -> tuple[str, list[Beat]]:
        journey = self._find((request["src_phys_acc_id"], request["port_id"], request["tag"]))
        if journey is None:
            raise AssertionError(f"accelerator {self.number} received a Request that nobody has outstanding: {request}")
        if journey.request.dst != self.number:
            journey.fault = f"the Request arrived at accelerator {self.number}"
        response = self._perform(journey, request, data)
        channel = "rd_rsp" if isinstance(response[0], upli.RdRspBeat) else "wr_rsp"
        journey.response_tag = self._draw_tag()
        return channel, [to_beat(beat) | {"auth_tag": journey.response_tag} for beat in response]
