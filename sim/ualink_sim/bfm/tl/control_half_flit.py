"""Takes a Control half-flit apart and names the rule that it breaks (UALink_200 §5.1.1, §5.9)."""

from ...model.tl.fields import COMPRESSED_COMMANDS, FIELD_TYPES, CompressedRequest, ControlField

__all__ = ["BadField", "parse_control_half_flit"]

SECTOR_BYTES = 4


class BadField(Exception):
    """A field that no receiver can use; ``rule`` is a key of ``RULES``."""

    def __init__(self, rule: str, detail: str):
        self.rule = rule
        super().__init__(detail)


def _bits(value: int, high: int, low: int) -> int:
    return value >> low & (1 << high - low + 1) - 1


def _check_compressed_request(sector: int, value: int, encryption: bool) -> None:
    cmd, blocks, address = _bits(value, 59, 57), _bits(value, 40, 39) + 1, _bits(value, 23, 22)
    if cmd not in COMPRESSED_COMMANDS:
        raise BadField("compressed_cmd", f"sector {sector}: CMD {cmd:03b}")
    if address + blocks > 4 and not encryption:
        raise BadField("block_crossing", f"sector {sector}: {blocks} blocks from block {address}")


def parse_control_half_flit(half_flit: bytes, encryption: bool = False) -> tuple[tuple[int, ControlField], ...]:
    """Fields with their lowest sectors in ascending order, NOP fields left out; ``BadField`` for the first bad one.

    ``encryption`` : the link may carry encrypted traffic, where a Compressed Request may seem to cross 256 bytes.
    """
    found: list[tuple[int, ControlField]] = []
    for quad in (4, 0):
        end = quad + 4
        while end > quad:
            ftype = half_flit[SECTOR_BYTES * end - 1] >> 4
            kind = FIELD_TYPES.get(ftype)
            if kind is None:
                raise BadField("ftype", f"sector {end - 1}: FTYPE {ftype:x}h")
            sector = end - kind.sectors
            if sector < quad or sector % kind.sectors:
                raise BadField("footprint", f"sector {end - 1}: FTYPE {ftype:x}h of {kind.sectors} sectors")
            value = int.from_bytes(half_flit[SECTOR_BYTES * sector : SECTOR_BYTES * end], "little")
            if kind is CompressedRequest:
                _check_compressed_request(sector, value, encryption)
            if value:
                found.append((sector, kind.decode(value)))
            end = sector
    return tuple(sorted(found, key=lambda place: place[0]))
