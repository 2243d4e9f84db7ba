"""One direction of a simulated link: from a transmitter's beats through a wire to a receiver."""

from dataclasses import replace

from ..bfm.upli.bus import reader
from ..capture.pcapng import Tap
from ..records import COUNTS, Bucket, Replay
from ..report.link_result import LinkResult
from .engine.results import Direction
from .wire import BAD, CONTROL, CUT, DATA, GOOD, REMOTE_FAULT, START, Beat, Wire

__all__ = ["BeatPort", "LinkDirection"]

NO_FAULT, LOCAL, REMOTE = range(3)

BEAT_MASK = (1 << 512) - 1
BUCKET_CYCLES = 240
"""A whole number of flit slots with 1, 2 and 4 ports, so that each bucket has as many."""
MOST_BUCKETS = 4096

CONTROL_FLITS = 4
"""Control flits in a row that end a link (UALink_200 §6.7.1); fewer stand between the DL flits of one that is up."""

OP_EXPLICIT_REPLAY, OP_REPLAY_REQUEST = 1, 3
SEQUENCE_NUMBERS = 511


class BeatPort:
    """Handles of one station's beat streams towards the reconciliation sublayer; payloads are flat vectors."""

    def __init__(self, dut, prefix: str):
        self._tx_valid, self._tx_payload = (
            reader(getattr(dut, f"{prefix}__tx__{name}"), prefix) for name in ("valid", "payload")
        )
        self.rx_valid = getattr(dut, f"{prefix}__rx__valid")
        self.rx_payload = getattr(dut, f"{prefix}__rx__payload")
        self.local_fault = getattr(dut, f"{prefix}__local_fault")
        self.remote_fault = getattr(dut, f"{prefix}__remote_fault")
        getattr(dut, f"{prefix}__tx__ready").value = 1
        self.rx_valid.value = 0
        self.rx_payload.value = 0
        self.local_fault.value = 0
        self.remote_fault.value = 0
        self._receiving = False
        self._faults = [NO_FAULT] * 4

    def transmitted(self) -> tuple[int, int, int, bool, bool] | None:
        """The beat of this cycle as (port, data, kind, first, last)."""
        if not self._tx_valid():
            return None
        word = self._tx_payload()
        flags = word >> 512
        return flags & 3, word & BEAT_MASK, flags >> 4 & 3, bool(flags & 4), bool(flags & 8)

    def receive(self, port: int, beat: Beat | None) -> None:
        """Present what has arrived for ``port`` in the coming cycle, and the fault that it tells of: a cut cable is a
        local one, a remote one is what the partner reports with the last slot that was not lost."""
        if beat is None or beat[4] == CUT:
            if beat is not None and self._faults[port] != LOCAL:
                self._show(port, LOCAL)
            if self._receiving:
                self.rx_valid.value = 0
                self._receiving = False
            return
        data, first, last, status, kind = beat
        if (last and status != BAD) or self._faults[port] == LOCAL:
            fault = REMOTE if kind == REMOTE_FAULT else NO_FAULT
            if fault != self._faults[port]:
                self._show(port, fault)
        self.rx_payload.value = data | (port | first << 2 | last << 3 | status << 4) << 512
        if not self._receiving:
            self.rx_valid.value = 1
            self._receiving = True

    def _show(self, port: int, fault: int) -> None:
        """Tell the station which fault ``port`` has."""
        self._faults[port] = fault
        self.local_fault.value = sum((fault == LOCAL) << n for n, fault in enumerate(self._faults))
        self.remote_fault.value = sum((fault == REMOTE) << n for n, fault in enumerate(self._faults))


class LinkDirection:
    """From one end of a link of a station with ``ports`` ports to the other, with what a person wants to know of it.

    ``taps`` are the captures at the transmitter and at the receiver. ``reverse`` must be set to the other direction of
    the link before the first cycle: Replay Requests for this direction travel there.
    """

    def __init__(self, name: str, wire: Wire, taps: tuple[Tap, Tap] | None, ports: int = 1):
        self.name = name
        self.wire = wire
        self.reverse: LinkDirection | None = None
        self.result = LinkResult(name=name, ports=ports)
        self.arrival: Beat | None = None
        self._data_bytes = 0
        self._beat = 0
        self._tx_tap: Tap | None = taps[0] if taps else None
        self._rx_tap: Tap | None = taps[1] if taps else None
        self._bucket = Bucket(start=0)
        self._segment_headers = 0
        self._controls = self._controls_seen = 0
        self._newest = SEQUENCE_NUMBERS
        self._current = SEQUENCE_NUMBERS
        self._wanted: tuple[int, int] | None = None

    def transmit(self, cycle: int, data: int | None, kind: int, first: bool, last: bool) -> None:
        """Send the transmitter's beat of this cycle; what arrives is left in ``arrival``."""
        if data is not None:
            if self._tx_tap is not None:
                self._tx_tap.beat(cycle, data, first, last, kind == DATA)
            self._count(cycle, data, kind, first, last)
        self.arrival = arrival = self.wire.cycle(data, kind, first, last)
        if arrival is not None:
            self._observe(cycle, *arrival)

    def begin(self, cycle: int) -> None:
        """The links are up and traffic starts: what is counted from now on is kept apart from what was before."""
        self._turn_over(cycle)

    def stand_still(self, start: int, end: int) -> None:
        """Nothing happens from ``start`` to ``end``: a bucket without counts."""
        self._turn_over(start)
        self._turn_over(end)

    @property
    def recovering(self) -> bool:
        """A Replay Request for this direction is not yet answered."""
        return self._wanted is not None

    def close(self, cycle: int) -> LinkResult:
        """End the last bucket and hand over what was found; buckets are merged until few enough are left."""
        self._turn_over(cycle)
        buckets = self.result.buckets
        while len(buckets) > MOST_BUCKETS:
            buckets = [_merge(*buckets[i : i + 2]) for i in range(0, len(buckets), 2)]
        self.result.buckets = buckets
        self.result.lost_flits = self.wire.lost_flits
        return self.result

    def adopt(self, found: Direction) -> None:
        """Take what an engine inside of the model has counted, up to ``close``."""
        for name, count in found.wire.items():
            setattr(self.wire, name, count)
        result = self.result
        result.control_slots, result.fault_slots = found.control_slots, found.fault_slots
        result.markers, result.replays = found.markers, found.replays
        *result.buckets, self._bucket = found.buckets

    def take(self) -> Beat | None:
        """The beat that has arrived and was not taken yet, if any."""
        arrival, self.arrival = self.arrival, None
        return arrival

    def carried(self, data_bytes: int) -> None:
        """Note that ``data_bytes`` of write data, operands and read data went this way since the start."""
        self._bucket.data_bytes += data_bytes - self._data_bytes
        self._data_bytes = data_bytes

    def _turn_over(self, cycle: int) -> None:
        self._bucket.cycles = cycle - self._bucket.start
        self.result.buckets.append(self._bucket)
        self._bucket = Bucket(start=cycle)

    def _count(self, cycle: int, data: int, kind: int, first: bool, last: bool) -> None:
        if cycle - self._bucket.start >= BUCKET_CYCLES:
            self._turn_over(cycle)
        bucket = self._bucket
        if first:
            self._segment_headers = 0
            self._beat = 0
            self.result.markers += kind == START
        elif self._beat & 1:
            self._segment_headers = self._segment_headers << 8 | data >> 24 & 0xFF
        self._beat += 1
        if not last:
            return
        if kind != DATA:
            self.result.control_slots += 1
            self.result.fault_slots += kind == REMOTE_FAULT
            self._controls += 1
            if self._controls >= CONTROL_FLITS:
                self._newest = self._current = SEQUENCE_NUMBERS
            return
        self._controls = 0
        bucket.flits += 1
        header = data >> 384 & 0xFFFFFF
        op, payload = header >> 21, header >> 20 & 1
        if op == OP_REPLAY_REQUEST and self.reverse is not None:
            self.reverse.requested(cycle, header >> 11 & 0x1FF)
        if not payload:
            return
        bucket.payload_flits += 1
        self._current = header >> 8 & 0x1FF if op < 2 else self._current % SEQUENCE_NUMBERS + 1
        if self._current == self._newest % SEQUENCE_NUMBERS + 1:
            self._newest = self._current
            bucket.tl_flits += (self._segment_headers & 0x9090909090).bit_count()
        else:
            bucket.replayed += 1

    def requested(self, cycle: int, seq: int) -> None:
        """The receiver asks for the flits from ``seq`` on; repeated copies of one request are one event."""
        if self._wanted is None:
            self._wanted = (cycle, seq)

    def _observe(self, cycle: int, data: int, first: bool, last: bool, status: int, kind: int) -> None:
        if kind == CUT:
            self._recovered(None)
            return
        if self._rx_tap is not None:
            self._rx_tap.beat(cycle, data, first, last, status == GOOD)
            if last and status == BAD:
                self._rx_tap.lose()
        if not last:
            return
        self._controls_seen = self._controls_seen + 1 if status == CONTROL else 0
        if self._controls_seen >= CONTROL_FLITS:
            self._recovered(None)
        elif status == GOOD and self._wanted is not None:
            header = data >> 384 & 0xFFFFFF
            replay = header >> 21 == OP_EXPLICIT_REPLAY and header >> 20 & 1
            if replay and header >> 8 & 0x1FF == self._wanted[1]:
                self._recovered(cycle - self._wanted[0])

    def _recovered(self, cycles: int | None) -> None:
        if self._wanted is not None:
            cycle, seq = self._wanted
            self.result.replays.append(Replay(cycle=cycle, seq=seq, cycles=cycles))
            self._wanted = None


def _merge(first: Bucket, second: Bucket | None = None) -> Bucket:
    if second is None:
        return first
    return replace(first, **{name: getattr(first, name) + getattr(second, name) for name in ("cycles", *COUNTS)})
