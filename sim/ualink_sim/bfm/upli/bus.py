"""The signals of a UPLI interface on a simulated device, found by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ualink.upli.names import standard_name

from .channel import FIELDS, MAX_PORTS, PARITY
from .rules import ProtocolError

__all__ = ["ChannelBus", "CreditBus", "UPLIBus", "reader", "writer"]


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


def writer(handle: Any) -> Callable[[int], None]:
    """A function that drives a signal, of which nobody else may write the handle; what it drives already costs nothing.

    The signal is 0 from the start.
    """
    handle.value = driven = 0

    def write(value: int) -> None:
        nonlocal driven
        if value != driven:
            handle.value = driven = value

    return write


Find = Callable[[str], Any]
"""Gives the handle of a signal by its path, such as ``"rd_rsp.credit.port_num.2"``."""


class CreditBus:
    """Handles of the credit return interface of a channel."""

    def __init__(self, find: Find, channel: str):
        self.init_done = find(f"{channel}.credit.init_done")
        self.vld = find(f"{channel}.credit.vld")
        self.pool = find(f"{channel}.credit.pool")
        self.port_vc = [find(f"{channel}.credit.port_vc.{n}") for n in range(MAX_PORTS)]
        self.port_num = [find(f"{channel}.credit.port_num.{n}") for n in range(MAX_PORTS)]
        self.vld_parity = find(f"{channel}.credit.vld_parity")
        self.parity = find(f"{channel}.credit.parity")


class ChannelBus:
    """Handles of one channel: ``vld``, ``vld_parity``, ``fields``, ``parities`` and ``credit``."""

    def __init__(self, find: Find, channel: str):
        self.channel = channel
        self.vld = find(f"{channel}.vld")
        self.vld_parity = find(f"{channel}.vld_parity")
        self.fields = {name: find(f"{channel}.{name}") for name in FIELDS[channel]}
        names = [*PARITY[channel], *(["data_parity"] if "data" in FIELDS[channel] else [])]
        self.parities = {name: find(f"{channel}.{name}") for name in names}
        self.credit = CreditBus(find, channel)


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
    def from_names(cls, dut: Any, name: Callable[[str], str]) -> "UPLIBus":
        """The interface on ``dut`` whose signal at each path is called ``name(path)``."""

        def find(path: str) -> Any:
            return getattr(dut, name(path))

        channels = {channel: ChannelBus(find, channel) for channel in FIELDS}
        handshake = ("orig_clk_req", "orig_clk_ack", "comp_clk_req", "comp_clk_ack")
        return cls(**channels, **{signal: find(signal) for signal in handshake})

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str) -> "UPLIBus":
        """The interface whose signals are called ``<prefix>__req__vld`` and so on, as this project's Verilog does."""
        return cls.from_names(dut, lambda path: f"{prefix}__{path.replace('.', '__')}")

    @classmethod
    def from_standard_names(cls, dut: Any, prefix: str = "") -> "UPLIBus":
        """The interface whose signals are called ``<prefix>ReqVld`` and so on, as in the standard."""
        return cls.from_names(dut, lambda path: prefix + standard_name(path))
