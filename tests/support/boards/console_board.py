"""A board on a pseudo-terminal, in plain Python: the model of the protocol, and registers as their table says."""

import os
import pty
import select
import threading
import tty
from contextlib import suppress

from ualink.config import DLConfig
from ualink.csr.design import RegisterDesign
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.dl.registers.map import dl_registers
from ualink_boards.console.protocol import Responder, Status, Word

START = Field("start", "0", Access.GO)
COUNT = (Field("count", "31:0", Access.RO),)
PATTERNS = (("prbs7", 0), ("prbs31", 3))

TRAFFIC = RegisterMap(
    "traffic",
    (
        Register("run", 0x00, (START,)),
        Register("snapshot", 0x04, (START,)),
        Register("status", 0x08, (Field("busy", "0", Access.RO),)),
        Register(
            "mix", 0x0C, (Field("read", "8:0", Access.RW, 0, allowed=range(257)), Field("write", "18:10", Access.RW))
        ),
        Register("errors", 0x10, COUNT, snapshot="snapshot"),
        Register("bytes_low", 0x14, COUNT, snapshot="snapshot"),
        Register("bytes_high", 0x18, COUNT, snapshot="snapshot"),
    ),
)

LANE = RegisterMap(
    "bert_lane",
    (
        Register(
            "control",
            0x00,
            (
                Field("pattern", "1:0", Access.RW, 3, allowed=(0, 3), values=PATTERNS),
                Field("loopback", "5:4", Access.RW, values=(("none", 0), ("near_end", 1))),
                Field("clear", "13", Access.RW),
            ),
        ),
        Register("inject", 0x04, (Field("error", "0", Access.GO),)),
        Register("status", 0x08, (Field("locked", "4", Access.RO),)),
        Register("events", 0x0C, (Field("locked_lost", "1", Access.W1C),)),
        Register("errors", 0x10, (Field("bits", "31:0", Access.RO),)),
        Register("words", 0x14, (Field("thousands", "31:0", Access.RO),)),
        Register("line", 0x20, (Field("width", "7:0", Access.CONSTANT, 20),)),
    ),
)

FULL = RegisterDesign(
    "full", 50_000_000, (("dl", dl_registers(DLConfig())), ("traffic", TRAFFIC), ("lane0", LANE), ("lane1", LANE))
)


class Registers:
    """Words of ``design``. ``shown`` is what the hardware shows, by (window, register); ``log`` has every write."""

    def __init__(self, design: RegisterDesign):
        self.places = {}
        self.shown: dict[tuple[str, str], int] = {}
        self.kept: dict[tuple[str, str], int] = {}
        self.queues: dict[tuple[str, str], list[int]] = {}
        self.log: list[tuple[str, int]] = []
        for number, (window, table) in enumerate((("description", design.description), *design.windows)):
            for register in table:
                key = window, register.name
                self.places[(number << design.address_bits) + register.offset // 4] = key, register
                self.shown[key] = sum(field.reset << field.low for field in register.fields)
                self.queues[key] = []

    def access(self, write: bool, address: int, data: int) -> Word:
        """One access."""
        if address not in self.places:
            return Word(Status.REFUSED, 0)
        key, register = self.places[address]
        if write:
            self.log.append((".".join(key), data))
            return Word(Status.REFUSED if self._write(key, register, data) else Status.DONE, 0)
        if register.has(Access.POP):
            queue = self.queues[key]
            return Word(Status.DONE, queue.pop(0)) if queue else Word(Status.REFUSED, 0)
        if not register.readable:
            return Word(Status.REFUSED, 0)
        return Word(Status.DONE, self.kept.get(key, 0) if register.snapshot else self.shown[key])

    def _write(self, key, register, data) -> bool:
        """Do it; has it failed?"""
        if not register.writable:
            return True
        for field in register.fields:
            mask = (1 << field.width) - 1 << field.low
            match field.access:
                case Access.RW:
                    self.shown[key] = self.shown[key] & ~mask | data & mask
                case Access.W1C:
                    self.shown[key] &= ~(data & mask)
                case Access.GO if data & mask:
                    self.kept |= {
                        (key[0], other.name): self.shown[key[0], other.name]
                        for _, other in self.places.values()
                        if other.snapshot == register.name and (key[0], other.name) in self.shown
                    }
                case Access.PUSH:
                    self.queues[key].append(data)
        return False


class PtyBoard:
    """A board with ``registers`` behind a port at ``path``, while in ``with``.

    ``harm`` changes what the board sends, ``deaf`` makes it hear nothing; it goes away in the middle of an answer when
    ``leaves_after`` bytes have been sent.
    """

    def __init__(self, registers: Registers):
        self.registers = registers
        self.harm = lambda data: data
        self.deaf = False
        self.leaves_after: int | None = None
        self._end, self._other = pty.openpty()
        tty.setraw(self._other)
        self.path = os.ttyname(self._other)
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        os.close(self._stopped)
        self._thread.join()
        self._leave()
        os.close(self._stop)

    def _leave(self):
        for end in (self._end, self._other):
            with suppress(OSError):
                os.close(end)

    def _serve(self):
        responder = Responder(lambda *access: self.registers.access(*access))
        while True:
            ready, _, _ = select.select([self._end, self._stop], [], [], 0.05)
            if self._stop in ready:
                return
            if not ready:
                responder.give_up()
                continue
            for byte in os.read(self._end, 4096):
                answer = b"" if self.deaf else responder.receive(byte)
                if not answer:
                    continue
                if self.leaves_after is not None:
                    os.write(self._end, answer[: self.leaves_after])
                    self._leave()
                    return
                os.write(self._end, self.harm(answer))
