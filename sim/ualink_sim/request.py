"""One request of a simulated accelerator, and what makes it legal (UALink_200 §2.7.4, §2.8)."""

from dataclasses import dataclass
from typing import NamedTuple

from .model.upli.memory import ADDRESS_BITS
from .model.upli.memory import OPERATIONS as ATOMIC_OPERATIONS
from .model.upli.transactions import ELEMENT_BYTES, ReqCmd, op_type

__all__ = ["OPERATIONS", "Fault", "Request", "check", "operand_count", "read_attr", "read_byte_en"]

OPERATIONS = {
    "read": ReqCmd.READ,
    "write": ReqCmd.WRITE,
    "write_full": ReqCmd.WRITE_FULL,
    "atomic": ReqCmd.ATOMIC_R,
    "atomic_nr": ReqCmd.ATOMIC_NR,
}
"""Operation names of traces and reports, with their ReqCmd codes."""

BLOCK_BYTES = 256
MAX_OUTSTANDING = 2048
"""Tags of a port (ReqTag has 11 bits)."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as its source issues it.

    Attributes
    ----------
    line : counts from 1 over the trace or workloads; names the request everywhere.
    src, dst : accelerator numbers.
    op : a key of ``OPERATIONS``.
    addr, len : bytes; double-operand atomics have ``len`` 64 and work on 32 bytes at ``addr``.
    data : ``len`` bytes of write data or operands (two operands: Op1, then Op2, 32 bytes each); empty for reads.
    byte_en : ``len`` bits, bit i enables byte i of the transfer.
    attr : ReqAttr.
    at : cycle before which the request is not issued.
    after : lines that must have completed before it is issued.
    window : the source issues it only while fewer than ``window`` of its requests are outstanding.
    workload : place of its workload in the scenario, from 0.
    vpod : the virtual pod in which it is issued, by name; None: in any of which source and destination are members.
    """

    line: int
    src: int
    dst: int
    op: str
    addr: int
    len: int
    data: bytes = b""
    byte_en: int
    attr: int = 0
    at: int = 0
    after: tuple[int, ...] = ()
    window: int = 256
    workload: int = 0
    vpod: str | None = None

    @property
    def cmd(self) -> ReqCmd:
        """ReqCmd."""
        return OPERATIONS[self.op]

    @property
    def has_data(self) -> bool:
        """Originator Data beats accompany the request: ReqCmd[5]."""
        return bool(self.cmd >> 5)

    @property
    def returns_data(self) -> bool:
        """Answered on the Read Response channel."""
        return self.op in ("read", "atomic")

    @property
    def is_atomic(self) -> bool:
        return self.op in ("atomic", "atomic_nr")

    @property
    def has_two_operands(self) -> bool:
        return self.is_atomic and operand_count(self.attr) == 2


class Fault(NamedTuple):
    """What is wrong with a request: the key at fault and one reason."""

    key: str
    reason: str


def operand_count(attr: int) -> int:
    """Operands that an atomic with ReqAttr ``attr`` takes; an OpType without meaning is laid out like one with one."""
    operation = ATOMIC_OPERATIONS.get(op_type(attr))
    return operation.operands if operation else 1


def read_attr(byte_en: int, length: int) -> int:
    """ReqAttr of a read of ``length`` bytes with ``byte_en``: enables of the first and of the last doubleword.

    A read of one doubleword uses ReqAttr[3:0] alone; the ignored ReqAttr[7:4] are ones.
    """
    last = 0xF if length == 4 else byte_en >> length - 4 & 0xF
    return last << 4 | byte_en & 0xF


def read_byte_en(attr: int, length: int) -> int:
    """The byte enables that ReqAttr ``attr`` gives a read of ``length`` bytes."""
    if length == 4:
        return attr & 0xF
    return (1 << length) - 1 & ~0xF & ~(0xF << length - 4) | attr & 0xF | (attr >> 4) << length - 4


def check(request: Request) -> Fault | None:
    """The first rule that ``request`` breaks, or None."""
    addr, length = request.addr, request.len
    if addr >> ADDRESS_BITS or addr < 0:
        return Fault("addr", f"{addr:#x} does not fit in {ADDRESS_BITS} bits")
    if addr % 4:
        return Fault("addr", f"{addr:#x} is not a multiple of 4")
    if length % 4 or not 4 <= length <= BLOCK_BYTES:
        return Fault("len", f"{length} is not a multiple of 4 from 4 to {BLOCK_BYTES}")
    if request.byte_en >> length:
        return Fault("byte_en", f"has bits beyond the {length} bytes of the transfer")
    if len(request.data) != (length if request.has_data else 0):
        need = f"{length}" if request.has_data else "no"
        return Fault("data", f"holds {len(request.data)} bytes; {request.op} of {length} bytes needs {need} bytes")
    if not 0 <= request.attr <= 0xFF:
        return Fault("attr", f"{request.attr} does not fit in 8 bits")
    if request.is_atomic:
        return _check_double(request) if request.has_two_operands else _check_single(request)
    if addr % BLOCK_BYTES + length > BLOCK_BYTES:
        return Fault("len", f"{length} bytes at {addr:#x} cross a boundary of {BLOCK_BYTES} bytes")
    if request.op == "write_full":
        if addr % 64:
            return Fault("addr", f"{addr:#x} is not a multiple of 64, as write_full needs")
        if length % 64:
            return Fault("len", f"{length} is not a multiple of 64, as write_full needs")
        if request.byte_en != (1 << length) - 1:
            return Fault("byte_en", "write_full enables every byte")
    if request.op == "read" and read_byte_en(read_attr(request.byte_en, length), length) != request.byte_en:
        return Fault("byte_en", "a read can leave out bytes of its first and last doubleword only")
    return None


def _check_single(request: Request) -> Fault | None:
    size = ELEMENT_BYTES[request.attr >> 2 & 3]
    if request.addr % 64 + request.len > 64:
        return Fault("len", f"{request.len} bytes at {request.addr:#x} cross a boundary of 64 bytes")
    if request.addr % size:
        return Fault("addr", f"{request.addr:#x} is not a multiple of the element of {size} bytes")
    if request.len % size:
        return Fault("len", f"{request.len} is not a multiple of the element of {size} bytes")
    return _check_elements(request, size)


def _check_double(request: Request) -> Fault | None:
    if request.len != 64:
        return Fault("len", f"{request.len} is not 64, as an atomic with two operands needs")
    if request.addr % 32:
        return Fault("addr", f"{request.addr:#x} is not a multiple of 32, as an atomic with two operands needs")
    if request.byte_en >> 32 != request.byte_en & 0xFFFFFFFF:
        return Fault("byte_en", "differs between the first and the second operand")
    return _check_elements(request, ELEMENT_BYTES[request.attr >> 2 & 3])


def _check_elements(request: Request, size: int) -> Fault | None:
    whole = (1 << size) - 1
    for position in range(0, request.len, size):
        if request.byte_en >> position & whole not in (0, whole):
            return Fault("byte_en", f"enables part of the element of {size} bytes at byte {position}")
    return None
