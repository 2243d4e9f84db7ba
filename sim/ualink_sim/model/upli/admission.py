"""What the receiving side of a UPLI interface hands on of the beats on it (UALink_200 §2.5, §2.7.8, §3.1.3, §3.1.4.2).

A beat with wrong control parity is dropped where it is found, with what belongs to it: the OrigData of a Request, the
rest of a transfer. A transfer that had begun is finished with poisoned beats, so that nobody behind waits for it
(ruling A-23 of RAS). Nothing of a dropped beat is used: not its port, not its count, not for the phase of the calendar.
What all beats of a transfer have in common is taken from its first (§2.7.5, Table 2-8).
"""

from dataclasses import dataclass, field

__all__ = ["Admission", "WireBeat"]


_OF_BEAT = {"data", "byte_en", "offset", "last", "error", "data_error", "auth_tag", "vc", "pool", "port_id"}
"""Fields that each beat of a transfer has for itself."""


@dataclass(frozen=True)
class WireBeat:
    """A beat with *Vld = 1; ``fields`` hold ``port_id``, ``pool`` and the fields of its channel."""

    fields: dict
    good: bool


@dataclass
class _Port:
    """Of one port: what is still due of the transfer kept, whose first beat is ``first``, whether it is spoilt, whether
    rests are of a dropped one."""

    due: list = field(default_factory=list)
    first: dict = field(default_factory=dict)
    spoilt: bool = False
    lost: bool = False


class _Group:
    """One TDM group: its phase and the multi-beat transfers of its ports."""

    def __init__(self, ports: int):
        self.ports = [_Port() for _ in range(ports)]
        self.phase: int | None = None
        self.cycle = 0

    def owner(self, first: WireBeat | None) -> int | None:
        """The port that owns this cycle; the first good beat of a port that exists sets the phase."""
        self.cycle += 1
        count = len(self.ports)
        if self.phase is None and first is not None and first.good and first.fields["port_id"] < count:
            self.phase = (first.fields["port_id"] - self.cycle) % count
        return None if self.phase is None and count > 1 else (self.cycle + (self.phase or 0)) % count

    def upset(self, port: int | None) -> None:
        """A beat was dropped: what follows without a first beat was its."""
        for one in self.ports if port is None else [self.ports[port]]:
            one.lost = True


class Admission:
    """The receiving side of an agent, ``receives`` = ``("req", "orig_data")`` or ``("rd_rsp", "wr_rsp")``.

    ``step`` takes one cycle. ``handed`` gathers by (channel, port) the fields of beats handed on, ``returned`` the
    (pool, vc) of credits that go home, ``events`` the (class, channel) of errors in the last cycle.
    """

    DATA = {"orig_data": "error", "rd_rsp": "data_error"}

    def __init__(self, receives: tuple[str, ...], ports: int):
        self.receives = receives
        self.count = ports
        if "req" in receives:
            shared = _Group(ports)
            self.groups = {"req": shared, "orig_data": shared}
        else:
            self.groups = {channel: _Group(ports) for channel in receives}
        self.handed: dict[tuple[str, int], list] = {(c, p): [] for c in receives for p in range(ports)}
        self.returned: dict[tuple[str, int], list] = {(c, p): [] for c in receives for p in range(ports)}
        self.events: set[tuple[str, str]] = set()

    def step(self, beats: dict, control_errors: set[str], drop: bool = False) -> None:
        """One cycle: ``beats`` has the ``WireBeat`` of each channel that has one, ``control_errors`` the channels with
        any wrong control parity, with a beat or without; ``drop``: the agent is in Drop Mode."""
        self.events = {("control", channel) for channel in control_errors}
        if "req" in self.receives:
            self._requests(beats, control_errors, drop)
        else:
            self._read_responses(beats.get("rd_rsp"), "rd_rsp" in control_errors, drop)
            self._write_response(beats.get("wr_rsp"), drop)
        self.events = {
            (kind, channel) for kind, channel in self.events if kind != "protocol" or channel not in control_errors
        }

    def _here(self, channel: str, beat: WireBeat | None, owner: int | None) -> dict | None:
        """The fields of a good beat in a slot of its port."""
        if beat is None or not beat.good:
            return None
        if owner is None or beat.fields["port_id"] != owner:
            self.events.add(("protocol", channel))
            return None
        return beat.fields

    def _hand(self, channel: str, port: int, fields: dict) -> None:
        self.handed[channel, port].append(fields)

    def _home(self, channel: str, port: int, fields: dict) -> None:
        self.returned[channel, port].append((fields["pool"], fields["vc"]))

    def _next(self, channel: str, port: int, state: _Port, fields: dict | None) -> None:
        """The slot of a transfer that goes on."""
        offset, last = state.due.pop(0)
        fits = fields is not None and (fields["offset"], fields["last"]) == (offset, last)
        if not fits and not state.spoilt:
            self.events.add(("protocol", channel))
        state.spoilt = state.spoilt or not fits
        if fields is not None:
            self._home(channel, port, fields)
        if state.spoilt:
            self._hand(channel, port, {"poisoned": True, "offset": offset, "last": last})
        else:
            assert fields is not None
            self._hand(channel, port, state.first | {name: fields[name] for name in fields if name in _OF_BEAT})

    def _begin(self, channel: str, state: _Port, beats: int, first: dict | None, drop: bool) -> bool:
        """Whether the transfer of ``beats`` beats that begins is kept."""
        fits = first is not None and (first["offset"], first["last"]) == (0, int(beats == 1))
        if not fits:
            self.events.add(("protocol", channel))
        if drop or not fits:
            state.lost = True
            return False
        assert first is not None
        state.first = first
        state.due = [(offset, int(offset == beats - 1)) for offset in range(1, beats)]
        state.spoilt = state.lost = False
        return True

    def _requests(self, beats: dict, control_errors: set[str], drop: bool) -> None:
        group = self.groups["req"]
        owner = group.owner(beats.get("req"))
        request = self._here("req", beats.get("req"), owner)
        wrong = bool(control_errors & {"req", "orig_data"})
        if owner is None:
            if wrong:
                group.upset(None)
            elif beats.get("orig_data") and not group.ports[0].lost:
                self.events.add(("protocol", "orig_data"))
            return
        state = group.ports[owner]
        data = beats.get("orig_data")
        beat = self._here("orig_data", data, owner)
        with_data = request is not None and request["cmd"] >> 5 & 1
        goes_on = bool(state.due)
        kept = not drop
        if goes_on:
            self._next("orig_data", owner, state, beat)
            if with_data:
                self.events.add(("protocol", "orig_data"))
                kept, state.lost = False, True
        elif request is not None and with_data:
            kept = self._begin("orig_data", state, request["num_beats"] + 1, beat, drop)
            if beat is not None:
                self._home("orig_data", owner, beat)
                if kept:
                    self._hand("orig_data", owner, beat)
        elif beat is not None:
            self._home("orig_data", owner, beat)
            if not (state.lost or wrong):
                self.events.add(("protocol", "orig_data"))
        elif not wrong:
            state.lost = False
        if request is not None:
            self._home("req", owner, request)
            if kept:
                self._hand("req", owner, request)
        if wrong:
            group.upset(owner)

    def _read_responses(self, beat: WireBeat | None, wrong: bool, drop: bool) -> None:
        group = self.groups["rd_rsp"]
        owner = group.owner(beat)
        fields = self._here("rd_rsp", beat, owner)
        if owner is None:
            if wrong:
                group.upset(None)
            return
        state = group.ports[owner]
        if state.due:
            self._next("rd_rsp", owner, state, fields)
        elif fields is None:
            state.lost = state.lost and wrong
        else:
            self._home("rd_rsp", owner, fields)
            if not fields["num_beats"]:
                state.lost = False
                kept = not drop
            elif state.lost and fields["offset"]:
                kept = False
            else:
                kept = self._begin("rd_rsp", state, fields["num_beats"] + 1, fields, drop)
            if kept:
                self._hand("rd_rsp", owner, fields)
        if wrong:
            group.upset(owner)

    def _write_response(self, beat: WireBeat | None, drop: bool) -> None:
        owner = self.groups["wr_rsp"].owner(beat)
        fields = self._here("wr_rsp", beat, owner)
        if fields is not None and owner is not None:
            self._home("wr_rsp", owner, fields)
            if not drop:
                self._hand("wr_rsp", owner, fields)
