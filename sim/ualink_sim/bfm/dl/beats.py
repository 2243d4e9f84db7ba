"""Slots of a link as beats of 64 bytes on a device's signals: what stands between DL and reconciliation sublayer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...model.dl.endpoint import CONTROL_FLIT, IDLE, LOST, REMOTE_FAULT, Slot
from ...model.dl.flit import BEAT_BYTES, DL_FLIT_BYTES
from .rules import DLProtocolError

__all__ = ["BEATS", "BeatReceiver", "BeatSender", "DLBus"]

BEATS = DL_FLIT_BYTES // BEAT_BYTES
DATA_BITS = 8 * BEAT_BYTES
GOOD, BAD, CONTROL = 0, 1, 2
KINDS: tuple[Slot | None, ...] = (None, IDLE, REMOTE_FAULT)
"""By code of a transmitted beat; None is a DL flit."""


@dataclass
class DLBus:
    """Handles of a device: beats out (``tx``), beats in (``rx``) and the faults of the RS.

    A payload is one vector: 512 bits of data, then from the lowest bit port (2), first, last and, 2 bits each, kind (of
    ``tx``: 0 flit, 1 Idle, 2 remote fault) or status (of ``rx``: 0 good, 1 lost, 2 control flit).
    """

    tx_valid: Any
    tx_ready: Any
    tx_payload: Any
    rx_valid: Any
    rx_payload: Any
    local_fault: Any
    remote_fault: Any

    @classmethod
    def from_names(cls, dut: Any, name: Callable[[str], str]) -> "DLBus":
        """The signals that are called ``name("tx.valid")`` and so on."""
        paths = ("tx.valid", "tx.ready", "tx.payload", "rx.valid", "rx.payload", "local_fault", "remote_fault")
        return cls(*(getattr(dut, name(path)) for path in paths))

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str = "") -> "DLBus":
        """The signals that are called ``<prefix>__tx__valid`` and so on, as this project's Verilog does."""
        start = f"{prefix}__" if prefix else ""
        return cls.from_names(dut, lambda path: start + path.replace(".", "__"))


def _reader(handle: Any) -> Callable[[int], int]:
    """A function that gives the value of a signal, as cheaply as cocotb can; it is told the number of the slot."""
    raw = getattr(getattr(handle, "_handle", None), "get_signal_val_binstr", None)

    def read(slot: int) -> int:
        text = raw() if raw is not None else str(handle.value)
        try:
            return int(text, 2)
        except ValueError:
            raise DLProtocolError("known", slot, f"{handle._name} is {text}") from None

    return read


class BeatReceiver:
    """Puts beats together to slots; ``port`` is the only one that counts."""

    def __init__(self, valid: Any, ready: Any | None, payload: Any, incoming: bool = False, port: int = 0):
        self._valid, self._payload = _reader(valid), _reader(payload)
        self._ready = _reader(ready) if ready is not None else None
        self._incoming = incoming
        self._port = port
        self.slots = 0
        self.reset()

    def reset(self) -> None:
        """No slot is under way."""
        self._data = bytearray()
        self._code = 0

    def tick(self) -> Slot | None:
        """One cycle; the slot that it completes."""
        if not self._valid(self.slots) or (self._ready is not None and not self._ready(self.slots)):
            return None
        word = self._payload(self.slots)
        flags = word >> DATA_BITS
        port, first, last, code = flags & 3, flags >> 2 & 1, flags >> 3 & 1, flags >> 4 & 3
        if port != self._port:
            return None
        started = bool(self._data)
        self._data += (word & ((1 << DATA_BITS) - 1)).to_bytes(BEAT_BYTES, "little")
        if first == started or last != (len(self._data) == DL_FLIT_BYTES):
            self._wrong(f"beat {len(self._data) // BEAT_BYTES - 1}: {first=}, {last=}")
        if not self._incoming and started and code != self._code:
            self._wrong(f"kind {self._code}, then {code}")
        self._code = code
        if not last:
            return None
        slot = self._slot(code)
        self.reset()
        self.slots += 1
        return slot

    def _wrong(self, detail: str) -> None:
        self._data.clear()
        raise DLProtocolError("framing", self.slots, detail)

    def _slot(self, code: int) -> Slot:
        if self._incoming:
            return bytes(self._data) if code == GOOD else LOST if code == BAD else CONTROL_FLIT
        if code >= len(KINDS):
            self._wrong(f"kind {code}")
        return KINDS[code] or bytes(self._data)


class BeatSender:
    """Presents slots as ten beats each, one per cycle; ``gap`` gives the cycles without a beat before the next one."""

    def __init__(self, valid: Any, payload: Any, gap: Callable[[], int] = lambda: 0, port: int = 0):
        self._valid, self._payload = valid, payload
        self._gap = gap
        self._port = port
        self.reset()

    def reset(self) -> None:
        """No slot is under way."""
        self._slot: Slot | None = None
        self._beat = 0
        self._pause = 0
        self._shown = False
        self._valid.value = 0

    def _show(self, valid: bool) -> None:
        if valid != self._shown:
            self._valid.value = int(valid)
            self._shown = valid

    @property
    def free(self) -> bool:
        """The next cycle can begin a slot."""
        return self._slot is None

    def load(self, slot: Slot) -> None:
        """Begin with ``slot``."""
        self._slot, self._beat = slot, 0
        self._data = slot if isinstance(slot, bytes) else bytes(DL_FLIT_BYTES)
        self._status = GOOD if isinstance(slot, bytes) else BAD if slot is LOST else CONTROL

    def tick(self) -> Slot | None:
        """One cycle; the slot whose last beat is presented in it."""
        if self._pause or self._slot is None:
            self._pause = max(0, self._pause - 1)
            self._show(False)
            return None
        start, last = BEAT_BYTES * self._beat, self._beat == BEATS - 1
        flags = self._port | (self._beat == 0) << 2 | last << 3 | self._status << 4
        self._payload.value = int.from_bytes(self._data[start : start + BEAT_BYTES], "little") | flags << DATA_BITS
        self._show(True)
        self._beat += 1
        self._pause = self._gap()
        if not last:
            return None
        slot, self._slot = self._slot, None
        return slot
