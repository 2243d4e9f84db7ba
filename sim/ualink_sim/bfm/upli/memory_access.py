"""Reads, writes and atomics of bytes over a ``UPLIOriginator`` (UALink_200 §2.7.4, §2.8)."""

from collections.abc import Callable
from dataclasses import replace

from ...beats import orig_data_beats, response_data, upli_request
from ...model.upli import transactions as upli
from ...request import Request, check, read_attr
from ..common.arguments import check_function, check_number
from .memory_handler import to_beat
from .originator import Transaction, UPLIOriginator

__all__ = ["MemoryAccess", "ResponseError"]


LAST_ID = 1023


class ResponseError(RuntimeError):
    """A Response with a ``status`` other than OKAY, or with poisoned data."""

    def __init__(self, status: upli.Status, detail: str):
        self.status = status
        super().__init__(detail)


class MemoryAccess:
    """Awaitable operations of accelerator ``source`` on the memory of others; each waits for its Response.

    They take any address and length that one Request can carry, and raise ValueError for others. ``port_for`` gives
    the port of an address; all Requests to one block of 256 bytes must take the same (UALink_200 §2.7.9).
    """

    def __init__(
        self,
        originator: UPLIOriginator,
        *,
        source: int = 0,
        vc: int = 0,
        port_for: Callable[[int], int] | None = None,
    ):
        me = type(self).__name__
        check_number(me, "source", source, 0, LAST_ID)
        check_number(me, "vc", vc, 0, 3)
        if port_for is not None:
            check_function(me, "port_for", port_for, "the port of an address")
        self.originator = originator
        self.source = source
        self.vc = vc
        self.port_for = port_for or (lambda address: (address >> 8) % originator.ports)

    async def read(self, dst: int, addr: int, length: int, byte_en: int | None = None) -> bytes:
        """``length`` bytes from ``addr`` on; ``byte_en`` may leave out bytes of the first and last doubleword."""
        enables = (1 << length) - 1 if byte_en is None else byte_en
        attr = read_attr(enables, length) if length >= 4 else 0
        request = self._request(dst, "read", addr, length, byte_en=enables, attr=attr)
        return self._data(request, await self._perform(request))

    async def write(self, dst: int, addr: int, data: bytes, byte_en: int | None = None) -> None:
        """Write ``data`` to ``addr``, a WriteFull where whole blocks of 64 bytes are written."""
        enables = (1 << len(data)) - 1 if byte_en is None else byte_en
        whole = byte_en is None and addr % 64 == 0 and len(data) % 64 == 0
        op = "write_full" if whole else "write"
        await self._perform(self._request(dst, op, addr, len(data), data=data, byte_en=enables))

    async def atomic(self, dst: int, addr: int, operands: bytes, attr: int, byte_en: int | None = None) -> bytes:
        """The operation of ReqAttr ``attr`` (AtomicR); the bytes before it."""
        enables = (1 << len(operands)) - 1 if byte_en is None else byte_en
        request = self._request(dst, "atomic", addr, len(operands), data=operands, byte_en=enables, attr=attr)
        return self._data(request, await self._perform(request))

    async def atomic_nr(self, dst: int, addr: int, operands: bytes, attr: int, byte_en: int | None = None) -> None:
        """The operation of ReqAttr ``attr`` without a result (AtomicNR)."""
        enables = (1 << len(operands)) - 1 if byte_en is None else byte_en
        await self._perform(
            self._request(dst, "atomic_nr", addr, len(operands), data=operands, byte_en=enables, attr=attr)
        )

    def _request(self, dst: int, op: str, addr: int, length: int, **more) -> Request:
        check_number(type(self).__name__, "dst", dst, 0, LAST_ID)
        request = Request(line=0, src=self.source, dst=dst, op=op, addr=addr, len=length, **more)
        fault = check(request)
        if fault is not None:
            raise ValueError(f"{op}: {fault.key} {fault.reason}")
        return request

    async def _perform(self, request: Request) -> Transaction:
        beats = [replace(beat, vc=self.vc) for beat in orig_data_beats(request)]
        transaction = Transaction(
            request=to_beat(replace(upli_request(request), vc=self.vc)),
            data=[to_beat(beat) for beat in beats],
            port=self.port_for(request.addr),
        )
        await self.originator.complete(transaction)
        status = upli.Status(transaction.status)
        where = f"{request.op} of {request.len} bytes at {request.addr:#x} of accelerator {request.dst}"
        if status != upli.Status.OKAY:
            raise ResponseError(status, f"{where}: {status.name}")
        if any(beat.get("data_error") for beat in transaction.response):
            raise ResponseError(status, f"{where}: the data are poisoned")
        return transaction

    @staticmethod
    def _data(request: Request, transaction: Transaction) -> bytes:
        beats = [
            upli.RdRspBeat(tag=beat["tag"], data=beat["data"].to_bytes(64, "little"), offset=beat["offset"])
            for beat in transaction.response
        ]
        return response_data(request, beats)
