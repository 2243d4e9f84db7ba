"""The sum of a buffer over all members of a virtual pod, by the ring algorithm of collective libraries."""

import random
import struct
from collections.abc import Sequence

from ..request import BLOCK_BYTES, Request
from .vpod_table import VPods
from .workload_table import Workload

__all__ = ["ring_allreduce"]

WORD_BYTES = 4


def ring_allreduce(vpods: VPods, workload: Workload, first_line: int) -> list[Request]:
    """The requests that leave in every member the sums of the 32-bit words (modulo 2^32, least significant byte first)
    of all members' buffers; every virtual pod for itself.

    ``workload.bytes`` are drawn for each member and cut into a chunk for each of the n members. In each of 2(n - 1)
    steps every member writes a chunk to the next member of its virtual pod, in requests of 256 bytes. In the first
    n - 1 it is the sum so far, to which the next one adds its own; then each member has one chunk of the result, and in
    the others these go round. A request waits for the completion of the one that brought its sender what it hands on.

    The result is at ``workload.base``, but for the chunk that the member has summed itself and nobody writes; what
    arrives to be added is behind it, in ``workload.bytes`` more.
    """
    rng = random.Random(f"{workload.seed}/allreduce")
    requests: list[Request] = []
    for members in vpods:
        if len(members) > 1:
            requests += _ring(members, workload, rng, first_line + len(requests))
    return requests


def _ring(members: Sequence[int], workload: Workload, rng: random.Random, first_line: int) -> list[Request]:
    n = len(members)
    chunk_bytes = workload.bytes // n
    blocks = chunk_bytes // BLOCK_BYTES
    words = struct.Struct(f"<{chunk_bytes // WORD_BYTES}I")
    chunks = [[words.unpack(rng.randbytes(chunk_bytes)) for _ in range(n)] for _ in range(n)]
    requests: list[Request] = []
    for step in range(2 * (n - 1)):
        adds = step < n - 1
        place = workload.base + (workload.bytes if adds else 0)
        chosen = [(position - step) % n for position in range(n)]
        sent = [words.pack(*chunks[position][chunk]) for position, chunk in enumerate(chosen)]
        for block in range(blocks):
            offset = block * BLOCK_BYTES
            for position, chunk in enumerate(chosen):
                line = first_line + len(requests)
                # What the member before has written in the step before, in the same block of the same chunk.
                before = line - blocks * n - (1 if position else 1 - n)
                requests.append(
                    Request(
                        line=line,
                        src=members[position],
                        dst=members[(position + 1) % n],
                        op="write_full",
                        addr=place + chunk * chunk_bytes + offset,
                        len=BLOCK_BYTES,
                        data=sent[position][offset : offset + BLOCK_BYTES],
                        byte_en=(1 << BLOCK_BYTES) - 1,
                        after=(before,) if step else (),
                        window=workload.outstanding,
                    )
                )
        for position, chunk in enumerate(chosen):
            arrived, receiver = words.unpack(sent[position]), chunks[(position + 1) % n]
            both = zip(arrived, receiver[chunk])
            receiver[chunk] = tuple((a + b) % (1 << 32) for a, b in both) if adds else arrived
    return requests
