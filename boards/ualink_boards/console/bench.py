"""The cocotb side of a simulated board: joins the serial pins of the design to a pseudo-terminal.

``UALINK_BOARD`` names a JSON file: ``cycles_per_bit`` of the line, ``rest_after``, ``ready``, the file into which the
path of the terminal goes once the board can be talked to, and the ports, as ``Hardware.pins`` gives them.
"""

import json
import os
import pty
import select
import tty
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

CLOCK_NS = 2
BITS = 8


class Terminal:
    """The board's end of a pseudo-terminal, whose other end programs open as a serial port."""

    def __init__(self):
        self._end, other = pty.openpty()
        # `other` stays open, or the terminal would be gone whenever no program has it open.
        tty.setraw(other)
        os.set_blocking(self._end, False)
        self.path = os.ttyname(other)

    def read(self) -> bytes:
        """What has arrived."""
        try:
            return os.read(self._end, 4096)
        except BlockingIOError:
            return b""

    def write(self, data: bytes) -> None:
        """Send; like a wire, what nobody takes is lost."""
        try:
            os.write(self._end, data)
        except BlockingIOError:
            return

    def wait(self) -> None:
        """Until something arrives."""
        select.select([self._end], [], [])


class Line:
    """The serial pins ``rx`` and ``tx`` of a board."""

    def __init__(self, rx, tx, cycles_per_bit: int, terminal: Terminal):
        self._rx, self._tx = rx, tx
        self._bit = CLOCK_NS * cycles_per_bit
        self._terminal = terminal
        rx.value = 1

    async def send(self, byte: int) -> None:
        """A byte to the board."""
        levels = [0, *(byte >> n & 1 for n in range(BITS)), 1]
        while levels:
            same = next((n for n, level in enumerate(levels) if level != levels[0]), len(levels))
            self._rx.value = levels[0]
            await Timer(same * self._bit, unit="ns")
            del levels[:same]

    async def listen(self):
        """Bytes of the board to the terminal, for ever."""
        fall = FallingEdge(self._tx)
        while True:
            await fall
            await Timer(self._bit + self._bit // 2, unit="ns")
            byte = 0
            for number in range(BITS):
                byte |= int(self._tx.value) << number
                await Timer(self._bit, unit="ns")
            self._terminal.write(bytes((byte,)))

    async def rest(self) -> None:
        """As long as a byte takes."""
        await Timer((BITS + 2) * self._bit, unit="ns")


@cocotb.test()
async def board(dut):
    """Runs until it is ended from outside."""
    job = json.loads(Path(os.environ["UALINK_BOARD"]).read_text())
    cycles_per_bit = job["cycles_per_bit"]
    terminal = Terminal()
    line = Line(getattr(dut, job["rx"]), getattr(dut, job["tx"]), cycles_per_bit, terminal)
    for name, value in job["inputs"].items():
        getattr(dut, name).value = value
    clocks = [getattr(dut, name) for name in job["clocks"]]
    for clock in clocks:
        Clock(clock, CLOCK_NS, unit="ns").start()
    reset = getattr(dut, job["reset"])
    reset.value = 1
    await ClockCycles(clocks[0], 8)
    reset.value = 0
    cocotb.start_soon(line.listen())
    ready = Path(job["ready"])
    ready.with_suffix(".new").write_text(terminal.path)
    ready.with_suffix(".new").rename(ready)
    silent = 0
    while True:
        arrived = terminal.read()
        for byte in arrived:
            await line.send(byte)
        silent = 0 if arrived else silent + (BITS + 2) * cycles_per_bit
        if silent < job["rest_after"]:
            await line.rest()
        else:
            terminal.wait()
