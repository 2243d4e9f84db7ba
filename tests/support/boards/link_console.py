"""The computer at the serial line of a simulated board, inside of a cocotb bench."""

import cocotb
from cocotb.triggers import FallingEdge, Timer

from ualink_boards.console.protocol import LONGEST_BURST, AnswerReader, Operation, Request, encode_request

__all__ = ["Console"]

PATIENCE_BITS = 20_000


class Console:
    """Talks over ``to`` and ``heard`` with bits of ``bit_fs``; ``registers`` is ``RegisterDesign.to_dict``."""

    def __init__(self, to, heard, bit_fs: int, registers: dict):
        self._to, self._from, self._bit = to, heard, bit_fs
        self._windows = {window["name"]: window for window in registers["windows"]}
        self._heard = bytearray()
        self._tag = 0
        self._to.value = 1
        cocotb.start_soon(self._listen())

    async def _listen(self):
        fall = FallingEdge(self._from)
        while True:
            await fall
            await Timer(self._bit * 3 // 2, unit="fs")
            byte = 0
            for number in range(8):
                byte |= int(self._from.value) << number
                await Timer(self._bit, unit="fs")
            self._heard.append(byte)

    async def _ask(self, operation: Operation, address: int, value: int) -> list[int]:
        request = Request(operation, self._tag, address // 4, value)
        self._tag = self._tag % 255 + 1
        reader = AnswerReader(request)
        self._heard.clear()
        for byte in encode_request(request):
            for level in (0, *(byte >> n & 1 for n in range(8)), 1):
                self._to.value = level
                await Timer(self._bit, unit="fs")
        for _ in range(PATIENCE_BITS):
            answer = reader.feed(bytes(self._heard))
            self._heard.clear()
            if answer is not None:
                assert all(word.status == 0 for word in answer.words), f"{operation.name} {address:#x}: {answer}"
                return [word.value for word in answer.words]
            await Timer(self._bit, unit="fs")
        raise AssertionError(f"no answer to {operation.name} {address:#x}")

    def _place(self, register: str):
        window, name = register.split(".")
        table = self._windows[window]
        found = next(one for one in table["registers"]["registers"] if one["name"] == name)
        return table["base"] + found["offset"], found["fields"]

    async def read(self, register: str) -> dict[str, int]:
        """The fields of ``window.register``."""
        address, fields = self._place(register)
        (word,) = await self._ask(Operation.READ, address, 1)
        return {field["name"]: word >> _low(field) & (1 << _width(field)) - 1 for field in fields}

    async def write(self, register: str, **values: int) -> None:
        """Fields that are not named get their reset value."""
        address, fields = self._place(register)
        word = 0
        for field in fields:
            word |= values.pop(field["name"], field["reset"] if field["access"] == "rw" else 0) << _low(field)
        assert not values, f"{register} has no {', '.join(values)}"
        await self._ask(Operation.WRITE, address, word)

    async def until(self, register: str, what: str, tries: int = 400, **values: int) -> dict[str, int]:
        """Read until the fields are as named."""
        for _ in range(tries):
            seen = await self.read(register)
            if all(seen[name] == value for name, value in values.items()):
                return seen
        raise AssertionError(f"{what}: {register} is {seen}")

    async def counters(self, window: str) -> dict[str, int]:
        """All counters of one and the same cycle, by register; those without a gap between them in one burst."""
        await self.write(f"{window}.snapshot", start=1)
        base = self._windows[window]["base"]
        names = {
            register["offset"]: register["name"]
            for register in self._windows[window]["registers"]["registers"]
            if register.get("snapshot") and [field["name"] for field in register["fields"]] == ["count"]
        }
        words: dict[str, int] = {}
        while names:
            first = min(names)
            burst = [at for at in range(first, first + 4 * LONGEST_BURST, 4) if at in names]
            run = burst[: next((n for n, at in enumerate(burst) if at != first + 4 * n), len(burst))]
            found = await self._ask(Operation.READ, base + first, len(run))
            words |= zip((names.pop(at) for at in run), found)
        return words


def _low(field) -> int:
    return int(field["bits"].rpartition(":")[2])


def _width(field) -> int:
    return int(field["bits"].partition(":")[0]) - _low(field) + 1
