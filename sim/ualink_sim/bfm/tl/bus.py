"""TL flits on a device's signals: 512 bits, two message bits, valid and ready."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .rules import TLProtocolError

__all__ = ["FlitReader", "TLBus"]

FLIT_BYTES = 64


@dataclass
class TLBus:
    """Handles of a device: flits out (``tx``) and in (``rx``).

    Byte n of ``data`` is bits 8n+7..8n; bit 0 of ``message`` is M0, of the lower half. ``rx_ready`` None: the device
    takes every flit. ``online``: tells the device that channel 0 of the DL is online; None when there is no such input.
    """

    tx_valid: Any
    tx_ready: Any
    tx_data: Any
    tx_message: Any
    rx_valid: Any
    rx_data: Any
    rx_message: Any
    rx_ready: Any | None = None
    online: Any | None = None

    @classmethod
    def from_names(cls, dut: Any, name: Callable[[str], str]) -> "TLBus":
        """The signals that are called ``name("tx_flit.valid")`` and so on; ``rx_flit.ready`` and ``online`` if any."""
        tx = ("tx_flit.valid", "tx_flit.ready", "tx_flit.data", "tx_flit.message")
        rx = ("rx_flit.valid", "rx_flit.data", "rx_flit.message")
        optional = (getattr(dut, name(path), None) for path in ("rx_flit.ready", "online"))
        return cls(*(getattr(dut, name(path)) for path in (*tx, *rx)), *optional)

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str = "") -> "TLBus":
        """The signals that are called ``<prefix>__tx_flit__valid`` and so on, as this project's Verilog does."""
        start = f"{prefix}__" if prefix else ""
        return cls.from_names(dut, lambda path: start + path.replace(".", "__"))


def read(handle: Any, flit: int) -> int:
    """The value of a signal, as cheaply as cocotb can; ``flit`` is named when it is neither 0 nor 1."""
    raw = getattr(getattr(handle, "_handle", None), "get_signal_val_binstr", None)
    text = raw() if raw is not None else str(handle.value)
    try:
        return int(text, 2)
    except ValueError:
        raise TLProtocolError("known", flit, f"{handle._name} is {text}") from None


class FlitReader:
    """Takes the flits of one stream; ``ready`` None: all are taken."""

    def __init__(self, valid: Any, ready: Any | None, data: Any, message: Any):
        self._valid, self._ready, self._data, self._message = valid, ready, data, message
        self.flits = 0
        self.reset()

    def reset(self) -> None:
        """Nothing is on offer."""
        self._offered: tuple[bytes, int] | None = None

    def tick(self, ready: bool | None = None) -> tuple[bytes, int] | None:
        """One cycle, once for each; the flit that goes with the coming edge. ``ready`` overrides the signal."""
        number = self.flits + 1
        offered = None
        if read(self._valid, number):
            offered = read(self._data, number).to_bytes(FLIT_BYTES, "little"), read(self._message, number)
        if self._offered is not None and offered != self._offered:
            self._offered = None
            raise TLProtocolError("stable", number, "changed" if offered else "withdrawn")
        if ready is None:
            ready = self._ready is None or bool(read(self._ready, number))
        self._offered = None if ready else offered
        if offered is None or not ready:
            return None
        self.flits += 1
        return offered
