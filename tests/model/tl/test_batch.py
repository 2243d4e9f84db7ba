"""Whole streams decoded at once mean what the model makes of them flit by flit, legal or not."""

import random

import numpy as np
import pytest

from ualink_sim.model.tl.batch import CacheShape, decode, excess, spent
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.credits import BUCKETS, CLASSES, combine, cost_of
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FieldError,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.rate_limit import RateLimit, RateLimitError
from ualink_sim.model.tl.reassembly import Reassembler, ReceivedReadResponse, ReceivedRequest
from ualink_sim.model.tl.sequence import (
    ControlFields,
    Issue,
    ProtocolError,
    ReceiveSequence,
    TransmitSequence,
    message_half_flit,
)

READS_AND_WRITES = (0x03, 0x08, 0x28, 0x29, 0x2A, 0x2F, 0x30, 0x32, 0x3C)


class Talker:
    """Random legal flits of all kinds, with a cache of four rows and two ways."""

    def __init__(self, seed, authentication=False, uwm=True):
        self.random = random.Random(seed)
        self.sequence = TransmitSequence(authentication, uwm)
        self.cache = AddressCache("src_acc_id", 4, 2)
        self.uwm = uwm

    def flit(self):
        sequence, rng = self.sequence, self.random
        lower = upper = None
        if rng.random() < 0.08:
            lower = message_half_flit(rng.choice((0, 1)), rng.randbytes(31))
        issues = self._issues() if lower is None and sequence.control_slot else []
        tagged = sequence.authentication and any(not isinstance(i.field, FlowControl) for i in issues)
        if not tagged and rng.random() < 0.08:
            upper = message_half_flit(rng.choice((0, 1)), rng.randbytes(31))
        return sequence.send(issues, lower, upper)

    def _issues(self):
        rng, sector, issues, tagged = self.random, 0, [], 0
        most = 8 if not self.sequence.authentication else 0 if self.sequence.swap else 4
        while sector < 8:
            kinds = [FlowControl, CompressedReadResponse, CompressedResponse]
            kinds += [UncompressedResponse, CompressedRequest] * (sector % 2 == 0)
            kinds += [UncompressedRequest] * 2 * (sector % 4 == 0)
            field = self._field(rng.choice(kinds))
            if rng.random() < 0.3 or (tagged >= most and not isinstance(field, FlowControl)):
                sector += 1
                continue
            tagged += not isinstance(field, FlowControl)
            if isinstance(field, UncompressedRequest | CompressedRequest):
                self.cache.receive(field)
            beats = field.data_beats()
            enables = rng.randbytes(32) if field.has_byte_enables(self.uwm) else b""
            poisoned = frozenset(n for n in range(beats) if rng.random() < 0.1)
            issues.append(Issue(sector, field, rng.randbytes(64 * beats), enables, poisoned, rng.getrandbits(64)))
            sector += field.sectors
        return issues

    def _field(self, kind):
        rng = self.random
        if kind is FlowControl:
            return FlowControl(
                **{
                    name: Credit(rng.getrandbits(3 if "cmd" in name else 5), rng.choice((None, 0, 1, 2, 3)))
                    for name in CLASSES
                }
            )
        members = {name: rng.getrandbits(width) for name, width in kind.WIDTHS.items()}
        if kind is UncompressedRequest:
            members |= {"cmd": rng.choice(READS_AND_WRITES), "src_acc_id": rng.randrange(4)}
            members |= {"cway": rng.randrange(2), "cload": rng.randrange(2)}
        if kind is CompressedRequest:
            loaded = [*self.cache.entries]
            if not loaded:
                return self._field(CompressedResponse)
            row, way = rng.choice(loaded)
            blocks = rng.randrange(4)
            members |= {"cmd": rng.choice((0, 4, 6)), "src_acc_id": row, "cway": way, "len": blocks}
            members["addr"] = rng.randrange(1 << 12) << 2 | rng.randint(0, 3 - blocks)
        return kind(**members)


def arrays(flits):
    """``decode``'s arguments for pairs of 64 bytes and message bits."""
    sectors = np.frombuffer(b"".join(flit for flit, _ in flits), dtype="<u4").reshape(-1, 16)
    return sectors, np.array([bits for _, bits in flits])


def model_of(flits, authentication, uwm):
    """What the model makes of ``flits``: whole transfers, control fields by flit, the first flit that is wrong."""
    sequence = ReceiveSequence(authentication, uwm)
    reassembler = Reassembler(AddressCache("src_acc_id", 4, 2), uwm)
    received, controls, half = [], [], False
    for row, (flit, bits) in enumerate(flits):
        events = sequence.receive(flit, bits)
        errors = [event for event in events if isinstance(event, ProtocolError)]
        half |= any(not error.fatal and "half" in error.reason for error in errors)
        try:
            received += reassembler.push(events)
        except FieldError:
            return received, controls, row, half
        if any(error.fatal for error in errors):
            return received, controls, row, half
        controls += [(row, event.fields) for event in events if isinstance(event, ControlFields)]
    return received, controls, None, half


def beats_of(stream, fields):
    """The ``fields`` before the first that is not whole, with the beats of each."""
    whole = fields.take(np.arange(stream.arrived(fields)))
    beats = stream.beats(whole)
    grouped = [[] for _ in range(len(whole))]
    for of, data, poisoned in zip(beats.field, beats.data, beats.poisoned):
        grouped[of].append((data.astype("<u8").tobytes(), bool(poisoned)))
    return whole, grouped, stream.images(whole)


def check_requests(stream, expected):
    whole, beats, images = beats_of(stream, stream.requests)
    assert len(whole) == len(expected)
    for n, (request, got) in enumerate(zip(expected, beats)):
        for name, column in {
            **{name: name for name in ("cmd", "addr", "len", "attr", "num_beats", "tag", "asi", "meta_data")},
            "src_phys_acc_id": "src_acc_id",
            "dst_phys_acc_id": "dst_acc_id",
            "vc": "vchan",
            "auth_tag": "auth_tag",
        }.items():
            assert int(getattr(whole, column)[n]) == getattr(request.request, name), (n, name)
        assert got == [(beat.data, beat.error) for beat in request.beats]
        for k, beat in enumerate(request.beats):
            assert int(images[n][((request.request.addr >> 6) + k) % 4]) == beat.byte_en


def check_responses(stream, expected):
    """The model gives Responses as they become whole, which is the order of their last half-flits."""
    every = stream.responses
    whole, beats, _ = beats_of(stream, every.take(every.is_read == 1))
    reads = [response.beats for response in expected if isinstance(response, ReceivedReadResponse)]
    writes = [response.beat for response in expected if not isinstance(response, ReceivedReadResponse)]
    assert len(whole) == len(reads)
    for n, response in enumerate(reads):
        assert beats[n] == [(beat.data, beat.data_error) for beat in response]
        common(whole, n, response[0])
        assert whole.len[n] == response[0].num_beats
        assert (len(response) > 1) or (whole.offset[n], whole.last[n]) == (response[0].offset, response[0].last)
    rows = np.flatnonzero(every.is_read == 0)
    assert len(rows) == len(writes)
    for n, response in zip(rows, writes):
        common(every, n, response)


def common(fields, n, beat):
    assert (fields.tag[n], fields.vchan[n], fields.status[n]) == (beat.tag, beat.vc, beat.status)
    assert (fields.src_acc_id[n], fields.dst_acc_id[n]) == (beat.src_phys_acc_id, beat.dst_phys_acc_id)
    assert int(fields.auth_tag[n]) == beat.auth_tag


def check_control(stream, controls):
    """Every field in its place, every credit spent and returned."""
    rows = dict(controls)
    places = {
        (int(r), int(s)): int(t)
        for f in (stream.requests, stream.responses)
        for r, s, t in zip(f.row, f.sector, f.ftype)
    }
    assert places == {
        (row, sector): field.FTYPE
        for row, fields in rows.items()
        for sector, field in fields
        if not isinstance(field, FlowControl)
    }
    returned = {(int(r), int(a)): int(c) for r, a, c in zip(*vars(stream.returned).values())}
    account = {
        (kind, bucket): len(BUCKETS) * n + k for n, kind in enumerate(CLASSES) for k, bucket in enumerate(BUCKETS)
    }
    assert returned == {
        (row, account[key]): count
        for row, fields in rows.items()
        for key, count in combine(field for _, field in fields).items()
    }
    for table in (stream.requests, stream.responses):
        kind = table is stream.requests
        wanted = [
            (row, account[key], count)
            for row, fields in rows.items()
            for _, field in fields
            if (field.is_request if kind else field.is_response)
            for key, count in cost_of(field).items()
        ]
        costs = spent(table)
        assert [tuple(map(int, cost)) for cost in zip(*vars(costs).values()) if cost[2]] == wanted


@pytest.mark.parametrize("authentication, uwm", [(False, True), (True, True), (False, False)])
@pytest.mark.parametrize("damage", [False, True])
def test_a_stream_means_what_the_model_says(authentication, uwm, damage):
    wrong = set()
    for seed in range(60 if damage else 12):
        talker = Talker(f"{seed} {authentication} {uwm}", authentication, uwm)
        flits = [talker.flit() for _ in range(80)]
        if damage:
            row, rng = talker.random.randrange(10, 60), talker.random
            flit, bits = flits[row]
            kind = rng.randrange(4)
            if kind == 0:
                flits[row] = rng.randbytes(64), bits
            elif kind == 1:
                flits[row] = b"\x20" + flit[1:32] + b"\x20" + flit[33:], bits ^ rng.randint(1, 3)
            elif kind == 2:
                flits[row] = flit, bits ^ rng.randint(1, 3)
            else:
                word = int.from_bytes(flit, "little") ^ 1 << (32 * rng.randrange(16) + rng.randrange(25, 32))
                flits[row] = word.to_bytes(64, "little"), bits
        received, controls, error, half = model_of(flits, authentication, uwm)
        arguments = {"authentication": authentication, "uwm_has_byte_enables": uwm}
        arguments["cache"] = CacheShape("src_acc_id", rows=4, ways=2)
        stream = decode(*arrays(flits), **arguments)
        assert (stream.error and stream.error[0]) == error, stream.error
        if error is not None:
            wrong.add(stream.error[1].rstrip("0123456789"))
            stream = decode(*arrays(flits[:error]), **arguments)
            assert stream.error is None
            received, controls, error, half = model_of(flits[:error], authentication, uwm)
        assert stream.half_poisoned == half
        check_control(stream, controls)
        check_requests(stream, [item for item in received if isinstance(item, ReceivedRequest)])
        check_responses(stream, [item for item in received if not isinstance(item, ReceivedRequest)])
    assert len(wrong) >= 4 * damage, wrong


@pytest.mark.parametrize("limit", [4, 8])
def test_excess_is_the_rate_limit(limit):
    rng = random.Random(limit)
    found = 0
    for _ in range(300):
        counts = [max(0, rng.randint(-limit, limit)) for _ in range(12)]
        rate, first = RateLimit(limit), None
        for row, count in enumerate(counts):
            try:
                rate.flit(count)
            except RateLimitError:
                first = row
                break
        assert excess(np.array(counts), limit) == first
        found += first is not None
    assert 50 < found < 290
