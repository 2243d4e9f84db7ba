"""cocotb side of test_path.py: what is sent from one UPLI of a pod to another (``path.py``), and what arrives."""

import random
from functools import partial

import cocotb

from support.bfm.requests_at_random import random_response, random_transaction, shuffled
from support.upli.path import AUTHENTICATION, CORE, DEVICES, LINK, Path
from support.upli.path_examples import EXAMPLES, PATTERN
from ualink_sim.bfm.upli.channel import parity_of
from ualink_sim.bfm.upli.memory_handler import MemoryHandler, to_beat
from ualink_sim.bfm.upli.transaction import Transaction
from ualink_sim.model.upli import transactions as upli
from ualink_sim.model.upli.completer import Completer

TRANSACTIONS = 150


def arrives(beat, poison=None):
    """What arrives of a beat: all but what belongs to one interface alone; of a poisoned one no data (ruling A-44)."""
    seen = {name: value for name, value in beat.items() if name not in ("port_id", "pool")}
    if poison and seen[poison]:
        seen["data"] = 0
    return seen


class Answers:
    """Handlers that compare what has come with what was sent, and answer at random."""

    def __init__(self, rng):
        self.rng = rng
        self.path = None
        self.given = {}
        self.order = []

    def __call__(self, number, request, data):
        source, tag = request["src_phys_acc_id"], request["tag"]
        issued = self.path.devices[source].originator.issued
        sent = next(t for t in reversed(issued) if t.request["tag"] == tag)
        assert sent.request["dst_phys_acc_id"] == number and id(sent) not in self.given
        assert arrives(request) == arrives(sent.request)
        assert [arrives(beat) for beat in data] == [arrives(beat, "error") for beat in sent.data]
        channel, beats = random_response(self.rng, request)
        # Nothing may depend on where a Response says that it comes from.
        says = self.rng.choice((number, self.rng.getrandbits(10)))
        for beat in beats:
            if "data_error" in beat:
                beat["data_error"] = int(self.rng.random() < 0.1)
            beat["auth_tag"] *= AUTHENTICATION
            beat["src_phys_acc_id"] = says
        self.given[id(sent)] = channel, beats, self.path.devices[number].completer.cycle
        self.order.append(sent)
        return channel, beats

    def check(self, transaction):
        """The Response is what the Completer gave: its fields, one by one."""
        channel, beats, cycle = self.given[id(transaction)]
        got = transaction.response
        assert transaction.completed > cycle
        single = channel == "rd_rsp" and len(got) > 1 and not got[0]["num_beats"]
        if single:
            assert [beat["last"] for beat in got] == [0] * (len(got) - 1) + [1]
            got = sorted(got, key=lambda beat: beat["offset"])
        assert len(got) == len(beats)
        local = ("src_phys_acc_id", *(("num_beats", "last") if single else ()))
        for beat, given in zip(got, beats):
            assert ("offset" in beat) == (channel == "rd_rsp")
            # The source of a Response is for debugging; who does not carry it drives 0.
            assert beat["src_phys_acc_id"] in (0, given["src_phys_acc_id"])
            poison = "data_error" if channel == "rd_rsp" else None
            seen, expected = arrives(beat, poison), arrives(given, poison)
            assert {n: v for n, v in seen.items() if n not in local} == {
                n: v for n, v in expected.items() if n not in local
            }


@cocotb.test()
async def every_field(dut):
    """Any Request and any Response that UPLI allows, beats poisoned at random: each field arrives, in order."""
    rng = random.Random(f"{LINK} {AUTHENTICATION}")
    answers = Answers(rng)
    options = {"latency": lambda: rng.choice((0, 1, 2, 60)), "beat_gap": lambda: rng.choice((0, 0, 7))}
    answers.path = path = Path(dut, answers, single_beat=shuffled(rng), **options)
    await path.begin()
    sent = []
    for _ in range(TRANSACTIONS):
        source, destination = rng.sample(DEVICES, 2)
        transaction = random_transaction(rng, 0)
        transaction.request |= {"src_phys_acc_id": source, "dst_phys_acc_id": destination}
        transaction.request["auth_tag"] *= AUTHENTICATION
        for beat in transaction.data:
            beat["error"] = int(rng.random() < 0.1)
        path.devices[source].originator.submit(transaction)
        sent.append(transaction)
    await path.finish()
    assert len(answers.given) == len(sent)
    for transaction in sent:
        answers.check(transaction)
    for source in DEVICES:
        for destination in DEVICES:
            check_order(path, answers, source, destination)
    commands = {transaction.request["cmd"] for transaction in sent}
    assert len(commands) == 12 and sum(len(t.response) > 1 for t in sent) > 30
    overtaking = set().union(*(device.overtaking for device in path.devices.values()))
    assert upli.ReqCmd.READ in overtaking and overtaking & {0x08, 0x0F}


@cocotb.test()
async def contradictions(dut):
    """Writes whose NumBeats does not fit address and length, which no transport may notice: NumBeats alone counts."""
    rng = random.Random(5)
    answers = Answers(rng)
    answers.path = path = Path(dut, answers, check_fields=False)
    await path.begin()
    sent = []
    for number in range(32):
        transaction = random_transaction(rng, 0)
        count, length = number % 4 + 1, rng.choice((0, 15, 16, 31, 47, 63))
        request = {"cmd": 0x28 + number // 4 % 2, "addr": 0x1000, "len": length, "num_beats": count - 1, "meta_data": 0}
        transaction.request |= request | {"src_phys_acc_id": 0, "dst_phys_acc_id": 1, "auth_tag": 0, "attr": 0}
        beat = {"byte_en": upli.ALL_LANES, "error": 0, "vc": transaction.request["vc"]}
        transaction.data = [
            beat | {"data": rng.getrandbits(512), "offset": n, "last": int(n == count - 1)} for n in range(count)
        ]
        path.devices[0].originator.submit(transaction)
        sent.append(transaction)
    await path.finish()
    for transaction in sent:
        answers.check(transaction)


def check_order(path, answers, source, destination):
    """Requests from ``source`` to ``destination`` arrive as issued, and Responses as sent, per channel."""
    issued = [t for t in path.devices[source].originator.issued if t.request["dst_phys_acc_id"] == destination]
    there = [t for t in answers.order if (t.request["src_phys_acc_id"], t.request["dst_phys_acc_id"]) == _pair(issued)]
    assert list(map(id, there)) == list(map(id, issued))
    tags = {}
    for transaction in issued:
        tags.setdefault(transaction.request["tag"], transaction)
    for channel in ("rd_rsp", "wr_rsp"):
        beats = [beat for beat in path.devices[destination].sent[channel] if beat["dst_phys_acc_id"] == source]
        # A tag is used once in this run, so it tells who answers.
        back = [beat for beat in path.devices[source].received[channel] if beat["tag"] in tags]
        assert [_place(beat) for beat in back] == [_place(beat) for beat in beats]


def _pair(transactions):
    request = transactions[0].request if transactions else {}
    return request.get("src_phys_acc_id"), request.get("dst_phys_acc_id")


def _place(beat):
    return beat["tag"], beat.get("offset"), beat.get("last"), beat.get("num_beats")


class Memories:
    """Handlers with a memory at each device that ends at 10000h; ``came`` is what each was asked, by tag."""

    def __init__(self):
        self.handlers = {n: MemoryHandler(Completer(size=0x10000)) for n in DEVICES}
        self.came = {}

    def __call__(self, number, request, data):
        self.came[request["tag"]] = request, data
        return self.handlers[number](request, data)


@cocotb.test()
async def examples(dut):
    """The figures of §2.8 and more, each with literal lanes, enables, offsets and results at either end."""
    memories = Memories()
    path = Path(dut, memories)
    await path.begin()
    memory = memories.handlers[1].memory
    sent = []
    for example in EXAMPLES:
        memory.write(example.block, PATTERN)
        request = to_beat(example.request) | {"src_phys_acc_id": 0, "dst_phys_acc_id": 1, "vc": 2}
        sent.append(Transaction(request, [to_beat(beat) | {"vc": 2} for beat in example.beats]))
        path.devices[0].originator.submit(sent[-1])
    await path.finish()
    for example, transaction in zip(EXAMPLES, sent):
        example.check(*memories.came[transaction.request["tag"]], transaction.response)
        assert memory.read(example.block, 256) == example.memory, example.name


@cocotb.test()
async def link_goes_down(dut):
    """The link of device 2 goes down and up. Its TL in the switch drops; the agents of the core do not, stay connected,
    and have their routes and credits when it is back; others never notice."""
    memories = Memories()
    path = Path(dut, memories)
    far, near = ("acc", 2), ("sw", path.topology.switch_end(2, 0).device)
    _, *wires = path.ends[far]
    stations = [path.station(end) for end in (far, near)]

    async def core(field):
        """``field`` of every agent of the core."""
        reads = [
            path.firmware.switch.stations[n].windows["core"].read(f"{agent}_status", field)
            for agent in ("ingress", "egress")
            for n in CORE
        ]
        return await path.meanwhile(*reads)

    async def undisturbed():
        return not any(await core("dropping")) and all(await core("connected"))

    async def exchange(*pairs):
        """Writes of four beats and Reads, more than there are credits for."""
        for source, destination in pairs:
            ids = {"src_phys_acc_id": source, "dst_phys_acc_id": destination}
            for n in range(20):
                write = upli.Request(cmd=upli.ReqCmd.WRITE_FULL, addr=256 * n, len=63, num_beats=3)
                data = [to_beat(beat) for beat in upli.orig_data(write, bytes([n]) * 256)]
                read = upli.Request(cmd=upli.ReqCmd.READ, addr=256 * n, len=63, attr=0xFF)
                for request, beats in ((write, data), (read, [])):
                    path.devices[source].originator.submit(Transaction(to_beat(request) | ids, beats))
        await path.finish()

    await path.begin()
    # No ISOLATE at the other end, which has no device that would take it.
    await path.meanwhile(stations[0].configure({"tl": {"control": {"is_switch": 1}}}))
    await exchange((0, 2), (2, 1), (1, 0))
    for wire in wires:
        wire.cut += 1
    for _ in range(100):
        await path.step()
    assert await path.meanwhile(stations[1].drop_causes()) == [{0: {"link_down"}}]
    for _ in range(2):
        assert await undisturbed()
        await exchange((0, 1), (1, 0))
    for wire in wires:
        wire.cut -= 1
    await path.meanwhile(*(station.leave_drop_mode() for station in stations))
    assert await undisturbed()
    await exchange((0, 2), (2, 1), (1, 0))


@cocotb.test()
async def poisoned_enables(dut):
    """One beat whose byte enables have wrong parity where they leave the source: nothing of it is written."""
    memories = Memories()
    path = Path(dut, memories)
    await path.begin()
    for bad in range(4):
        memories.handlers[1].memory.write(0x1000, PATTERN)
        request = upli.Request(cmd=upli.ReqCmd.WRITE, addr=0x1000, len=63, num_beats=3)
        beats = [to_beat(beat) for beat in upli.orig_data(request, bytes(256), bytes([1, 0] * 128))]
        transaction = Transaction(to_beat(request) | {"dst_phys_acc_id": 1}, beats)
        sender = path.devices[0].originator.orig_data
        drive = sender.drive
        sender.drive = partial(_spoil_enables, sender.bus, drive, bad)
        path.devices[0].monitors[0].channels["orig_data"]._parities = []
        await path.perform(0, transaction)
        sender.drive = drive
        _, data = memories.came[transaction.request["tag"]]
        assert [beat["error"] for beat in data] == [int(n == bad) for n in range(4)]
        assert transaction.status == upli.Status.TARGET_ABORT
        written = bytes(0 if n % 2 == 0 and n // 64 != bad else byte for n, byte in enumerate(PATTERN))
        assert memories.handlers[1].memory.read(0x1000, 256) == written


def _spoil_enables(bus, drive, bad, beat):
    drive(beat)
    if beat["offset"] == bad:
        bus.parities["byte_en_parity"].value = 1 - parity_of("orig_data", beat | {"pool": 0})["byte_en_parity"]
