"""Fields for the packing arbiter, and what it sees of them."""

import random
from dataclasses import dataclass, field, replace

from support.tl.stimulus import (
    COMMANDS,
    READ,
    WRITE,
    WRITE_FULL,
    read_response,
    request,
    request_field,
    response_field,
    write_response,
)
from ualink.tl.control import NATURAL_LIMITS
from ualink_sim.model.tl.compression import compress_request, compress_response
from ualink_sim.model.tl.fields import CompressedRequest, Credit, FlowControl, UncompressedResponse

FC = [FlowControl(req_cmd=Credit(n + 1, n - 1 if n else None)) for n in range(5)]
"""Flow Control fields of which any may share a half-flit."""

NATURAL = tuple(NATURAL_LIMITS.values())
LIMIT_OF = {
    name: kind
    for kind, name in enumerate(
        ("UncompressedRequest", "CompressedRequest", "UncompressedResponse", "CompressedResponse", "FlowControl")
    )
} | {"CompressedReadResponse": 3}
"""Which of the limits counts a field, by its class."""


def compressed_request(cmd=None, *, beats=None, rng=random):
    """A random Request of Read, Write or WriteFull that a cache hit makes a compressed one."""
    cmd = rng.choice((READ, WRITE, WRITE_FULL)) if cmd is None else cmd
    beats = rng.randint(1, 4) if beats is None else beats
    req, _ = request(
        cmd,
        beats=beats,
        rng=rng,
        attr=0xFF if cmd == READ else 0,
        len=16 * beats - 1,
        addr=rng.getrandbits(37) << 20 | rng.getrandbits(12) << 8 | rng.randint(0, 4 - beats) << 6,
        meta_data=rng.getrandbits(2),
    )
    return compress_request(request_field(req), rng.getrandbits(2))


def uncompressed_request(cmd=None, *, beats=None, rng=random):
    """A random Request of any command."""
    cmd = rng.choice(COMMANDS) if cmd is None else cmd
    return request_field(request(cmd, beats=beats or rng.randint(1, 4), rng=rng)[0])


def uncompressed_response(beats=None, *, rng=random):
    """A random Response, of a Write for 0 beats."""
    beats = rng.randint(0, 4) if beats is None else beats
    return response_field(read_response(beats, rng=rng) if beats else write_response(rng=rng))


def compressed_response(beats=None, *, rng=random):
    """As ``uncompressed_response``, in its shortest form."""
    return compress_response(replace(uncompressed_response(beats, rng=rng), status=0))


def random_fields(rng, requests, responses, compressed=0.7):
    """So many Requests and Responses of random form."""
    made = [
        (compressed_request if rng.random() < compressed else uncompressed_request)(rng=rng) for _ in range(requests)
    ]
    answers = [
        (compressed_response if rng.random() < compressed else uncompressed_response)(rng=rng) for _ in range(responses)
    ]
    return made, answers


def is_compressed(control):
    return isinstance(control, CompressedRequest) or (
        control.is_response and not isinstance(control, UncompressedResponse)
    )


@dataclass
class Scene:
    """What the packer sees. ``fc`` has five fields or None."""

    requests: list = field(default_factory=list)
    responses: list = field(default_factory=list)
    fc: list = field(default_factory=lambda: [None] * 5)
    allowances: tuple = (4, 8)
    limits: tuple = NATURAL
    swap: int = 0
    authentication: int = 0
    urgent: int = 0
    complete: int = 0
    shared_data: int = 0

    def can_go(self):
        """Some Request, some Response has leave to go."""
        barred = self.complete or (self.swap and self.authentication)
        return [
            bool(fields) and allowance > 0 and not barred
            for fields, allowance in zip((self.requests, self.responses), self.allowances)
        ]


@dataclass
class Formed:
    """A half-flit: its fields by lowest sector, the same by kind, and how many of each kind were taken."""

    placed: list
    requests: list
    responses: list
    fc: list

    @property
    def counts(self):
        return len(self.requests), len(self.responses), len(self.fc)

    @property
    def sectors(self):
        """{field: "high:low"}, as the tables of the standard name the sectors."""
        return {
            control: f"{sector + control.sectors - 1}:{sector}" if control.sectors > 1 else f"{sector}"
            for sector, control in self.placed
        }
