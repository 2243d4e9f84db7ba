"""Transmit side of the reconciliation sublayer: every row of what a slot carries, against the model."""

import random

import pytest
from amaranth.sim import Simulator

from support.phy.rs_slots import BEATS, Slot, Transmission
from ualink.config import PhyConfig
from ualink.phy.interface import TxKind
from ualink.phy.link_fault import LinkFault
from ualink.phy.port_rate import PortRate
from ualink.phy.rs_schedule import SlotSchedule
from ualink.phy.rs_transmit import RSTransmit
from ualink_sim.model.phy.rs_blocks import IDLE, REMOTE_FAULT, START, data_flit, is_control, is_data, octets
from ualink_sim.model.phy.rs_transmit import Sequence, Transmitter

MARKER, IDLES = 12, 4
CONFIG = PhyConfig(rate=200, marker_interval=MARKER, idle_interval=IDLES)

FLIT = bytes(range(128)) * 5

IDLE_FLIT = [IDLE] * 80
IDLE_START = [START] * 8 + [IDLE] * 72
FAULT_FLIT = [REMOTE_FAULT] * 80
FAULT_START = [START] * 8 + [REMOTE_FAULT] * 72


def transmission(slots, size=8, **behaviour):
    return Transmission(
        RSTransmit(CONFIG.replace(blocks_per_word=size)), Transmitter(200, MARKER, IDLES), slots, **behaviour
    ).run()


def always(kind):
    return lambda: Slot(kind, FLIT)


def as_blocks(sequences: str):
    """I Idle, A Idle Start, F Fault, S Fault Start, D data."""
    names = {"I": IDLE_FLIT, "A": IDLE_START, "F": FAULT_FLIT, "S": FAULT_START, "D": data_flit(FLIT)}
    return [names[letter] for letter in sequences]


@pytest.mark.parametrize(
    ("fault", "kind", "sequences"),
    [
        pytest.param(*row[:3], id="-".join((row[0].name, row[1].name)), marks=pytest.mark.req(*row[3]))
        for row in (
            (LinkFault.OK, TxKind.DATA, "ADDDIDDDIDDD" * 2, ("PHY-014", "PHY-022", "PHY-025", "PHY-027", "PHY-060")),
            (LinkFault.OK, TxKind.IDLE, "AIIIIIIIIIII" * 2, ("PHY-023", "PHY-026", "PHY-027", "PHY-028", "PHY-031")),
            (LinkFault.OK, TxKind.REMOTE_FAULT, "AIIIIIIIIIII" * 2, ("PHY-040",)),
            (LinkFault.LOCAL, TxKind.DATA, "AFFFFFFFFFFF" + "SFFFFFFFFFFF", ("PHY-029", "PHY-030", "PHY-038")),
            (LinkFault.LOCAL, TxKind.REMOTE_FAULT, "AFFFFFFFFFFF" + "SFFFFFFFFFFF", ("PHY-029", "PHY-030", "PHY-038")),
            (LinkFault.REMOTE, TxKind.DATA, "AIIIIIIIIIII" * 2, ("PHY-027", "PHY-039")),
            (LinkFault.REMOTE, TxKind.IDLE, "AIIIIIIIIIII" * 2, ("PHY-027", "PHY-039")),
            (LinkFault.INTERRUPTION, TxKind.DATA, "AIIIIIIIIIII" * 2, ("PHY-039",)),
        )
    ],
)
def test_what_a_slot_carries(fault, kind, sequences):
    """The first slot is out before a fault is known."""
    run = transmission(2 * MARKER, offer=always(kind), fault=lambda cycle: fault)
    assert [slot.blocks for slot in run.sent] == as_blocks(sequences)
    assert run.events["sent_marker"] == 2
    assert run.events["sent_data"] == sequences.count("D")
    assert run.events["sent_control"] == len(sequences) - sequences.count("D")


@pytest.mark.req("PHY-023", "PHY-025")
def test_the_dl_waits_only_where_a_control_flit_is_due():
    """A flit that waits is the next one sent; a DL without flits never waits, so that its flit times pass."""
    run = transmission(2 * MARKER, offer=always(TxKind.DATA))
    assert [slot.taken for slot in run.sent] == [0, 10, 10, 10] * 6
    run = transmission(2 * MARKER, offer=always(TxKind.IDLE))
    assert all(slot.taken == 10 for slot in run.sent)


@pytest.mark.req("PHY-016", "PHY-038", "PHY-039")
@pytest.mark.parametrize("fault", [LinkFault.LOCAL, LinkFault.REMOTE])
def test_a_dl_that_has_flits_yet_does_not_wait_for_a_fault_to_end(fault):
    """Its slots are taken, in marker slots too, and it is told of the fault, so that it gets to DL Fault."""
    run = transmission(2 * MARKER, offer=always(TxKind.DATA), fault=lambda cycle: fault)
    assert [slot.taken for slot in run.sent] == [0] + [10] * (2 * MARKER - 1)
    assert [slot.fault for slot in run.sent] == [LinkFault.OK] + [fault] * (2 * MARKER - 1)
    assert run.events["sent_data"] == 0


@pytest.mark.req("PHY-041")
def test_a_fault_acts_at_the_next_flit_boundary():
    """It comes within a slot of a flit, and goes within a slot of it, marker slot or not (P-31)."""
    times = set()
    for n in range(33):
        begin = 13 + 57 * n
        times.update(range(begin, begin + (1, 7, 30)[n % 3]))
    slots = max(times) // BEATS + 3
    run = transmission(
        slots,
        offer=always(TxKind.DATA),
        fault=lambda cycle: LinkFault.LOCAL if cycle in times else LinkFault.OK,
    )
    known = as_blocks("ADIFS")
    assert all(slot.blocks in known for slot in run.sent)
    shown = [number for number, slot in enumerate(run.sent) if slot.fault == LinkFault.LOCAL]
    assert shown == sorted({cycle // BEATS + 1 for cycle in times})
    assert all((slot.fault == LinkFault.LOCAL) == (REMOTE_FAULT in slot.blocks) for slot in run.sent)
    assert sum(slot.blocks == FAULT_START for slot in run.sent) > 3


def test_a_later_fault_replaces_one_that_has_gone():
    faults = {15: LinkFault.LOCAL, 17: LinkFault.REMOTE}
    run = transmission(4, offer=always(TxKind.DATA), fault=lambda cycle: faults.get(cycle, LinkFault.OK))
    assert [slot.fault for slot in run.sent] == [LinkFault.OK, LinkFault.OK, LinkFault.REMOTE, LinkFault.OK]


@pytest.mark.req("PHY-024")
def test_a_dl_without_a_flit_is_stood_in_for_and_told_of():
    run = transmission(2 * MARKER, offer=lambda: None)
    assert [slot.blocks for slot in run.sent] == as_blocks("AIIIIIIIIIII" * 2)
    assert run.events["starved"] == 2 * MARKER - 6


@pytest.mark.req("PHY-003", "PHY-015", "PHY-021", "PHY-034")
@pytest.mark.parametrize("seed, size", [(0, 8), (1, 8), (2, 4), (3, 2), (5, 1)])
def test_everything_at_once(seed, size):
    rng = random.Random(seed)
    slots = 240
    state = {"fault": LinkFault.OK, "kind": TxKind.DATA}

    def offer():
        if rng.random() < 0.03:
            return None
        if rng.random() < 0.1:
            state["kind"] = rng.choice((TxKind.DATA, TxKind.DATA, TxKind.DATA, TxKind.IDLE, TxKind.REMOTE_FAULT))
        beats = rng.randrange(1, BEATS) if rng.random() < 0.03 else BEATS
        return Slot(state["kind"], rng.randbytes(640), beats)

    def fault(cycle):
        if rng.random() * 8 / size < (0.01 if state["fault"] == LinkFault.OK else 0.06):
            state["fault"] = rng.choice((LinkFault.OK, LinkFault.OK, *LinkFault))
        return state["fault"]

    patience = 0.8 if seed % 4 else 1.0
    run = transmission(slots, size, offer=offer, fault=fault, ready=lambda: rng.random() < patience)
    seen, types = set(), set()
    for number, (sent, (sequence, blocks, taken, in_force, slot)) in enumerate(zip(run.sent, run.expected)):
        assert sent.blocks == blocks, number
        assert sent.fault.value == in_force, number
        assert sent.taken == (slot.beats if taken else 0), number
        assert all(map(is_data, sent.blocks)) or all(map(is_control, sent.blocks))
        types |= {octets(block)[0] for block in sent.blocks if is_control(block)}
        seen.add((sequence, taken, in_force))
    assert {sequence for sequence, _, _ in seen} == set(Sequence)
    assert len(seen) > 10
    assert types == {0x1E, 0x4B, 0x78}


@pytest.mark.req("PHY-005", "PHY-043", "PHY-051", "PHY-060", "PHY-066", "PHY-067", "PHY-068")
@pytest.mark.parametrize(("rate", "slots"), [(100, 4096), (200, 4096), (400, 8192), (800, 16384)])
def test_a_marker_period(rate, slots):
    """P-03: 100G as 200G. The control slots of a period and the first of the next, with the rate that software sets."""
    found = control_slots(SlotSchedule(PhyConfig(rate=100 if rate == 800 else 800)), rate, slots + 1030)
    assert found == {number: int(number % slots == 0) for number in range(0, slots + 1030, 1024)}


def test_a_marker_interval_that_is_given_is_that_of_each_rate():
    """Also where it is longer than the standard's of that rate."""
    found = control_slots(SlotSchedule(PhyConfig(rate=400, marker_interval=8192)), 100, 8200)
    assert found == {number: int(number % 8192 == 0) for number in range(0, 8200, 1024)}


def control_slots(dut, rate, count):
    """Which of the first ``count`` slots at ``rate`` are control slots, and whether they carry a marker."""
    found = {}

    async def testbench(ctx):
        ctx.set(dut.rate, PortRate.of(rate))
        ctx.set(dut.slot_end, 1)
        for number in range(count):
            if ctx.get(dut.control):
                found[number] = ctx.get(dut.marker)
            else:
                assert not ctx.get(dut.marker)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return found


@pytest.mark.req("PHY-043", "PHY-066", "PHY-067", "PHY-068")
@pytest.mark.parametrize(("rate", "slots"), [(100, 4096), (200, 4096), (400, 8192), (800, 16384)])
def test_a_marker_period_of_the_model(rate, slots):
    from ualink_sim.model.phy.rs_transmit import Offer

    model = Transmitter(rate)
    sent = [model.slot(Offer.FLIT, bytes(640))[0] for _ in range(slots + 1)]
    assert [n for n, sequence in enumerate(sent) if sequence is Sequence.IDLE_START] == [0, slots]
    assert [n for n, sequence in enumerate(sent) if sequence is Sequence.IDLE] == list(range(1024, slots, 1024))
    assert sent.count(Sequence.DATA) == slots - slots // 1024
