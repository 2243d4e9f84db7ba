"""An Originator Device on the streams of a simulated design: Requests of its own, held against what comes back."""

from collections import deque
from dataclasses import asdict, dataclass, field
from itertools import pairwise

from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from support.upli.pair import pack
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink_sim.bfm.upli.bus import reader
from ualink_sim.model.upli import transactions as upli

WHOLE = 256
"""Bytes of every transfer."""


@dataclass(eq=False)
class Ask:
    """A Request of 256 bytes; ``beats`` is what has come back."""

    addr: int
    data: bytes | None = None
    request: upli.Request | None = None
    beats: list[dict] = field(default_factory=list)

    @property
    def status(self) -> int | None:
        """None: not complete. Completion Timeout, if it came in place of beats that were missing."""
        needed = 4 if self.data is None else 1
        return self.beats[-1]["status"] if len(self.beats) == needed else None

    @property
    def read(self) -> bytes:
        """The data of a Read."""
        return b"".join(beat["data"].to_bytes(64, "little") for beat in sorted(self.beats, key=lambda b: b["offset"]))


class StreamDevice:
    """Drives the streams ``<prefix>__req__valid`` and so on of one port; ``run`` moves it for ever, and who moves many
    calls ``offer``, ``take`` and ``withdraw`` in each cycle.

    ``src`` and ``dst`` are the IDs that its Requests have, ``tags`` how many are out at a time.
    """

    def __init__(self, dut, prefix: str, clock, *, src: int, dst: int, tags: int):
        self._signals = {
            (channel, name): getattr(dut, f"{prefix}__{channel}__{name}")
            for channel in CHANNEL_LAYOUTS
            for name in ("valid", "ready", "payload")
        }
        self._fall, self._rise = FallingEdge(clock), RisingEdge(clock)
        self._ids = {"src_phys_acc_id": src, "dst_phys_acc_id": dst}
        self._free = deque(range(tags))
        self._waiting: deque[Ask] = deque()
        self._data: deque[int] = deque()
        self._out: dict[int, Ask] = {}
        self._request: Ask | None = None
        self._beat: int | None = None
        self._offering: set[str] = set()
        self._get = {key: reader(handle, key[0]) for key, handle in self._signals.items()}
        for channel in ("req", "orig_data"):
            self._signals[channel, "valid"].value = 0
        for channel in ("rd_rsp", "wr_rsp"):
            self._signals[channel, "ready"].value = 1

    def ask(self, addr: int, data: bytes | None = None) -> Ask:
        """Queue a Read, or a WriteFull of ``data``."""
        made = Ask(addr, data)
        self._waiting.append(made)
        return made

    @property
    def idle(self) -> bool:
        """Everything asked is answered."""
        return not (self._waiting or self._out or self._data)

    @property
    def outstanding(self) -> int:
        """Requests sent and not answered."""
        return len(self._out)

    @property
    def waiting(self) -> int:
        """Requests not yet sent."""
        return len(self._waiting)

    async def run(self) -> None:
        """One cycle after the other, for ever."""
        while True:
            await self._fall
            self.offer()
            await ReadOnly()
            self.take()
            await self._rise
            self.withdraw()

    def offer(self) -> None:
        """At the falling edge: what waits is offered."""
        if self._request is None and self._waiting and self._free:
            self._request = self._next()
            self._offer("req", pack("req", **asdict(self._request.request)))
        if self._beat is None and self._data:
            self._beat = self._data.popleft()
            self._offer("orig_data", self._beat)

    def take(self) -> None:
        """When all is settled: what is taken, and what comes back."""
        if self._request is not None and self._get["req", "ready"]():
            self._data.extend(self._beats(self._request))
            self._request = None
        if self._beat is not None and self._get["orig_data", "ready"]():
            self._beat = None
        for channel in ("rd_rsp", "wr_rsp"):
            if self._get[channel, "valid"]():
                self._take(channel, self._get[channel, "payload"]())

    def withdraw(self) -> None:
        """At the rising edge: what was taken is offered no more."""
        for channel, offered in (("req", self._request), ("orig_data", self._beat)):
            if offered is None and channel in self._offering:
                self._signals[channel, "valid"].value = 0
                self._offering.discard(channel)

    def _next(self) -> Ask:
        asked = self._waiting.popleft()
        tag = self._free.popleft()
        cmd = upli.ReqCmd.READ if asked.data is None else upli.ReqCmd.WRITE_FULL
        attr = 0xFF if asked.data is None else 0
        length = WHOLE // 4 - 1
        beats = 0 if asked.data is None else WHOLE // upli.BEAT_BYTES - 1
        asked.request = upli.Request(
            cmd=cmd, addr=asked.addr, len=length, num_beats=beats, attr=attr, tag=tag, **self._ids
        )
        self._out[tag] = asked
        return asked

    @staticmethod
    def _beats(asked: Ask) -> list[int]:
        """OrigData of a Request that was taken, which follows it."""
        if asked.data is None:
            return []
        beats = [asdict(beat) for beat in upli.orig_data(asked.request, asked.data)]
        return [pack("orig_data", **{**beat, "data": int.from_bytes(beat["data"], "little")}) for beat in beats]

    def _take(self, channel: str, word: int) -> None:
        beat = {name: word >> place.offset & (1 << place.width) - 1 for name, place in CHANNEL_LAYOUTS[channel]}
        asked = self._out.get(beat["tag"])
        assert asked is not None, f"a Response to tag {beat['tag']}, which is not out"
        assert (channel == "rd_rsp") == (asked.data is None)
        asked.beats.append(beat)
        if asked.status is not None:
            # The dummy of a Read of which beats have come is the beats that are missing (ruling A-10 of RAS).
            statuses = [beat["status"] for beat in asked.beats]
            assert all(later in (earlier, upli.Status.CMPTO) for earlier, later in pairwise(statuses))
            del self._out[beat["tag"]]
            self._free.append(beat["tag"])

    def _offer(self, channel: str, word: int) -> None:
        self._signals[channel, "payload"].value = word
        self._signals[channel, "valid"].value = 1
        self._offering.add(channel)
