"""Judges what the taps of ``support.tl.soak_top`` wrote: by the executable model alone, on every flit and every beat.

Every transfer that an end accepted must stand in the flits, in order, once, and legal in every rule; and what the other
end gave must be what the model makes of these flits.
"""

from pathlib import Path

import numpy as np

from support.tl.soak_rules import Breach, Case, Session, check_credits, check_flits, demand, equal
from support.tl.soak_tap import Records, read_tap
from support.tl.soak_top import CHANNELS, ENDS, TAPS
from ualink_sim.model.tl.batch import CacheShape, Fields, Stream, decode
from ualink_sim.model.tl.byte_enables import byte_enable_slots
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.reassembly import Reassembler, ReceivedReadResponse, ReceivedRequest
from ualink_sim.model.tl.sequence import ProtocolError, ReceiveSequence
from ualink_sim.model.upli.transactions import Status

__all__ = ["judge"]

ROW_MEMBER = {"accelerator": "dst_acc_id", "switch": "src_acc_id"}
"""Rows of the cache by the device that sends (UALink_200 §5.5)."""
MODEL_FLITS = 300
"""Flits of each direction that the model itself looks at, one by one."""


def judge(folder: Path, case: Case, port: int = 0) -> dict[str, int]:
    """Breach, or what was seen of ``port``; the traffic must have been drained at the end."""
    taps = [{name: read_tap(folder / f"{name}_{n}_{port}", shape) for name, shape in TAPS.items()} for n in range(ENDS)]
    rises = [tap["online"].cycle[tap["online"].online == 1] for tap in taps]
    demand(len(rises[0]) == len(rises[1]) > 0, f"{len(rises[0])} and {len(rises[1])} sessions")
    seen: dict[str, int] = {}
    for name in ("sessions", "flits", "control_half_flits"):
        seen[name] = 0
    seen["sessions"] = len(rises[0])
    directions = [_sessions(case, taps[near], taps[1 - near], rises[near], rises[1 - near], near) for near in range(2)]
    for near in range(2):
        there, back = directions[near], directions[1 - near]
        for n, (session, opposite) in enumerate(zip(there, back, strict=True)):
            last = n == len(there) - 1
            where = f"end {near}, session {n}"
            try:
                check_flits(case, near, session, last)
                check_credits(case, near, session, opposite, last)
                _sent(session, last)
                _given(session, last)
                _count(seen, session)
            except Breach as breach:
                raise Breach(f"{where}: {breach}") from None
        _data_sent(taps[near], there, case.configs[near].byte_enable_slots)
        _data_given(taps[1 - near], there, case)
        _model_agrees(case, near, there[0])
    return seen


def _between(records: Records, starts, n: int, column=None) -> Records:
    """The records of session ``n``: those from its start to the next one's."""
    cycle = records.cycle if column is None else column
    low = np.searchsorted(cycle, starts[n])
    high = np.searchsorted(cycle, starts[n + 1]) if n + 1 < len(starts) else len(cycle)
    return records[low:high]


def _first_beats(records: Records) -> Records:
    return records[(records.num_beats == 0) | (records.offset == 0)]


def _sessions(case: Case, near: dict, far: dict, near_rises, far_rises, n: int) -> list[Session]:
    config = case.configs[n]
    sessions = []
    for k in range(len(near_rises)):
        flits = _between(far["flit"], far_rises, k)
        data = flits.data
        stream = decode(
            np.ascontiguousarray(data).view("<u4"),
            flits.message.astype(np.int64),
            authentication=case.authentication,
            uwm_has_byte_enables=config.uwm_has_byte_enables,
            cache=CacheShape(ROW_MEMBER[config.device]),
        )
        accepted = {channel: near[f"tx_{channel}"] for channel in CHANNELS}
        given = {channel: far[f"rx_{channel}"] for channel in CHANNELS}
        # A beat taken in the cycle of the rise is still dropped: the gate opens one cycle later, as ``dropping`` tells.
        for channels, starts in ((accepted, near_rises + 1), (given, far_rises)):
            channels["rd_rsp"] = _first_beats(channels["rd_rsp"])
            for channel in ("req", "rd_rsp", "wr_rsp"):
                channels[channel] = _between(channels[channel], starts, k)
        sessions.append(Session(accepted, flits, given, stream))
    return sessions


def _sent(session: Session, last: bool) -> None:
    """The fields are what was accepted, in the order of each kind."""
    stream = session.stream
    requests, responses = stream.requests, stream.responses
    for fields, channel in (
        (requests, "req"),
        (responses.take(responses.is_read == 1), "rd_rsp"),
        (responses.take(responses.is_read == 0), "wr_rsp"),
    ):
        accepted = session.accepted[channel]
        demand(len(fields) <= len(accepted), f"{len(fields)} {channel} sent, {len(accepted)} accepted")
        demand(not last or len(fields) == len(accepted), f"{len(fields)} {channel} sent of {len(accepted)} accepted")
        _same_members(fields, accepted[: len(fields)], channel, f"sent {channel}", session, given=False)


COMMON = {"tag": "tag", "dst_phys_acc_id": "dst_acc_id", "vc": "vchan", "auth_tag": "auth_tag"}
REQUEST = ("cmd", "asi", "attr", "len", "meta_data", "addr", "num_beats")


def _same_members(fields: Fields, beats: Records, channel: str, what: str, session: Session, given: bool) -> None:
    tagged = session.stream.has_tags
    for name, column in COMMON.items():
        wanted = getattr(fields, column)
        got = getattr(beats, name)
        if name == "auth_tag" and not given and not tagged:
            continue
        equal(got, wanted, f"{name} of {what}")
    source = beats.src_phys_acc_id.astype(np.int64)
    if channel == "req":
        equal(source, fields.src_acc_id, f"src_phys_acc_id of {what}")
        for name in REQUEST:
            wanted = getattr(fields, name)
            if name == "num_beats":
                wanted = np.where(fields.cmd == 0x03, 0, wanted)
            equal(getattr(beats, name), wanted, f"{name} of {what}")
        return
    # A Compressed Response does not say where it comes from.
    compressed = fields.ftype != 2
    equal(np.where(compressed & (not given), 0, source), fields.src_acc_id, f"src_phys_acc_id of {what}")
    equal(beats.status, fields.status, f"status of {what}")
    if channel == "rd_rsp":
        equal(beats.num_beats, fields.len, f"num_beats of {what}")
        burst = fields.len != 0
        equal(np.where(burst, 0, beats.offset), fields.offset * ~burst, f"offset of {what}")
        equal(np.where(burst, 0, beats.last), fields.last * ~burst, f"last of {what}")


def _given(session: Session, last: bool) -> None:
    """What the receiver gave is what the model makes of the flits."""
    responses = session.stream.responses
    for fields, channel in (
        (session.stream.requests, "req"),
        (responses.take(responses.is_read == 1), "rd_rsp"),
        (responses.take((responses.is_read == 0) & (responses.status != Status.ISOLATE)), "wr_rsp"),
    ):
        given = session.given[channel]
        demand(len(given) <= len(fields), f"{len(given)} {channel} given, {len(fields)} received")
        demand(not last or len(given) == len(fields), f"{len(given)} {channel} given of {len(fields)} received")
        _same_members(fields.take(np.arange(len(given))), given, channel, f"given {channel}", session, given=True)


def _slots(requests: Fields, of: np.ndarray, number: np.ndarray, reading: str) -> np.ndarray:
    """The quarter of its byte-enable half-flit that beat ``number`` of Request ``of`` has."""
    by_command = [byte_enable_slots(0xC0, 1, cmd, reading)[0] == 3 for cmd in range(64)]
    first = np.where(np.array(by_command)[requests.cmd[of]], requests.addr[of] >> 6, 0)
    return first + number & 3


def _data_sent(near: dict[str, Records], sessions: list[Session], reading: str) -> None:
    """The data half-flits are the beats accepted: those of a transfer are found by its place among all transfers."""
    for channel in ("req", "rd_rsp"):
        beats = near["tx_orig_data" if channel == "req" else "tx_rd_rsp"]
        start = 0
        for n, session in enumerate(sessions):
            stream, accepted = session.stream, session.accepted[channel]
            if channel == "req":
                fields = stream.requests
                counts = np.where(accepted.cmd >> np.uint64(5) & np.uint64(1), accepted.num_beats + np.uint64(1), 0)
            else:
                fields = stream.responses.take(stream.responses.is_read == 1)
                counts = accepted.num_beats + np.uint64(1)
            whole = fields.take(np.arange(stream.arrived(fields)))
            arrived = stream.beats(whole)
            count = len(arrived.data)
            mine = beats[start : start + count]
            start += int(counts.sum())
            what = f"data sent in session {n} for {channel}"
            demand(len(mine) == count, f"{what}: {count} beats, {len(mine)} accepted")
            bad = mine.error if channel == "req" else mine.data_error
            equal(arrived.poisoned, bad, f"poison of {what}")
            good = ~arrived.poisoned
            equal(arrived.data[good], mine.data[good], what)
            if channel == "req":
                _enables_sent(stream, whole, arrived, mine, what, reading)
        demand(len(beats) == start, f"{len(beats)} beats for {channel} accepted, {start} are needed")


def _enables_sent(stream: Stream, requests: Fields, arrived, beats: Records, what: str, reading: str) -> None:
    images = stream.images(requests)
    slots = _slots(requests, arrived.field, arrived.number, reading)
    has_image = (requests.halves > 2 * requests.beats)[arrived.field]
    expected = images.copy()
    placed = np.zeros_like(images)
    placed[arrived.field[has_image], slots[has_image]] = beats.byte_en[has_image]
    rows = np.flatnonzero(requests.halves > 2 * requests.beats)
    equal(expected[rows], placed[rows], f"byte enables of {what}")


def _data_given(far: dict[str, Records], sessions: list[Session], case: Case) -> None:
    """The beats given are those of the transfers given, in order, whole, with everything that belongs to a beat."""
    expected: dict[str, list] = {"orig_data": [], "rd_rsp": []}
    for session in sessions:
        stream = session.stream
        requests = stream.requests.take(np.arange(len(session.given["req"])))
        reads = stream.responses.take(stream.responses.is_read == 1).take(np.arange(len(session.given["rd_rsp"])))
        for channel, fields in (("orig_data", requests), ("rd_rsp", reads)):
            demand(stream.arrived(fields) == len(fields), f"{channel} given before it has arrived")
            beats = stream.beats(fields)
            of = fields.take(beats.field)
            columns = {"data": beats.data, "vc": of.vchan}
            if channel == "orig_data":
                slots = _slots(fields, beats.field, beats.number, case.configs[0].byte_enable_slots)
                columns["error"] = beats.poisoned
                columns["byte_en"] = stream.images(fields)[beats.field, slots]
                columns["offset"] = beats.number
                columns["last"] = beats.number + 1 == of.beats
                columns["since"] = session.given["req"].cycle[beats.field]
            else:
                burst = of.len != 0
                columns["data_error"] = beats.poisoned
                columns["offset"] = np.where(burst, beats.number, of.offset)
                columns["last"] = np.where(burst, beats.number == of.len, of.last)
                columns |= {"num_beats": of.len, "tag": of.tag, "status": of.status, "auth_tag": of.auth_tag}
                columns |= {"src_phys_acc_id": of.src_acc_id, "dst_phys_acc_id": of.dst_acc_id}
            expected[channel].append(columns)
    for channel, parts in expected.items():
        given = far[f"rx_{channel}"]
        for name in parts[0]:
            wanted = np.concatenate([part[name].astype(np.uint64) for part in parts])
            if name != "since":
                equal(getattr(given, name), wanted, f"{name} of given {channel} beat")
            elif case.coupled:
                first = given.offset == 0
                equal(given.cycle[first], wanted[first], "cycle of the first beat of data")


def _model_agrees(case: Case, near: int, session: Session) -> None:
    """The model itself, one flit after the other, on the first flits."""
    config = case.configs[near]
    sequence = ReceiveSequence(case.authentication, config.uwm_has_byte_enables)
    reassembler = Reassembler(AddressCache(ROW_MEMBER[config.device]), config.uwm_has_byte_enables)
    requests, reads = [], []
    flits = session.flits[:MODEL_FLITS]
    for data, bits in zip(flits.data.astype("<u8"), flits.message):
        events = sequence.receive(data.tobytes(), int(bits))
        demand(not any(isinstance(event, ProtocolError) for event in events), f"the model found {events}")
        for received in reassembler.push(events):
            if isinstance(received, ReceivedRequest):
                requests.append(received)
            elif isinstance(received, ReceivedReadResponse):
                reads.append(received)
    stream = session.stream
    fields = stream.requests
    for name, column in (("cmd", "cmd"), ("addr", "addr"), ("tag", "tag"), ("auth_tag", "auth_tag"), ("vc", "vchan")):
        wanted = [getattr(item.request, name) for item in requests]
        equal(getattr(fields, column)[: len(wanted)], np.array(wanted, dtype=np.uint64), f"{name} by the model")
    for whole, items in ((fields, requests), (stream.responses.take(stream.responses.is_read == 1), reads)):
        beats = stream.beats(whole.take(np.arange(len(items))))
        data = [beat.data for item in items for beat in item.beats]
        wanted = np.frombuffer(b"".join(data), dtype="<u8").reshape(-1, 8)
        equal(beats.data, wanted, "data by the model")


def _count(seen: dict[str, int], session: Session) -> None:
    """Add up what there was."""
    stream = session.stream
    requests, responses = stream.requests, stream.responses
    filled = np.concatenate([requests.row, responses.row, stream.returned.row])
    amounts = {
        "flits": len(session.flits),
        "control_half_flits": len(np.unique(filled)),
        "requests": len(requests),
        "compressed_requests": int((requests.ftype == 3).sum()),
        "cache_loads": int(requests.cload.sum()),
        "read_responses": int(responses.is_read.sum()),
        "write_responses": int((responses.is_read == 0).sum()),
        "compressed_responses": int((responses.ftype != 2).sum()),
        "data_half_flits": len(stream.half_flits),
        "poisoned_half_flits": int(stream.poisoned.sum()),
        "pool_fields": int(requests.pool.sum() + responses.pool.sum()),
        "vc_fields": int((requests.pool == 0).sum() + (responses.pool == 0).sum()),
        "full_control_half_flits": int((np.bincount(np.concatenate([requests.row, responses.row])) >= 4).sum()),
        "given": sum(len(session.given[channel]) for channel in ("req", "rd_rsp", "wr_rsp")),
    }
    for name, amount in amounts.items():
        seen[name] = seen.get(name, 0) + amount
