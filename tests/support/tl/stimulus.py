"""Requests and Responses as beats of UPLI, by hand and at random, and the fields that they must become."""

import random
from collections import deque
from dataclasses import dataclass, field

from ualink_sim.model.tl.fields import UncompressedRequest, UncompressedResponse

CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")
CLASSES = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
READ, WRITE, WRITE_FULL, UWM, ATOMIC_R, ATOMIC_NR = 0x03, 0x28, 0x29, 0x2A, 0x30, 0x32
COMMANDS = (READ, WRITE, WRITE_FULL, UWM, ATOMIC_R, ATOMIC_NR, 0x08, 0x0F, 0x2C, 0x2F, 0x3C, 0x3F)
PLENTY = {(kind, None): 200 for kind in CLASSES}


def request(cmd, *, beats=1, errors=(), rng=random, **members):
    """A Request beat and its OrigData beats with random contents; ``members`` fix some of the former."""
    beats = 1 if cmd in (ATOMIC_R, ATOMIC_NR) else beats
    req = {
        "asi": rng.getrandbits(2),
        "src_phys_acc_id": rng.getrandbits(10),
        "dst_phys_acc_id": rng.getrandbits(10),
        "tag": rng.getrandbits(11),
        "num_beats": 0 if cmd == READ else beats - 1,
        "addr": rng.getrandbits(57) & ~3,
        "cmd": cmd,
        "len": rng.getrandbits(6),
        "attr": rng.getrandbits(8),
        "meta_data": rng.getrandbits(8),
        "vc": rng.getrandbits(2),
        **members,
    }
    data = [
        {
            "data": rng.getrandbits(512),
            "byte_en": rng.getrandbits(64),
            "offset": n,
            "last": int(n == beats - 1),
            "error": int(n in errors),
            "vc": req["vc"],
        }
        for n in range(beats if cmd & 0x20 else 0)
    ]
    return req, data


def near_request(rng=random, *, regions=3, accelerators=2, **members):
    """A Request that may be compressed, to one of a few regions of 1 MB (UALink_200 §5.9.3)."""
    cmd, beats = rng.choice((READ, WRITE, WRITE_FULL)), rng.randint(1, 4)
    block = rng.randrange(1 << 12) * 4 + rng.randint(0, 4 - beats)
    return request(
        cmd,
        beats=beats,
        rng=rng,
        addr=(rng.randrange(regions) * 0x123456789 & (1 << 37) - 1) << 20 | block << 6,
        len=16 * beats - 1,
        attr=0xFF if cmd == READ else 0,
        meta_data=rng.getrandbits(2),
        dst_phys_acc_id=rng.randrange(accelerators),
        src_phys_acc_id=rng.randrange(accelerators),
        **members,
    )


def read_response(beats=1, *, errors=(), rng=random, **members):
    """The beats of a Read Response; one beat has a random offset, as in single-beat mode."""
    common = {
        "src_phys_acc_id": rng.getrandbits(10),
        "dst_phys_acc_id": rng.getrandbits(10),
        "tag": rng.getrandbits(11),
        "num_beats": beats - 1,
        "status": rng.choice((0, 2, 3)),
        "vc": rng.getrandbits(2),
        **members,
    }
    return [
        {
            **common,
            "data": rng.getrandbits(512),
            "offset": n if beats > 1 else rng.getrandbits(2),
            "last": int(n == beats - 1) if beats > 1 else rng.getrandbits(1),
            "data_error": int(n in errors),
        }
        for n in range(beats)
    ]


def write_response(*, rng=random, **members):
    """A Write Response beat."""
    return {
        "src_phys_acc_id": rng.getrandbits(10),
        "dst_phys_acc_id": rng.getrandbits(10),
        "tag": rng.getrandbits(11),
        "status": rng.choice((0, 2, 6)),
        "vc": rng.getrandbits(2),
        **members,
    }


def request_field(req, pool=0):
    """The field that a Request beat must become (UALink_200 Table 5-29)."""
    return UncompressedRequest(
        cmd=req["cmd"],
        vchan=req["vc"],
        asi=req["asi"],
        tag=req["tag"],
        pool=pool,
        attr=req["attr"],
        len=req["len"],
        meta_data=req["meta_data"],
        addr=req["addr"] >> 2,
        src_acc_id=req["src_phys_acc_id"],
        dst_acc_id=req["dst_phys_acc_id"],
        num_beats=req["num_beats"],
    )


def response_field(beats, pool=0):
    """The field that the beats of a Read Response, or a Write Response beat, must become (UALink_200 Table 5-30)."""
    first = beats[0] if isinstance(beats, list) else beats
    common = {
        "vchan": first["vc"],
        "tag": first["tag"],
        "pool": pool,
        "status": first["status"],
        "src_acc_id": first["src_phys_acc_id"],
        "dst_acc_id": first["dst_phys_acc_id"],
    }
    if first is beats:
        return UncompressedResponse(**common)
    burst = first["num_beats"] > 0
    return UncompressedResponse(
        **common,
        rd_wr=1,
        len=first["num_beats"],
        offset=0 if burst else first["offset"],
        last=1 if burst else first["last"],
    )


@dataclass
class Stimulus:
    """Transfers to send, in order, and how: probabilities that a stream is valid and that the DL is ready."""

    requests: list = field(default_factory=list)
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    valid: float = 1.0
    ready: float = 1.0

    def beats(self):
        """Beats per channel."""
        return {
            "req": deque(req for req, _ in self.requests),
            "orig_data": deque(beat for _, data in self.requests for beat in data),
            "rd_rsp": deque(beat for beats in self.reads for beat in beats),
            "wr_rsp": deque(self.writes),
        }


def random_traffic(rng, count, *, errors=0.0, near=0.5, **stalls):
    """Random transfers of all kinds; ``near``: share of Requests that may be compressed."""

    def bad(beats):
        return [n for n in range(beats) if rng.random() < errors]

    requests = []
    for _ in range(count):
        beats = rng.randint(1, 4)
        if rng.random() < near:
            requests.append(near_request(rng))
            continue
        requests.append(request(rng.choice(COMMANDS), beats=beats, errors=bad(beats), rng=rng))
    reads = []
    for _ in range(count // 2):
        beats = rng.randint(1, 4)
        reads.append(read_response(beats, errors=bad(beats), rng=rng))
    return Stimulus(requests, reads, [write_response(rng=rng) for _ in range(count // 2)], **stalls)
