"""What the Final Completer does with a Request: a memory behind UPLI (UALink_200 §2.7.4.6, §2.7.5, §2.8)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .memory import LINE_BYTES, OPERATIONS, Memory, Operation
from .transactions import (
    ALL_LANES,
    BEAT_BYTES,
    KEY_ROLL_RD_RSP_CHANNEL,
    VENDOR_MESSAGES,
    OrigDataBeat,
    RdRspBeat,
    ReqCmd,
    Request,
    Status,
    WrRspBeat,
    beats_of,
    element_bytes,
    has_orig_data,
    is_vendor_defined,
    lane_masks,
    op_type,
    read_masks,
    responds_on_rd_rsp,
    violations,
)

__all__ = ["MANUFACTURED", "Completer"]

MANUFACTURED = b"\xff" * BEAT_BYTES
"""Data of a beat with an error status."""

_ZERO = bytes(BEAT_BYTES)


class Completer:
    """Executes Requests one after the other on ``memory``.

    Addresses from ``size`` on answer DECODE_ERROR (None: the whole 57-bit space exists). ``operations`` gives OpTypes
    their meaning; ``single_beat`` answers Reads in single-beat mode. Lanes without a wanted byte are 0 (ruling A-20).
    ``vendor_refusal`` is the status, 0001b to 1110b, that refuses a Vendor Defined Command: what it means, its vendor
    decides (ruling A-47).
    ``touched`` holds the addresses of the 64-byte lines that Requests have read or changed.
    """

    def __init__(
        self,
        memory: Memory | None = None,
        operations: Mapping[int, Operation] = OPERATIONS,
        size: int | None = None,
        single_beat: bool = False,
        vendor_refusal: int = Status.TARGET_ABORT,
    ):
        if not Status.OKAY < vendor_refusal < Status.ISOLATE:
            raise ValueError(f"vendor_refusal is {vendor_refusal}; a Vendor Defined Command is refused with 1 to 14")
        self.memory = memory if memory is not None else Memory()
        self.operations = operations
        self.size = size
        self.single_beat = single_beat
        self.vendor_refusal = vendor_refusal
        self.touched: set[int] = set()

    def execute(self, request: Request, beats: Sequence[OrigDataBeat] = ()) -> list[RdRspBeat] | list[WrRspBeat]:
        """The Response to ``request``, whose OrigData are ``beats``."""
        if len(beats) != (request.num_beats + 1 if has_orig_data(request.cmd) else 0):
            raise ValueError(f"{len(beats)} OrigData beats come with ReqNumBeats {request.num_beats}")
        handlers: dict[int, Callable[[Request, Sequence[OrigDataBeat]], tuple[int, list[bytes]]]] = {
            ReqCmd.READ: self._read,
            ReqCmd.WRITE: self._write,
            ReqCmd.WRITE_FULL: self._write,
            ReqCmd.ATOMIC_R: self._atomic,
            ReqCmd.ATOMIC_NR: self._atomic,
            ReqCmd.UPLI_WRITE_MESSAGE: self._message,
        }
        status, data = handlers.get(request.cmd, self._unknown)(request, beats)
        if not responds_on_rd_rsp(request):
            return [WrRspBeat(status=status, **self._echo(request))]
        if status != Status.OKAY:
            data = [MANUFACTURED] * len(data)
        burst = 0 if self.single_beat else len(data) - 1
        return [
            RdRspBeat(
                data=content,
                status=status,
                offset=offset,
                num_beats=burst,
                last=offset == len(data) - 1,
                **self._echo(request),
            )
            for offset, content in enumerate(data)
        ]

    def _echo(self, request: Request) -> dict[str, Any]:
        return {
            "tag": request.tag,
            "src_phys_acc_id": request.dst_phys_acc_id,
            "dst_phys_acc_id": request.src_phys_acc_id,
            "vc": request.vc,
        }

    def _refusal(self, request: Request, operands: int | None = None) -> Status | None:
        if violations(request, operands):
            return Status.TARGET_ABORT
        last = request.addr + (32 if operands == 2 else 4 * (request.len + 1)) - 1
        return Status.DECODE_ERROR if self.size is not None and last >= self.size else None

    def _lines(self, request: Request, count: int) -> range:
        first = request.addr - request.addr % LINE_BYTES
        lines = range(first, first + LINE_BYTES * count, LINE_BYTES)
        self.touched.update(lines)
        return lines

    def _read(self, request: Request, beats: Sequence[OrigDataBeat]) -> tuple[Status, list[bytes]]:
        refusal = self._refusal(request)
        if refusal:
            return refusal, [MANUFACTURED] * min(4, beats_of(request.addr, request.len))
        data = []
        masks = read_masks(request.addr, request.len, request.attr)
        for address, mask in zip(self._lines(request, len(masks)), masks):
            line = self.memory.read_line(address)
            if mask != ALL_LANES:
                line = bytes(byte if mask >> lane & 1 else 0 for lane, byte in enumerate(line))
            data.append(line)
        return Status.OKAY, data

    def _write(self, request: Request, beats: Sequence[OrigDataBeat]) -> tuple[Status, list[bytes]]:
        refusal = self._refusal(request)
        if refusal:
            return refusal, []
        lines = self._lines(request, len(beats))
        for address, beat, mask in zip(lines, beats, lane_masks(request.addr, request.len)):
            if not beat.error:
                self.memory.write_line(address, beat.data, beat.byte_en & mask)
        # A corrupt beat changes nothing and makes the write fail (ruling A-15).
        return Status.TARGET_ABORT if any(beat.error for beat in beats) else Status.OKAY, []

    def _atomic(self, request: Request, beats: Sequence[OrigDataBeat]) -> tuple[Status, list[bytes]]:
        operation = self.operations.get(op_type(request.attr))
        if operation is None or len(beats) != 1 or beats[0].error:
            return Status.TARGET_ABORT, [MANUFACTURED]
        refusal = self._refusal(request, operation.operands)
        if refusal:
            return refusal, [MANUFACTURED]
        size = element_bytes(request.attr)
        double = operation.operands == 2
        enables = beats[0].byte_en if double else beats[0].byte_en & lane_masks(request.addr, request.len)[0]
        if double and enables >> 32 != enables & 0xFFFFFFFF:
            return Status.TARGET_ABORT, [MANUFACTURED]
        element = (1 << size) - 1
        chosen = []
        for lane in range(0, 32 if double else BEAT_BYTES, size):
            enable = enables >> lane & element
            if enable not in (0, element):
                return Status.TARGET_ABORT, [MANUFACTURED]
            if enable:
                chosen.append(lane)
        result = bytearray(BEAT_BYTES)
        [line] = self._lines(request, 1)
        base = request.addr if double else line
        for lane in chosen:
            op1 = int.from_bytes(beats[0].data[lane : lane + size], "little")
            op2 = int.from_bytes(beats[0].data[32 + lane : 32 + lane + size], "little") if double else 0
            old = self.memory.atomic(base + lane, size, operation, op1, op2)
            at = (base + lane) % BEAT_BYTES
            result[at : at + size] = old.to_bytes(size, "little")
        return Status.OKAY, [bytes(result)]

    def _message(self, request: Request, beats: Sequence[OrigDataBeat]) -> tuple[Status, list[bytes]]:
        known = request.meta_data not in VENDOR_MESSAGES and not violations(request)
        data = [_ZERO] if request.meta_data == KEY_ROLL_RD_RSP_CHANNEL else []
        return (Status.OKAY if known else Status.TARGET_ABORT), data

    def _unknown(self, request: Request, beats: Sequence[OrigDataBeat]) -> tuple[int, list[bytes]]:
        """Reserved commands (ruling A-24) and those of vendors (ruling A-47): neither has a meaning here."""
        return (self.vendor_refusal if is_vendor_defined(request.cmd) else Status.TARGET_ABORT), [_ZERO]
