"""Whole transactions through fields, half-flits and back to UPLI beats."""

import random

import pytest

from ualink_sim.model.tl.byte_enables import encode_byte_enables
from ualink_sim.model.tl.compression import AddressCache, compress_request, compress_response, is_compressible
from ualink_sim.model.tl.fields import FieldError, UncompressedRequest, UncompressedResponse
from ualink_sim.model.tl.reassembly import Reassembler, ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse
from ualink_sim.model.tl.sequence import Issue, ReceiveSequence, TransmitSequence
from ualink_sim.model.upli.transactions import ALL_LANES, OrigDataBeat, RdRspBeat, ReqCmd, Request, WrRspBeat, beats_of


def issue_request(sector, request, beats, cache):
    field = UncompressedRequest(
        cmd=request.cmd,
        vchan=request.vc,
        asi=request.asi,
        tag=request.tag,
        pool=1,
        attr=request.attr,
        len=request.len,
        meta_data=request.meta_data,
        addr=request.addr >> 2,
        src_acc_id=request.src_phys_acc_id,
        dst_acc_id=request.dst_phys_acc_id,
        cload=int(sector in (0, 4)),
        cway=request.addr >> 20 & 3,
        num_beats=request.num_beats,
    )
    way = cache.find(field) if is_compressible(field) else None
    if way is not None:
        field = compress_request(field, way)
    elif sector % 4:
        return None
    else:
        cache.load(field, field.cway)
    enables = encode_byte_enables(request.addr, [beat.byte_en for beat in beats])
    return Issue(
        sector,
        field,
        b"".join(beat.data for beat in beats),
        enables if field.has_byte_enables() else b"",
        frozenset(n for n, beat in enumerate(beats) if beat.error),
        request.auth_tag,
    )


def random_request(rng, authentication):
    cmd = rng.choice([0x03, 0x28, 0x29, 0x2A, 0x30, 0x32, 0x2C, 0x0F])
    blocks = rng.randint(1, 4)
    addr = rng.choice([0x1234500000, 0x7FF00000]) + 256 * rng.randrange(4) + 64 * rng.randint(0, 4 - blocks)
    length = 16 * blocks - 1
    if cmd in (0x28, 0x03) and rng.random() < 0.5:
        first = rng.randrange(64)
        addr, length = addr // 256 * 256 + 4 * first, rng.randrange(64 - first)
        blocks = beats_of(addr, length)
    blocks = 1 if cmd in (0x30, 0x32) else blocks
    count = blocks if cmd & 0x20 else 0
    vc = rng.randrange(4)
    request = Request(
        cmd=cmd,
        addr=addr,
        len=15 if cmd in (0x30, 0x32) else length,
        attr=0xFF if cmd == 0x03 else rng.choice([0, 0x10]),
        num_beats=count - 1 if count else 0,
        tag=rng.randrange(2048),
        src_phys_acc_id=3,
        dst_phys_acc_id=rng.choice([4, 5]),
        meta_data=rng.randrange(4) if cmd != 0x2A else 0,
        vc=vc,
        auth_tag=rng.getrandbits(64) if authentication else 0,
    )
    beats = []
    for n in range(count):
        error = rng.random() < 0.1
        enables = ALL_LANES if cmd == 0x29 else rng.getrandbits(64)
        data = bytes(64) if error else rng.randbytes(64)
        beats.append(OrigDataBeat(data=data, byte_en=enables, offset=n, last=n == count - 1, error=error, vc=vc))
    return request, beats


def random_response(rng, sector, authentication):
    status = rng.choice([0, 0, 0, 2])
    read = rng.random() < 0.5
    burst = rng.randint(1, 4)
    common = {"tag": rng.randrange(2048), "status": status, "dst_phys_acc_id": 9, "vc": rng.randrange(4)}
    field = UncompressedResponse(
        vchan=common["vc"],
        tag=common["tag"],
        len=burst - 1 if read else 0,
        offset=rng.randrange(4) if read and burst == 1 else 0,
        status=status,
        rd_wr=int(read),
        last=int(read and (burst > 1 or rng.random() < 0.5)),
        dst_acc_id=9,
    )
    field = compress_response(field) if rng.random() < 0.7 or sector % 2 else field
    if sector % field.sectors:
        return None, None
    tag = rng.getrandbits(64) if authentication else 0
    if not read:
        return Issue(sector, field, tag=tag), ReceivedWriteResponse(WrRspBeat(auth_tag=tag, **common))
    offset = getattr(field, "offset", 0)
    last = bool(getattr(field, "last", 1))
    data = [rng.randbytes(64) for _ in range(burst)]
    bad = frozenset(n for n in range(burst) if rng.random() < 0.1)
    beats = tuple(
        RdRspBeat(
            data=bytes(64) if n in bad else data[n],
            offset=n if burst > 1 else offset,
            num_beats=burst - 1,
            last=n == burst - 1 if burst > 1 else last,
            data_error=n in bad,
            auth_tag=tag,
            **common,
        )
        for n in range(burst)
    )
    return Issue(sector, field, b"".join(data), b"", bad, tag), ReceivedReadResponse(beats)


@pytest.mark.req("TL-029", "TL-035", "TL-085", "TL-101", "TL-104", "TL-210", "TL-211", "TL-212", "TL-213", "TL-214")
@pytest.mark.req("TL-077", "TL-099", "TL-100", "TL-121", "TL-125", "TL-173", "TL-177", "TL-192")
@pytest.mark.parametrize("authentication", [False, True])
def test_transactions_survive_the_link(authentication):
    rng = random.Random(11 + authentication)
    transmit, receive = TransmitSequence(authentication), ReceiveSequence(authentication)
    cache, reassembler = AddressCache(), Reassembler(AddressCache())
    sent_requests, sent_responses, requests, responses = [], [], [], []
    compressed = 0
    for number in range(600):
        issues = []
        sector = 0
        while transmit.control_slot and number < 580 and sector < 8 and len(issues) < 4:
            if authentication and transmit.swap:
                break
            if sector % 2 == 0 and rng.random() < 0.4:
                request, beats = random_request(rng, authentication)
                issue = issue_request(sector, request, beats, cache)
                if issue is not None:
                    sent_requests.append(ReceivedRequest(request, tuple(beats)))
                    compressed += issue.field.sectors == 2
            else:
                issue, response = random_response(rng, sector, authentication)
                if issue is not None:
                    sent_responses.append(response)
            if issue is not None:
                issues.append(issue)
            sector += issue.field.sectors if issue is not None else 1
        for item in reassembler.push(receive.receive(*transmit.send(issues))):
            (requests if isinstance(item, ReceivedRequest) else responses).append(item)
    while transmit.owed:
        for item in reassembler.push(receive.receive(*transmit.send())):
            (requests if isinstance(item, ReceivedRequest) else responses).append(item)
    assert requests == sent_requests and compressed > 10
    assert sorted(responses, key=repr) == sorted(sent_responses, key=repr)


def test_compressed_request_without_a_load():
    reassembler, transmit = Reassembler(AddressCache()), TransmitSequence()
    field = compress_request(UncompressedRequest(cmd=ReqCmd.READ, attr=0xFF, len=15, addr=1 << 20), 0)
    events = ReceiveSequence().receive(*transmit.send([Issue(0, field)]))
    with pytest.raises(FieldError, match="never loaded"):
        reassembler.push(events)
    [received] = Reassembler().push(events)
    assert received.request.addr == 0 and received.request.len == 15
