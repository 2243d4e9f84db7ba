"""Traces: one request a line in JSON, every rule checked, complaints with file and line number.

``{"src": 0, "dst": 1, "op": "read" | "write" | "write_full" | "atomic" | "atomic_nr", "addr": "0x1000", "len": 256,
"data": "hex", "byte_en": "hex", "attr": 0, "at": cycle, "after": [line, ...]}``

``src`` to ``len`` are needed, and ``data`` (``len`` bytes in hex, byte at ``addr`` first) where the operation sends it.

``byte_en`` is one number in hex: bit i enables byte i of the transfer, so ``"f"`` enables the first four bytes; missing
means all. Reads can leave out bytes of their first and last doubleword only, for ReqAttr has enables for these alone;
the trace may give a read's ``attr`` instead, or both if they agree (0 gives nothing). Writes take ``attr`` as it is
(metadata). In atomics it is OpType and OpSize, and ``byte_en`` selects whole elements; 0 adds 32-bit words. An OpType
of one operand works on ``len`` bytes at ``addr``; one of two operands has ``len`` 64, Op1 in the first and Op2 in the
last 32 bytes of ``data``, and works on 32 bytes. ``after`` names earlier lines. Empty lines count but ask for nothing;
lines end with a line feed and with nothing else that Unicode has. A trace without a request is refused.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from ualink.checks import is_integer
from ualink.description.file import read_text
from ualink.wording import named, shown

from ..model.upli.memory import ADDRESS_BITS
from ..request import OPERATIONS, Request, check, read_attr, read_byte_en
from .scenario import Run, ScenarioError

__all__ = ["load_trace"]

JSON_SPACE = " \t\r"

KEYS = ("src", "dst", "op", "addr", "len", "data", "byte_en", "attr", "at", "after")


def load_trace(
    path: str | Path, accelerators: int, *, first_line: int = 1, window: int = 256, max_cycles: int = Run.max_cycles
) -> list[Request]:
    """The requests of the trace at ``path`` for a pod of ``accelerators``, which ends at ``max_cycles``; line n of the
    file becomes line ``first_line`` + n - 1. Raises ``ScenarioError``.
    """
    requests: list[Request] = []
    numbers: set[int] = set()
    for number, text in enumerate(read_text(path).split("\n"), 1):
        if text.strip(JSON_SPACE):
            line = _Line(path, number, text)
            requests.append(line.request(accelerators, numbers, first_line - 1, window, max_cycles))
            numbers.add(number)
    if not requests:
        raise ScenarioError(f"{path}:1: asks for nothing; a trace has one request or more")
    return requests


class _Line:
    def __init__(self, path: str | Path, number: int, text: str):
        self.path, self.number = path, number
        try:
            self.values = json.loads(text, object_pairs_hook=self._object)
        except json.JSONDecodeError as error:
            raise self.fail(f"not JSON: {error.msg}") from None
        except RecursionError:
            raise self.fail("not JSON: nested too deeply") from None
        except ScenarioError:
            raise
        except ValueError:
            raise self.fail(f"holds a number of more than {sys.get_int_max_str_digits()} digits") from None
        if not isinstance(self.values, dict):
            raise self.fail("must be one JSON object")

    def fail(self, reason: str) -> ScenarioError:
        return ScenarioError(f"{self.path}:{self.number}: {reason}")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                raise self.fail(f"{named(key)}: is given twice")
            values[key] = value
        return values

    def request(self, accelerators: int, earlier: set[int], offset: int, window: int, end: int) -> Request:
        for key in self.values:
            if key not in KEYS:
                raise self.fail(f"{named(key)}: unknown key; known are {', '.join(KEYS)}")
        op = self._given("op")
        if not isinstance(op, str) or op not in OPERATIONS:
            raise self.fail(f"op: is {shown(op)}; it must be one of {', '.join(OPERATIONS)}")
        length = self._integer("len", None, 4, 256)
        byte_en, attr = self._enables(op, length)
        request = Request(
            line=offset + self.number,
            src=self._accelerator("src", accelerators),
            dst=self._accelerator("dst", accelerators),
            op=op,
            addr=self._address(),
            len=length,
            data=self._data(op),
            byte_en=byte_en,
            attr=attr,
            at=self._at(end),
            after=tuple(offset + line for line in self._after(earlier)),
            window=window,
        )
        fault = check(request)
        if fault:
            raise self.fail(f"{fault.key}: {fault.reason}")
        return request

    def _given(self, key: str) -> Any:
        if key not in self.values:
            raise self.fail(f"{key}: is missing")
        return self.values[key]

    def _integer(self, key: str, default: int | None, low: int, high: int) -> int:
        value = self._given(key) if default is None else self.values.get(key, default)
        if not is_integer(value, low, high):
            raise self.fail(f"{key}: is {shown(value)}; it must be a whole number from {low} to {high}")
        return value

    def _at(self, end: int) -> int:
        at = self.values.get("at", 0)
        if isinstance(at, int) and at >= end:
            raise self.fail(f"at: is {shown(at)}; the simulation ends at run.max_cycles = {end}")
        return self._integer("at", 0, 0, end - 1)

    def _accelerator(self, key: str, accelerators: int) -> int:
        value = self._given(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(f"{key}: is {shown(value)}; it must be an accelerator number")
        if not 0 <= value < accelerators:
            raise self.fail(f"{key}: {shown(value)} is outside the pod of accelerators 0 to {accelerators - 1}")
        return value

    def _address(self) -> int:
        value = self._given("addr")
        if not isinstance(value, str) or not re.fullmatch(r"0[xX][0-9a-fA-F]+", value):
            raise self.fail(f'addr: is {shown(value)}; it must be a string such as "0x1000"')
        addr = int(value, 16)
        if addr >> ADDRESS_BITS:
            raise self.fail(f"addr: {named(value)} does not fit in {ADDRESS_BITS} bits")
        return addr

    def _hex(self, key: str, text: Any) -> str:
        if not isinstance(text, str) or not re.fullmatch(r"[0-9a-fA-F]*", text):
            raise self.fail(f"{key}: must be a string of hex digits")
        return text

    def _data(self, op: str) -> bytes:
        if op == "read":
            if self.values.get("data", ""):
                raise self.fail("data: a read sends none")
            return b""
        text = self._hex("data", self._given("data"))
        if len(text) % 2:
            raise self.fail(f"data: has {len(text)} hex digits; a byte has two")
        return bytes.fromhex(text)

    def _enables(self, op: str, length: int) -> tuple[int, int]:
        """byte_en and ReqAttr."""
        whole = (1 << length) - 1
        byte_en = whole
        if "byte_en" in self.values:
            text = self.values["byte_en"]
            digits = text.removeprefix("0x") if isinstance(text, str) else text
            byte_en = int(self._hex("byte_en", digits) or "0", 16)
        attr = self._integer("attr", 0, 0, 0xFF)
        if op == "read" and not attr:
            attr = read_attr(byte_en & whole, length)
        elif op == "read":
            from_attr = read_byte_en(attr, length)
            if "byte_en" in self.values and byte_en != from_attr:
                raise self.fail(f"attr: {attr} says byte_en {from_attr:x}, but byte_en is {named(f'{byte_en:x}')}")
            byte_en = from_attr
        return byte_en, attr

    def _after(self, earlier: set[int]) -> list[int]:
        after = self.values.get("after", [])
        if not isinstance(after, list):
            raise self.fail(f"after: is {shown(after)}; it must list earlier lines")
        for line in after:
            if isinstance(line, bool) or not isinstance(line, int) or line not in earlier:
                raise self.fail(f"after: {shown(line)} is not the line of an earlier request")
        return after
