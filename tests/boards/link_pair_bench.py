"""Scenarios of test_link_pair.py: two boards, their clocks apart, and a person at each serial line."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from cocotb.utils import get_sim_time

from boards.link_pair import BIT_CYCLES
from ualink_boards.console.protocol import AnswerReader, Operation, Request, encode_request

JOB = json.loads(Path(os.environ["LINK_PAIR"]).read_text())
"""``registers`` of the design as ``RegisterDesign.to_dict`` gives them; ``results``: where findings go."""

WINDOWS = {window["name"]: window for window in JOB["registers"]["windows"]}
SYNC_PS = {"a": 20_000, "b": 20_004}
WORD_PS = {"a": 16_000, "b": 16_002}
"""200 ppm and 125 ppm apart."""


class Console:
    """The computer at the serial line of board ``end``."""

    def __init__(self, dut, end: str):
        self._to, self._from = getattr(dut, f"{end}_rx"), getattr(dut, f"{end}_tx")
        self._bit = SYNC_PS[end] * BIT_CYCLES
        self._heard = bytearray()
        self._tag = 0
        self._to.value = 1
        cocotb.start_soon(self._listen())

    async def _listen(self):
        fall = FallingEdge(self._from)
        while True:
            await fall
            await Timer(self._bit * 3 // 2, unit="ps")
            byte = 0
            for number in range(8):
                byte |= int(self._from.value) << number
                await Timer(self._bit, unit="ps")
            self._heard.append(byte)

    async def _ask(self, operation, address, value):
        request = Request(operation, self._tag, address // 4, value)
        self._tag = self._tag % 255 + 1
        reader = AnswerReader(request)
        self._heard.clear()
        for byte in encode_request(request):
            for level in (0, *(byte >> n & 1 for n in range(8)), 1):
                self._to.value = level
                await Timer(self._bit, unit="ps")
        for _ in range(2000):
            answer = reader.feed(bytes(self._heard))
            self._heard.clear()
            if answer is not None:
                (word,) = answer.words
                assert word.status == 0, f"{operation.name} {address:#x}: {word.status}"
                return word.value
            await Timer(self._bit, unit="ps")
        raise AssertionError(f"no answer to {operation.name} {address:#x}")

    @staticmethod
    def _place(register: str):
        window, name = register.split(".")
        table = WINDOWS[window]
        found = next(one for one in table["registers"]["registers"] if one["name"] == name)
        return table["base"] + found["offset"], found["fields"]

    async def read(self, register: str) -> dict[str, int]:
        """The fields of ``window.register``."""
        address, fields = self._place(register)
        word = await self._ask(Operation.READ, address, 1)
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

    async def counters(self, window: str, names: tuple[str, ...]) -> dict[str, int]:
        """Counters of one and the same cycle."""
        await self.write(f"{window}.snapshot", start=1)
        return {name: (await self.read(f"{window}.{name}"))["count"] for name in names}


def _low(field) -> int:
    return int(field["bits"].rpartition(":")[2])


def _width(field) -> int:
    return int(field["bits"].partition(":")[0]) - _low(field) + 1


async def both(consoles, step):
    """``step(console, number)`` at both boards at once."""
    tasks = [cocotb.start_soon(step(console, number)) for number, console in enumerate(consoles)]
    for task in tasks:
        await task


async def start(dut) -> list[Console]:
    """Both boards out of reset."""
    for end in ("a", "b"):
        getattr(dut, f"{end}_rst").value = 1
        Clock(getattr(dut, f"{end}_clk"), SYNC_PS[end], unit="ps").start()
        Clock(getattr(dut, f"{end}_tx_clk"), WORD_PS[end], unit="ps").start()
        lane = f"to_{end}__0__"
        for name, value in (("skew", 13 if end == "a" else 29), ("errors", 0), ("flip", 0), ("cut", 0)):
            getattr(dut, lane + name).value = value
    consoles = [Console(dut, end) for end in ("a", "b")]
    await Timer(2, unit="us")
    for end in ("a", "b"):
        getattr(dut, f"{end}_rst").value = 0
    await Timer(1, unit="us")
    return consoles


async def bring_up(console: Console, number: int) -> None:
    """From lanes to link."""
    await console.until("phy.status", "aligned", aligned=1, flits_aligned=1)
    await console.write("dl.link_control", enable=1)
    await console.until("dl.link_status", "online", online=1)
    await console.until("tl.status", "credits", credits_ready=1)
    await console.until("phy.status", "no fault", link_fault=0, fault=0)


async def run_traffic(console: Console, number: int, requests: int, **mode: int) -> None:
    """A run of the traffic engine that asks the other board for its 64 blocks."""
    own = 1 + number
    await console.write("traffic.identity", own=own)
    await console.write("traffic.destination", first=3 - own, count=1)
    await console.write("traffic.region", region=6)
    await console.write("traffic.new_seed", new_seed=77 + own)
    await console.write("traffic.old_seed", old_seed=77 + own)
    await console.write("traffic.requests", requests=requests)
    await console.write("traffic.outstanding", outstanding=16)
    await console.write("traffic.time_out", time_out=0)
    mix = {name: mode.pop(name) for name in ("read", "write") if name in mode}
    await console.write("traffic.mix", **{"read": 0, "write": 0, **mix})
    await console.write("traffic.mode", **mode)
    await console.write("traffic.run", start=1)


async def end_of_run(console: Console, number: int) -> None:
    await console.until("traffic.run", "end of the run", tries=4000, start=0)


ERRORS = (
    "wrong_bytes",
    "unexpected_tags",
    "duplicate_responses",
    "late_responses",
    "wrong_channels",
    "misrouted_responses",
    "beat_errors",
    "status_errors",
    "poisoned_beats",
    "time_outs",
)

DL_COUNTERS = ("crc_errors", "lost_flits", "replays_accepted", "link_downs", "flits_sent", "payload_flits_received")
PHY_COUNTERS = ("received_bad", "received_data", "received_marker", "sent_marker", "starved", "fault_change")


async def findings(console: Console) -> dict[str, int]:
    """What the counters of a board say."""
    traffic = [name for name in ERRORS if name != "wrong_bytes"]
    names = ("requests_low", "responses_low", "wrong_bytes_low", *traffic)
    return {
        **await console.counters("traffic", names),
        **await console.counters("dl", DL_COUNTERS),
        **await console.counters("phy", PHY_COUNTERS),
    }


class Story:
    """Two boards, and all that is found step by step, in ``JOB["results"]``."""

    def __init__(self, dut, consoles):
        self.dut, self.consoles = dut, consoles
        self.told: dict[str, list[dict[str, int]]] = {}

    async def tell(self, step: str) -> None:
        """Note the counters of both boards and the time as those of ``step``."""
        found: list[dict[str, int]] = [{}, {}]

        async def one(console, number):
            found[number] = await findings(console)

        await both(self.consoles, one)
        now = int(get_sim_time("ns"))
        self.told[step] = [{**one, "ns": now} for one in found]
        Path(JOB["results"]).write_text(json.dumps(self.told))

    async def traffic(self, requests: int, **mode: int) -> None:
        """Both boards ask at once, until the last answer has come."""

        async def ask(console, number):
            await run_traffic(console, number, requests, **mode)

        await both(self.consoles, ask)
        await both(self.consoles, end_of_run)

    def lane(self, **values: int) -> None:
        """Set what happens on the cable, both ways."""
        for end in ("a", "b"):
            for name, value in values.items():
                getattr(self.dut, f"to_{end}__0__{name}").value = value


@cocotb.test()
async def two_boards(dut):
    """They link up, fill and check each other's memory, with bit errors too, lose the cable and come back."""
    consoles = await start(dut)
    story = Story(dut, consoles)
    await both(consoles, bring_up)
    await story.tell("up")
    await story.traffic(64, size=3)
    await story.traffic(64, size=3, verify=1, check=1)
    await story.tell("filled")
    await story.traffic(JOB["requests"], read=96, write=64, random_size=1, pattern=2, check=1)
    await story.tell("mixed")
    story.lane(errors=JOB["errors"])
    await story.traffic(JOB["requests"], read=96, write=64, random_size=1, pattern=2, check=1)
    story.lane(errors=0)
    await story.tell("noisy")

    async def endless(console, number):
        await run_traffic(console, number, 0, read=128, check=1, random_size=1, pattern=2)

    async def down(console, number):
        await console.until("dl.link_status", "link down", online=0)
        await console.until("tl.status", "Drop Mode", dropping=1, drop_link_down=1)
        await console.until("phy.status", "fault", aligned=0, link_fault=1, fault=1)
        # Nobody is going to answer what is outstanding.
        await console.write("traffic.run", start=0)
        await console.write("traffic.clear", start=1)
        await console.until("traffic.clear", "clear", start=0)
        await console.write("tl.clear_drop", start=1)

    await both(consoles, endless)
    await Timer(20, unit="us")
    story.lane(cut=1)
    await both(consoles, down)
    await story.tell("pulled")
    story.lane(cut=0)
    await both(consoles, bring_up)
    await story.tell("back")
    await story.traffic(64, size=3)
    await story.traffic(JOB["requests"], read=96, write=64, random_size=1, pattern=2, check=1)
    await story.tell("again")
