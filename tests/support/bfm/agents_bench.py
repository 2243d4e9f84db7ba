"""cocotb side of test_agents.py: the bus models on both ends of the RTL agents of ``PORTS`` ports."""

import os
import random
from dataclasses import replace
from itertools import product

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from support.bfm.requests_at_random import random_response, random_transaction, shuffled
from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.completer import UPLICompleter
from ualink_sim.bfm.upli.memory_access import MemoryAccess, ResponseError
from ualink_sim.bfm.upli.memory_handler import MemoryHandler
from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.options import CompleterOptions, OriginatorOptions
from ualink_sim.bfm.upli.originator import ResetError, UPLIOriginator
from ualink_sim.model.upli.completer import Completer
from ualink_sim.model.upli.transactions import Status

PORTS = int(os.environ.get("PORTS", "1"))
RESET_CYCLES = 6


class Bench:
    """An Originator's model on the RTL Completer, a Completer's on the RTL Originator, a monitor on each interface."""

    def __init__(self, dut, handler, *, seed=1, originator=(), completer=()):
        self.dut = dut
        self.relay = f"x{PORTS}"
        self.rng = random.Random(f"{PORTS} {seed}")
        self.fall = FallingEdge(dut.clk)
        outer = UPLIBus.from_prefix(dut, f"{self.relay}__completer")
        inner = UPLIBus.from_prefix(dut, f"{self.relay}__originator")
        self.originator = UPLIOriginator(outer, OriginatorOptions(ports=PORTS, **dict(originator)))
        self.completer = UPLICompleter(inner, handler, CompleterOptions(ports=PORTS, **dict(completer)))
        self.monitors = [UPLIMonitor(bus, ports=PORTS) for bus in (outer, inner)]

    def signal(self, name):
        return getattr(self.dut, f"{self.relay}__{name}")

    async def begin(self):
        """Reset the device, with the phase of its two sides a random number of slots apart."""
        dut = self.dut
        dut.rst.value = 1
        for relay in ("x1", "x2", "x4"):
            getattr(dut, f"{relay}__skew").value = self.rng.randrange(4)
        cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
        for model in (self.originator, self.completer, *self.monitors):
            cocotb.start_soon(model.start(dut.clk, dut.rst))
        await self.reset()

    async def reset(self):
        """From a falling edge to the next but a few."""
        self.dut.rst.value = 1
        for cycle in range(RESET_CYCLES):
            await self.fall
            if cycle > 1:
                self._check_silent()
        self.dut.rst.value = 0

    def _check_silent(self):
        """Nothing that the RTL drives is up (UALink_200 §4.1)."""
        names = ["completer__comp_clk_req", "completer__comp_clk_ack"]
        names += ["originator__orig_clk_req", "originator__orig_clk_ack"]
        for agent, sends, receives in (
            ("completer", ("rd_rsp", "wr_rsp"), ("req", "orig_data")),
            ("originator", ("req", "orig_data"), ("rd_rsp", "wr_rsp")),
        ):
            names += [f"{agent}__{channel}__vld" for channel in sends]
            names += [f"{agent}__{channel}__credit__{name}" for channel in receives for name in ("vld", "init_done")]
        for name in names:
            assert not int(self.signal(name).value), name

    async def finish(self, limit=20_000):
        """Wait until everything submitted has completed and every credit is back."""
        for _ in range(limit):
            await self.fall
            if self.originator.idle and self.completer.idle:
                break
        assert self.originator.idle, f"{self.originator.backlog} wait, {self.originator.responses.outstanding}"
        for _ in range(60):
            await self.fall
        await ReadOnly()
        for monitor in self.monitors:
            for channel in monitor.channels.values():
                assert not channel.accounts.in_use, channel.channel
        assert int(self.signal("connected").value) == 0b11
        assert int(self.signal("errors").value) == 0
        await self.fall


class Answers:
    """A handler that answers at random, and what it was asked and said, per Request's port, source and tag."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.given = {}
        self.order = [[] for _ in range(PORTS)]

    def __call__(self, request, data):
        key = request["port_id"], request["src_phys_acc_id"], request["tag"]
        channel, beats = random_response(self.rng, request)
        self.given.setdefault(key, []).append((request, data, channel, beats))
        self.order[request["port_id"]].append(key)
        return channel, beats


def own(beat, *more):
    """A beat without what belongs to one interface alone."""
    return {name: value for name, value in beat.items() if name not in ("port_id", "pool", *more)}


def check_contents(transaction, answers):
    """What the other side received is what was sent, and what came back is what it said."""
    request = transaction.request
    key = request["port_id"], request["src_phys_acc_id"], request["tag"]
    received, data, channel, beats = answers.given[key].pop(0)
    assert own(received) == own(request)
    assert [own(beat) for beat in data] == [own(beat) for beat in transaction.data]
    got = transaction.response
    if channel == "rd_rsp" and len(got) > 1 and not got[0]["num_beats"]:
        assert got[-1]["last"]
        by_offset = sorted(got, key=lambda beat: beat["offset"])
        assert [own(beat, "num_beats", "last") for beat in by_offset] == [
            own(beat, "num_beats", "last") for beat in beats
        ]
    else:
        assert [own(beat) for beat in got] == [own(beat) for beat in beats]


def options(rng):
    """Few credits on this side too, and back-pressure everywhere."""
    pressure = {"hold": lambda: rng.choice((0, 0, 0, 2, 25))}
    originator = {"rd_rsp_pool": 3, "rd_rsp_vc": (1, 2, 1, 1), "wr_rsp_pool": 1, "wr_rsp_vc": (1, 0, 0, 1)}
    completer = {"req_pool": 2, "req_vc": (0, 1, 0, 0), "orig_data_pool": 3, "orig_data_vc": (1, 1, 1, 4)}
    return {
        "originator": {**originator, **pressure, "gap": lambda: rng.choice((0, 0, 0, 1, 30)), "outstanding": 24},
        "completer": {
            **completer,
            **pressure,
            "latency": lambda: rng.choice((0, 1, 2, 60)),
            "single_beat": shuffled(rng),
            "beat_gap": lambda: rng.choice((0, 0, 7)),
        },
    }


@cocotb.test()
async def random_traffic(dut):
    """Every command on every port under back-pressure: all arrives, unchanged, in order."""
    answers, rng = Answers(2), random.Random(3)
    bench = Bench(dut, answers, **options(rng))
    await bench.begin()
    sent = [random_transaction(rng, rng.randrange(PORTS)) for _ in range(400)]
    for transaction in sent:
        bench.originator.submit(transaction)
    await bench.finish()
    order = [[] for _ in range(PORTS)]
    for transaction in bench.originator.issued:
        request = transaction.request
        order[request["port_id"]].append((request["port_id"], request["src_phys_acc_id"], request["tag"]))
        check_contents(transaction, answers)
    assert answers.order == order
    assert all(len(monitor.completed) == len(sent) for monitor in bench.monitors)
    outer, inner = ([_order(monitor, port) for port in range(PORTS)] for monitor in bench.monitors)
    assert outer == inner
    assert sum(len(transaction.response) > 1 for transaction in sent) > 20


def _order(monitor, port):
    """Responses of ``port`` in the order in which they ended, per channel."""
    ended = [t for t in monitor.completed if t.request["port_id"] == port]
    return [[t.request["tag"] for t in ended if ("offset" in t.response[0]) == read] for read in (True, False)]


async def _survives(originator, transaction):
    """Whether ``transaction`` completes before a reset ends it."""
    try:
        return (await originator.complete(transaction)).done
    except ResetError:
        return False


@cocotb.test()
async def reset_in_the_middle(dut):
    """Resets at random moments end everything; nothing of before is heard of again, and traffic goes on."""
    rng = random.Random(4)
    answers = Answers(5)
    bench = Bench(dut, answers, **options(rng))
    await bench.begin()
    for _ in range(12):
        sent = [random_transaction(rng, rng.randrange(PORTS)) for _ in range(200)]
        waiting = [cocotb.start_soon(_survives(bench.originator, transaction)) for transaction in sent]
        for _ in range(rng.choice((1, 2, 5, 12, 20, 40, 80, 150))):
            await bench.fall
        await bench.reset()
        answers.given.clear()
        survived = [await task for task in waiting]
        assert [transaction.done for transaction in sent] == survived
        assert [transaction.terminated for transaction in sent] == [not done for done in survived]
        assert not all(survived)
    sent = [random_transaction(rng, rng.randrange(PORTS)) for _ in range(60)]
    for transaction in sent:
        bench.originator.submit(transaction)
    await bench.finish()
    for transaction in sent:
        check_contents(transaction, answers)


@cocotb.test()
async def either_side_connects_first(dut):
    """Every order of the four handshake signals, told by both monitors' rules, leads to a connection."""
    bench = Bench(dut, MemoryHandler())
    await bench.begin()
    access, models = MemoryAccess(bench.originator), (bench.originator, bench.completer)
    for late, request_delay, acknowledge_delay in product((0, 1), (0, 1, 40), (0, 1, 40)):
        # The other side is there at once, and has something to send long before it may.
        delays = {"request_delay": request_delay, "acknowledge_delay": acknowledge_delay}
        models[late].options = replace(models[late].options, **delays)
        models[1 - late].options = replace(models[1 - late].options, request_delay=0, acknowledge_delay=0)
        await bench.reset()
        await access.write(0, 0x100, b"\x5a" * 64)
        assert models[late].cycle > max(request_delay, acknowledge_delay)
        assert await access.read(0, 0x104, 4) == b"\x5a" * 4
    await bench.finish()


@cocotb.test()
async def bytes_and_operands(dut):
    """The awaitable operations do to a memory what they say."""
    memory = MemoryHandler(Completer(size=0x10000))
    bench = Bench(dut, memory, completer={"single_beat": lambda beats: range(beats - 1, -1, -1)})
    await bench.begin()
    access, expected = MemoryAccess(bench.originator, source=5, vc=2), bytearray(0x400)
    for _ in range(40):
        addr = bench.rng.randrange(0x100) * 4
        length = 4 * bench.rng.randrange(1, 65 - (addr >> 2 & 0x3F))
        data, enables = bench.rng.randbytes(length), bench.rng.getrandbits(length)
        await access.write(9, addr, data, enables)
        for n in range(length):
            if enables >> n & 1:
                expected[addr + n] = data[n]
        block = addr & ~0xFF
        assert await access.read(9, block, 256) == expected[block : block + 256]
        assert await access.read(9, addr, length) == expected[addr : addr + length]
    await access.write(9, 0x100, bytes(range(128)))
    assert await access.read(9, 0x101 - 1, 8, 0x7E) == bytes([0, 1, 2, 3, 4, 5, 6, 0])
    # Two elements of 32 bits: ADD (OpType 0), the second left out.
    assert await access.atomic(9, 0x100, b"\x01\0\0\0\xff\0\0\0", 0, 0x0F) == bytes(range(4)) + bytes(4)
    assert await access.atomic_nr(9, 0x104, b"\x01\0\0\0", 0) is None
    assert await access.read(9, 0x100, 8) == b"\x01\x01\x02\x03\x05\x05\x06\x07"
    for refused in (access.read(9, 0x10000, 4), access.write(9, 0x10000, bytes(4))):
        try:
            await refused
            raise AssertionError("an address that does not exist was accepted")
        except ResponseError as error:
            assert error.status == Status.DECODE_ERROR
    try:
        await access.read(9, 0xFC, 8)
        raise AssertionError("a read across a block of 256 bytes was sent")
    except ValueError as error:
        assert "cross a boundary of 256 bytes" in str(error)
    await bench.finish()
