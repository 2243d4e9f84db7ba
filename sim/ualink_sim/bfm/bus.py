"""The signals of a UPLI interface on a simulated device, found by prefix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .channel import FIELDS, MAX_PORTS, PARITY
from .rules import ProtocolError

__all__ = ["ChannelBus", "CreditBus", "UPLIBus", "reader"]


def reader(handle: Any, channel: str) -> Callable[[], int]:
    """A function that gives the value of a signal as a number, as cheaply as cocotb can."""
    # A handle's ``value`` makes an object of type Logic or LogicArray, which takes far longer than the reading.
    raw = getattr(getattr(handle, "_handle", None), "get_signal_val_binstr", None)
    if raw is None:
        return lambda: int(handle.value)

    def read() -> int:
        try:
            return int(raw(), 2)
        except ValueError:
            raise ProtocolError(channel, "known", f"{handle._name} is {raw()}") from None

    return read


class CreditBus:
    """Handles of a credit return interface."""

    def __init__(self, dut: Any, prefix: str):
        self.init_done = getattr(dut, f"{prefix}init_done")
        self.vld = getattr(dut, f"{prefix}vld")
        self.pool = getattr(dut, f"{prefix}pool")
        self.port_vc = [getattr(dut, f"{prefix}port_vc__{n}") for n in range(MAX_PORTS)]
        self.port_num = [getattr(dut, f"{prefix}port_num__{n}") for n in range(MAX_PORTS)]
        self.vld_parity = getattr(dut, f"{prefix}vld_parity")
        self.parity = getattr(dut, f"{prefix}parity")


class ChannelBus:
    """Handles of one channel: ``vld``, ``vld_parity``, ``fields``, ``parities`` and ``credit``."""

    def __init__(self, dut: Any, prefix: str, channel: str):
        self.channel = channel
        self.vld = getattr(dut, f"{prefix}vld")
        self.vld_parity = getattr(dut, f"{prefix}vld_parity")
        self.fields = {name: getattr(dut, f"{prefix}{name}") for name in FIELDS[channel]}
        names = [*PARITY[channel], *(["data_parity"] if "data" in FIELDS[channel] else [])]
        self.parities = {name: getattr(dut, f"{prefix}{name}") for name in names}
        self.credit = CreditBus(dut, f"{prefix}credit__")


@dataclass
class UPLIBus:
    """Handles of a whole UPLI interface: four channels and the connection handshake."""

    req: ChannelBus
    orig_data: ChannelBus
    rd_rsp: ChannelBus
    wr_rsp: ChannelBus
    orig_clk_req: Any
    orig_clk_ack: Any
    comp_clk_req: Any
    comp_clk_ack: Any

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str) -> "UPLIBus":
        """The interface whose signals are called ``<prefix>__req__vld`` and so on on ``dut``."""
        channels = {name: ChannelBus(dut, f"{prefix}__{name}__", name) for name in FIELDS}
        handshake = ("orig_clk_req", "orig_clk_ack", "comp_clk_req", "comp_clk_ack")
        return cls(**channels, **{name: getattr(dut, f"{prefix}__{name}") for name in handshake})
