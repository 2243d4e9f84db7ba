"""The receive side of the TL on whole streams of flits at once: the rules of ``tl_sequence``, ``tl_fields``,
``tl_compression``, ``tl_rate_limit`` and ``tl_credits``, on arrays, for campaigns of millions of flits.

A stream is all flits of one direction from the start of a link on; one of its rows is one flit of 16 sectors. All
members of tables are arrays with one row per field, beat or half-flit, in the order of transmission.
"""

from dataclasses import dataclass

import numpy as np

from .batch_fields import WHOLE_CACHE, Array, CacheShape, Credits, Fields, fields_of, parse, recall, returned_by, spread
from .batch_walk import Walk
from .credits import BUCKETS
from .sequence import MAX_TAGS

__all__ = ["Beats", "CacheShape", "Credits", "Fields", "Stream", "decode", "excess", "outstanding", "spent"]


@dataclass
class Beats:
    """64-byte beats: ``field`` is the row in the table of fields, ``number`` counts within the field; ``data`` has
    eight words of 64 bits, all 0 when poisoned."""

    field: Array
    number: Array
    data: Array
    poisoned: Array


@dataclass
class Stream:
    """What a stream means, up to ``error``, the flit that breaks a rule first and how.

    ``half_flits`` are the Data half-flits as four words of 64 bits, ``places`` twice their flit plus 1 for an upper
    one; ``messages`` are places of messages that are not poison; ``half_poisoned`` is set when a beat was poisoned by
    half. ``credit_fields`` has the flit of each Flow Control field, ``repeated`` the first in which two of them count
    for one account; ``has_tags``: authentication is on, ``tagged``: flits with AuthTags.
    """

    flits: int
    requests: Fields
    responses: Fields
    returned: Credits
    half_flits: Array
    places: Array
    poisoned: Array
    messages: Array
    control: Array
    half_poisoned: bool
    credit_fields: Array
    repeated: int | None
    has_tags: bool
    tagged: Array
    error: tuple[int, str] | None

    def beats(self, fields: Fields) -> Beats:
        """The beats of ``fields``, all of which must have arrived."""
        of, number = spread(fields.beats)
        low = fields.first[of] + 2 * number
        poisoned = self.poisoned[low] | self.poisoned[low + 1]
        data = np.concatenate([self.half_flits[low], self.half_flits[low + 1]], axis=1)
        data[poisoned] = 0
        return Beats(of, number, data, poisoned)

    def arrived(self, fields: Fields) -> int:
        """How many of ``fields``, in order, are whole before the first one that is not."""
        whole = (fields.halves == 0) | (fields.first + fields.halves <= len(self.half_flits))
        return len(whole) if whole.all() else int(whole.argmin())

    def images(self, fields: Fields) -> Array:
        """The byte-enable half-flits of ``fields``, four words of 64 bits each; all ones where there is none."""
        images = np.full((len(fields), 4), -1, dtype=np.int64).view(np.uint64)
        rows = np.flatnonzero(fields.halves > 2 * fields.beats)
        images[rows] = self.half_flits[(fields.first + fields.halves - 1)[rows]]
        return images


def decode(
    sectors: Array,
    message: Array,
    *,
    authentication: bool = False,
    uwm_has_byte_enables: bool = True,
    cache: CacheShape = WHOLE_CACHE,
) -> Stream:
    """Decode a stream of ``sectors`` (flits x 16, 32 bits each) with ``message`` bits; arguments as of the model."""
    sectors = np.ascontiguousarray(sectors, dtype="<u4")
    parsed = parse(sectors[:, :8], uwm_has_byte_enables)
    walk = Walk(sectors, message, parsed, authentication)
    problems = [walk.error] if walk.error else []
    end = walk.error[0] if walk.error else len(sectors)

    here = walk.control[parsed.row]
    table = fields_of(sectors, parsed, here)
    returned, repeated = returned_by(sectors, parsed, here)
    halves = np.asarray(walk.places, dtype=np.int64)
    pairs = sectors.reshape(-1, 8).view(np.uint64)
    half_flits = pairs[halves]
    poisoned = np.zeros(len(halves), dtype=bool)
    poisoned[walk.poisoned] = True
    half_flits[poisoned] = 0

    table.auth_tag = _tags(sectors, table, walk.tagged)
    enables = (table.first + table.halves - 1)[table.halves > 2 * table.beats]
    struck = enables[enables < len(halves)]
    struck = struck[poisoned[struck]]
    if len(struck):
        problems.append((int(halves[struck[0]]) // 2, "a poison message stands in the place of byte enables"))
    is_request = (table.ftype == 1) | (table.ftype == 3)
    requests = table.take(is_request)
    missing = recall(requests, cache)
    if missing is not None:
        problems.append((int(requests.row[missing]), "an entry of the address cache was never loaded"))
    return Stream(
        flits=end,
        requests=requests,
        responses=table.take(~is_request),
        returned=returned,
        half_flits=half_flits,
        places=halves,
        poisoned=poisoned,
        messages=np.asarray(walk.messages, dtype=np.int64),
        control=walk.control,
        half_poisoned=_half_poisoned(table, poisoned),
        credit_fields=parsed.row[here & (parsed.ftype == 0)],
        repeated=repeated,
        has_tags=authentication,
        tagged=np.asarray(walk.tagged, dtype=np.int64),
        error=min(problems) if problems else None,
    )


def _tags(sectors: Array, table: Fields, tagged: list[int]) -> Array:
    """The authentication tag of each field of the flits ``tagged``, 0 elsewhere."""
    has_tags = np.zeros(len(sectors), dtype=bool)
    has_tags[tagged] = True
    counts = np.bincount(table.row, minlength=len(sectors))
    _, slot = spread(counts)
    upper = np.ascontiguousarray(sectors[:, 8:]).view(np.uint64)
    return np.where(has_tags[table.row] & (slot < MAX_TAGS), upper[table.row, slot % MAX_TAGS], np.uint64(0))


def _half_poisoned(table: Fields, poisoned: Array) -> bool:
    of, number = spread(table.beats)
    low = table.first[of] + 2 * number
    low = low[low + 1 < len(poisoned)]
    return bool((poisoned[low] != poisoned[low + 1]).any())


def outstanding(counts: Array) -> Array:
    """Fields in a catch buffer that moves with flits only, behind each flit; ``counts`` are those of each flit."""
    # The receiver keeps what it cannot retire at once: one leaves with each flit.
    gain = np.concatenate([[0], np.cumsum(counts - 1)])
    kept = gain - np.minimum.accumulate(gain)
    return counts + kept[:-1]


def excess(counts: Array, limit: int) -> int | None:
    """The first flit with more fields than the source rate limit allows; ``counts`` are those of each flit."""
    too_many = np.flatnonzero(outstanding(counts) > limit)
    return int(too_many[0]) if len(too_many) else None


def spent(fields: Fields) -> Credits:
    """What Requests, or Responses, cost: command credits and data credits, in this order for each field."""
    bucket = np.where(fields.pool, 0, 1 + fields.vchan)
    kind = np.where((fields.ftype == 1) | (fields.ftype == 3), 0, 1)
    accounts = np.stack([kind, 2 + kind], axis=1) * len(BUCKETS) + bucket[:, None]
    counts = np.stack([np.ones_like(fields.beats), fields.beats], axis=1)
    return Credits(np.repeat(fields.row, 2), accounts.ravel(), counts.ravel())
