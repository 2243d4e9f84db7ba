"""When a field may be compressed, how it is rebuilt, and the address caches (UALink_200 §5.5, §5.6, §5.9.3-5.9.5)."""

from .fields import (
    COMPRESSED_COMMANDS,
    READ,
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    FieldError,
    UncompressedRequest,
    UncompressedResponse,
)

__all__ = [
    "REGION_BITS",
    "AddressCache",
    "compress_request",
    "compress_response",
    "expand_request",
    "expand_response",
    "is_compressible",
]

REGION_BITS = 20
"""A cache entry stands for ReqAddr[56:20]."""

_CODE_OF_COMMAND = {command: code for code, command in COMPRESSED_COMMANDS.items()}


def is_compressible(request: UncompressedRequest, meta_data_mask: int = 0xFC) -> bool:
    """Every condition but the cache hit; ``meta_data_mask`` names the bits that must be 0 (ruling D02).

    The short form has no NUMBEATS: the receiver takes it from LEN. With encryption the address is ciphertext by chance
    aligned, so a Write of one beat more than LEN says must be known by its NUMBEATS (ruling D19).
    """
    if request.num_beats != (0 if request.cmd == READ else request.len >> 4):
        return False
    if request.cmd not in _CODE_OF_COMMAND or request.attr != (0xFF if request.cmd == READ else 0x00):
        return False
    whole_blocks = request.len % 16 == 15 and request.byte_address % 64 == 0
    inside_256 = (request.byte_address >> 6 & 3) + (request.len >> 4) <= 3
    return whole_blocks and inside_256 and not request.meta_data & meta_data_mask


def compress_request(request: UncompressedRequest, cway: int) -> CompressedRequest:
    """The compressed form, its upper address bits named by way ``cway``."""
    if not is_compressible(request):
        raise FieldError(f"the conditions of compression do not hold for {request}")
    return CompressedRequest(
        cmd=_CODE_OF_COMMAND[request.cmd],
        vchan=request.vchan,
        asi=request.asi,
        tag=request.tag,
        pool=request.pool,
        len=request.len >> 4,
        meta_data=request.meta_data,
        addr=request.byte_address >> 6 & 0x3FFF,
        src_acc_id=request.src_acc_id,
        dst_acc_id=request.dst_acc_id,
        cway=cway,
    )


def expand_request(request: CompressedRequest, region: int) -> UncompressedRequest:
    """The Request that a compressed one stands for; ``region`` is ReqAddr[56:20] from the cache."""
    read = request.req_cmd == READ
    return UncompressedRequest(
        cmd=request.req_cmd,
        vchan=request.vchan,
        asi=request.asi,
        tag=request.tag,
        pool=request.pool,
        attr=0xFF if read else 0x00,
        len=request.len << 4 | 0xF,
        meta_data=request.meta_data,
        addr=region << (REGION_BITS - 2) | request.addr << 4,
        src_acc_id=request.src_acc_id,
        dst_acc_id=request.dst_acc_id,
        num_beats=0 if read else request.len,
    )


def compress_response(
    response: UncompressedResponse,
) -> CompressedReadResponse | CompressedResponse | UncompressedResponse:
    """The shortest legal form: one beat alone is FTYPE 4h, a burst or a Write Response 5h (ruling D07)."""
    if response.status:
        return response
    common = {
        "vchan": response.vchan,
        "tag": response.tag,
        "pool": response.pool,
        "dst_acc_id": response.dst_acc_id,
    }
    if response.rd_wr and response.len == 0:
        return CompressedReadResponse(offset=response.offset, last=response.last, **common)
    return CompressedResponse(len=response.len if response.rd_wr else 0, rd_wr=response.rd_wr, **common)


def expand_response(
    response: UncompressedResponse | CompressedReadResponse | CompressedResponse,
) -> UncompressedResponse:
    """The Response with everything a receiver knows of it; a burst has OFFSET 0 and LAST 1, SRCACCID not sent is 0."""
    if isinstance(response, UncompressedResponse):
        return response
    if isinstance(response, CompressedReadResponse):
        burst, offset, last = 0, response.offset, response.last
    else:
        burst, offset, last = (response.len, 0, 1) if response.is_read else (0, 0, 0)
    return UncompressedResponse(
        vchan=response.vchan,
        tag=response.tag,
        pool=response.pool,
        len=burst,
        offset=offset,
        rd_wr=int(response.is_read),
        last=last,
        dst_acc_id=response.dst_acc_id,
    )


class AddressCache:
    """One address cache of a link: ``rows`` x ``ways`` entries of ReqAddr[56:20].

    ``row_member`` is "dst_acc_id" from an Accelerator to a Switch and "src_acc_id" the other way.
    """

    def __init__(self, row_member: str = "dst_acc_id", rows: int = 1024, ways: int = 4):
        if row_member not in ("dst_acc_id", "src_acc_id"):
            raise ValueError(f"row_member is {row_member!r}; it must be 'dst_acc_id' or 'src_acc_id'")
        self.row_member, self.rows, self.ways = row_member, rows, ways
        self.entries: dict[tuple[int, int], int] = {}

    def clear(self) -> None:
        """Forget every entry."""
        self.entries.clear()

    def _key(self, request: UncompressedRequest | CompressedRequest, cway: int) -> tuple[int, int]:
        row = getattr(request, self.row_member)
        if row >= self.rows or cway >= self.ways:
            raise FieldError(f"row {row}, way {cway} is outside a cache of {self.rows} rows and {self.ways} ways")
        return row, cway

    def find(self, request: UncompressedRequest) -> int | None:
        """Transmit side: the way that holds the region of ``request``, or None."""
        region = request.byte_address >> REGION_BITS
        hits = (way for way in range(self.ways) if self.entries.get(self._key(request, way)) == region)
        return next(hits, None)

    def load(self, request: UncompressedRequest, cway: int) -> None:
        """Either side: write the region of ``request`` at way ``cway``."""
        self.entries[self._key(request, cway)] = request.byte_address >> REGION_BITS

    def holds(self, request: UncompressedRequest | CompressedRequest) -> bool:
        """Receive side: the address of ``request`` can be told."""
        return isinstance(request, UncompressedRequest) or self._key(request, request.cway) in self.entries

    def receive(self, request: UncompressedRequest | CompressedRequest) -> UncompressedRequest:
        """Receive side: obey CLOAD, rebuild a compressed one; FieldError for an entry that was never loaded."""
        if isinstance(request, UncompressedRequest):
            if request.cload:
                self.load(request, request.cway)
            return request
        key = self._key(request, request.cway)
        if key not in self.entries:
            raise FieldError(f"row {key[0]}, way {key[1]} of the address cache was never loaded")
        return expand_request(request, self.entries[key])
