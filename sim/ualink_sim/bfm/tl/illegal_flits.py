"""Ways to spoil a legal flit; which rule breaks stands with each."""

from ...model.tl.byte_enables import byte_enable_slots
from ...model.tl.fields import (
    COMPRESSED_COMMANDS,
    HALF_FLIT_BYTES,
    CompressedRequest,
    CompressedResponse,
    UncompressedRequest,
)
from ...model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, NOP_MESSAGE, POISONED_DATA, message_half_flit
from .illegalities import WatchedTraffic, breaks_flit
from .observed import Due, Half, ObservedFlit

__all__ = ["free_sectors"]

Spoiled = tuple[bytes, int] | None
SECTOR_BITS = 32


def free_sectors(seen: ObservedFlit) -> list[int]:
    """Sectors of the Control half-flit that hold NOP fields; none when there is no Control half-flit."""
    if seen.lower.due is not Due.CONTROL or seen.lower.is_message:
        return []
    taken = {sector + n for sector, control in seen.fields for n in range(control.sectors)}
    return [sector for sector in range(8) if sector not in taken]


def _free_pair(seen: ObservedFlit) -> int | None:
    free = free_sectors(seen)
    return next((sector for sector in (0, 2, 4, 6) if sector in free and sector + 1 in free), None)


def _put(flit: bytes, message_bits: int, sector: int, value: int) -> Spoiled:
    return (int.from_bytes(flit, "little") | value << SECTOR_BITS * sector).to_bytes(len(flit), "little"), message_bits


def _replace(flit: bytes, message_bits: int, half: int, content: bytes, message: bool) -> Spoiled:
    halves = [flit[:HALF_FLIT_BYTES], flit[HALF_FLIT_BYTES:]]
    halves[half] = content
    return b"".join(halves), message_bits & ~(1 << half) | message << half


def _where(seen: ObservedFlit, *wanted: Due, message: int | None = None) -> int | None:
    """The half that is due to be one of ``wanted`` and holds no message, or a message of one type."""
    return next((n for n, half in enumerate(seen.halves) if half.due in wanted and half.message == message), None)


# Fields.


@breaks_flit("ftype")
def unknown_ftype(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """FTYPE 6h to Fh where a field ends."""
    free = free_sectors(seen)
    return _put(flit, message_bits, end.rng.choice(free), end.rng.randint(6, 15) << 28) if free else None


@breaks_flit("footprint")
def bad_footprint(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A Request or Response of two or four sectors ends where none may."""
    places = [(sector, 1) for sector in free_sectors(seen) if sector % 4 != 3]
    places += [(sector, ftype) for sector in free_sectors(seen) if sector % 2 == 0 for ftype in (2, 3)]
    if not places:
        return None
    sector, ftype = end.rng.choice(places)
    return _put(flit, message_bits, sector, ftype << 28)


@breaks_flit("compressed_cmd")
def reserved_compressed_cmd(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A Compressed Request with a CMD that means nothing."""
    sector = _free_pair(seen)
    cmd = end.rng.choice([code for code in range(8) if code not in COMPRESSED_COMMANDS])
    return None if sector is None else _put(flit, message_bits, sector, CompressedRequest().encode() | cmd << 57)


@breaks_flit("block_crossing")
def crossing_256_bytes(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A Compressed Request that does not end in the 256-byte block where it begins."""
    if end.options.encryption:
        return None
    sector, blocks = _free_pair(seen), end.rng.randint(1, 3)
    value = CompressedRequest(len=blocks).encode() | end.rng.randint(4 - blocks, 3) << 22
    return None if sector is None else _put(flit, message_bits, sector, value)


@breaks_flit("spare")
def spare_bit(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """The spare bit of a Compressed Response is 1."""
    places = [sector for sector, control in seen.fields if isinstance(control, CompressedResponse)]
    return _put(flit, message_bits, places[0], 1) if places else None


# The sequence.


@breaks_flit("mandatory_nop")
def nop_not_zero(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A bit of a MANDATORY NOP is 1."""
    if _where(seen, Due.NOP) is None:
        return None
    return _replace(flit, message_bits, 1, (1 << end.rng.randrange(256)).to_bytes(HALF_FLIT_BYTES, "little"), False)


def _poison(end: WatchedTraffic, flit: bytes, message_bits: int, half: int | None) -> Spoiled:
    poison = message_half_flit(POISONED_DATA, end.rng.randbytes(31))
    return None if half is None else _replace(flit, message_bits, half, poison, True)


@breaks_flit("poison_byte_enables")
def poisoned_byte_enables(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A poison message where byte enables are due."""
    return _poison(end, flit, message_bits, _where(seen, Due.BYTE_ENABLES))


@breaks_flit("poison_slot")
def poisoned_control(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A poison message in a control slot."""
    return _poison(end, flit, message_bits, _where(seen, Due.CONTROL))


@breaks_flit("poison_slot")
def poisoned_nop(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A poison message in place of a MANDATORY NOP."""
    return _poison(end, flit, message_bits, _where(seen, Due.NOP))


@breaks_flit("poison_pair")
def half_poisoned(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """The second half of a beat is poisoned, the first is not."""

    def second(half: Half) -> bool:
        return half.due is Due.DATA and not half.is_message and half.owed is not None and half.owed.index % 2 == 1

    return _poison(end, flit, message_bits, next((n for n, half in enumerate(seen.halves) if second(half)), None))


# Authentication.


@breaks_flit("tags_message", needs_authentication=True)
def message_for_tags(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A NOP message where AuthTags are due."""
    half = _where(seen, Due.TAGS)
    return None if half is None else _replace(flit, message_bits, half, message_half_flit(NOP_MESSAGE), True)


@breaks_flit("unused_tags", needs_authentication=True)
def unused_tag_not_zero(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A tag that belongs to no field."""
    if _where(seen, Due.TAGS) is None or seen.requests + seen.responses > 3:
        return None
    return _replace(flit, message_bits, 1, flit[HALF_FLIT_BYTES:-1] + b"\1", False)


def _write_responses(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int, count: int) -> Spoiled:
    """Write Responses with their credits in free sectors."""
    free, held = free_sectors(seen), end.credits.credits
    bucket = max((None, 0, 1, 2, 3), key=lambda bucket: held["rsp_cmd", bucket])
    allowed = min(held["rsp_cmd", bucket], end.view.rates.responses - 1, len(free))
    if not end.credits.ready or count < 1 or count > allowed:
        return None
    response = CompressedResponse(vchan=bucket or 0, pool=int(bucket is None)).encode()
    value = sum(response << SECTOR_BITS * sector for sector in free[:count])
    return _put(flit, message_bits, 0, value)


@breaks_flit("tag_count", needs_authentication=True)
def five_tags(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """Five Requests and Responses in a Control half-flit."""
    if _where(seen, Due.TAGS) is None:
        return None
    return _write_responses(end, seen, flit, message_bits, 5 - seen.requests - seen.responses)


@breaks_flit("swap_tagged", needs_authentication=True)
def response_in_swap(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A Write Response in a swap flit, where its tag has no place."""
    return _write_responses(end, seen, flit, message_bits, 1) if seen.swap else None


# Messages.


@breaks_flit("message_type")
def unknown_message(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A NOP message becomes one of a type that Rev 1.0 does not have."""
    half = _where(seen, *Due, message=NOP_MESSAGE)
    kind = end.rng.choice([code for code in range(2, 256) if code != POISONED_DATA])
    return None if half is None else _replace(flit, message_bits, half, message_half_flit(kind), True)


@breaks_flit("release_twice")
def second_release(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A NOP message becomes a second Initial Credit Release Complete."""
    half = _where(seen, *Due, message=NOP_MESSAGE)
    if half is None or not end.credits.release_sent:
        return None
    return _replace(flit, message_bits, half, message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE), True)


@breaks_flit("byte_enables")
def byte_enables_elsewhere(end: WatchedTraffic, seen: ObservedFlit, flit: bytes, message_bits: int) -> Spoiled:
    """A byte is enabled in a 64-byte block that the transfer does not touch."""
    half = _where(seen, Due.BYTE_ENABLES)
    if half is None:
        return None
    owed = seen.halves[half].owed
    assert owed is not None
    control = owed.field
    assert isinstance(control, UncompressedRequest | CompressedRequest)
    address = control.addr << 6 if isinstance(control, CompressedRequest) else control.byte_address
    inside = byte_enable_slots(address, control.data_beats(), control.req_cmd, end.options.byte_enable_slots)
    outside = {*range(4)} - {*inside}
    if not outside:
        return None
    content = bytearray(seen.halves[half].content)
    content[8 * min(outside)] |= 0x10
    return _replace(flit, message_bits, half, bytes(content), False)
