"""Pins of a board as signals."""

from amaranth.hdl import Module, Value
from amaranth.lib import io

__all__ = ["attach", "drive_pin", "read_pin", "simple_leds"]


def read_pin(m: Module, name: str, port: io.PortLike) -> Value:
    """What stands at ``port``; ``name`` is that of the buffer."""
    m.submodules[f"{name}_pin"] = buffer = io.Buffer("i", port)
    return buffer.i


def drive_pin(m: Module, name: str, port: io.PortLike, value) -> None:
    """Drive ``port`` with ``value``."""
    m.submodules[f"{name}_pin"] = buffer = io.Buffer("o", port)
    m.d.comb += buffer.o.eq(value)


def attach(m: Module, platform, board, frame) -> Value:
    """Connect ``frame`` of a design to serial line and LEDs, drive the fixed pins; gives the button of reset."""
    uart = platform.request("uart", dir={"rx": "-", "tx": "-"})
    m.d.comb += frame.rx.eq(read_pin(m, "uart_rx", uart.rx))
    drive_pin(m, "uart_tx", uart.tx, frame.tx)
    for number, port in enumerate(board.leds(platform)):
        drive_pin(m, f"led_{number}", port, frame.leds[number])
    for names, level in ((board.high, 1), (board.low, 0)):
        for name in names:
            drive_pin(m, name, platform.request(name, dir="-"), level)
    return read_pin(m, "reset", platform.request(board.reset, dir="-"))


def simple_leds(platform, count: int) -> list[io.PortLike]:
    """The first ``count`` resources ``led``."""
    return [platform.request("led", number, dir="-") for number in range(count)]
