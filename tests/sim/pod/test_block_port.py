"""What stands for the PCS of a simulated station: blocks, the place of markers, faults, rate matching."""

import random
from types import SimpleNamespace

import pytest

from ualink.config import PhyConfig
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rate_matching import changes
from ualink_sim.model.phy.rs_receive import Heard, Receiver
from ualink_sim.pod import block_beats
from ualink_sim.pod.block_port import BlockPort, ReceivePCS
from ualink_sim.pod.rate_matching import RateMatcher
from ualink_sim.pod.wire import BAD, CONTROL, CUT, DATA, GOOD, IDLE, REMOTE_FAULT, START

PINS = ("tx__valid", "tx__payload", "tx__ready", "rx__valid", "rx__payload")
DARK = (0, False, False, BAD, CUT)


def blocks_in(beat):
    return [beat >> 66 * n & (1 << 66) - 1 for n in range(8)]


def beats_of(blocks):
    return [sum(block << 66 * k for k, block in enumerate(blocks[n : n + 8])) for n in range(0, len(blocks), 8)]


def slot(kind, flit=bytes(640), *, start=False, lost=False):
    """The ten beats of a slot as a wire delivers them."""
    status = BAD if lost else GOOD if kind == DATA else CONTROL
    for n in range(10):
        data = int.from_bytes(flit[64 * n : 64 * n + 64], "little") if kind == DATA and not lost else 0
        yield data, n == 0, n == 9, status, START if start and n == 0 else kind


def received(pcs, beats):
    """The blocks that the RS gets."""
    got = [pcs.get(pcs.put(beat), False) for beat in beats]
    return [block for beat in got if beat is not None for block in blocks_in(beat)]


def test_bytes_become_blocks_as_the_model_has_them():
    flit = random.Random(1).randbytes(640)
    for n, expected in enumerate(beats_of(codes.data_flit(flit))):
        data = int.from_bytes(flit[64 * n : 64 * n + 64], "little")
        assert block_beats.blocks_of(data) == expected and block_beats.is_data(expected)
        assert block_beats.bytes_of(expected) == data
    for n in range(8):
        assert not block_beats.is_data(expected ^ 3 << 66 * n) and not block_beats.is_data(expected ^ 1 << 66 * n)


def test_local_fault_until_a_marker_comes_and_after_each_cut():
    pcs = ReceivePCS(400)
    flit = random.Random(2).randbytes(640)
    assert received(pcs, [None, *slot(DATA, flit), *slot(IDLE)]) == [codes.LOCAL_FAULT] * 168
    assert received(pcs, slot(IDLE, start=True)) == codes.alignment_flit([codes.IDLE] * 80, 400)
    assert received(pcs, [None, *slot(DATA, flit)]) == codes.data_flit(flit)
    assert received(pcs, slot(REMOTE_FAULT)) == [codes.REMOTE_FAULT] * 80
    half = list(slot(DATA, flit))
    aborted = received(pcs, [*half[:4], DARK, DARK, *half[6:], *slot(DATA, flit)])
    assert aborted == codes.data_flit(flit)[:32] + [codes.LOCAL_FAULT] * 128
    assert received(pcs, slot(REMOTE_FAULT, start=True))[32:] == [codes.REMOTE_FAULT] * 48
    assert received(pcs, slot(DATA, flit)) == codes.data_flit(flit)


@pytest.mark.parametrize(("rate", "blocks"), [(100, 20), (200, 16), (400, 32), (800, 64)])
def test_the_place_of_a_marker_is_known_even_where_the_slot_is_lost(rate, blocks):
    pcs = ReceivePCS(rate)
    got = received(pcs, slot(IDLE, start=True, lost=True))
    assert got[:blocks] == [codes.ALIGNMENT] * blocks
    assert all(not codes.is_control(block) and not codes.is_data(block) for block in got[blocks:])


def test_a_receiver_hears_of_each_slot_what_became_of_it():
    """The model of the RS behind it, with a control flit every eighth slot."""
    pcs, receiver = ReceivePCS(800), Receiver(control_interval=8)
    rng = random.Random(3)
    flits = [rng.randbytes(640) for _ in range(7)]
    beats = [*slot(IDLE, start=True)]
    for n, flit in enumerate(flits):
        beats += slot(DATA, flit, lost=n in (2, 3))
    beats += [*slot(IDLE, lost=True), *slot(DATA, flits[0])]
    heard = [r for block in received(pcs, beats) if (r := receiver.block(block))]
    assert [r.heard for r in heard[1:]] == [
        *([Heard.GOOD] * 2 + [Heard.BAD] * 2 + [Heard.GOOD] * 3),
        *(Heard.CONTROL, Heard.GOOD),
    ]
    assert [r.flit for r in heard if r.heard is Heard.GOOD] == [flits[n] for n in (0, 1, 4, 5, 6, 0)]


class FakeDUT(SimpleNamespace):
    def __init__(self):
        super().__init__(**{f"pcs__{name}": SimpleNamespace(value=0) for name in PINS})

    def send(self, beat, port=0):
        self.pcs__tx__valid.value, self.pcs__tx__payload.value = 1, beat | port << 528


def test_slots_are_found_in_what_each_port_sends():
    dut = FakeDUT()
    ports = BlockPort(dut, "pcs", PhyConfig(), 2)
    assert ports.transmitted() is None
    flit = random.Random(4).randbytes(640)
    started = [codes.START] * 8 + [codes.IDLE] * 72
    faulty = [codes.START] * 8 + [codes.REMOTE_FAULT] * 72
    streams = started + codes.data_flit(flit) + [codes.REMOTE_FAULT] * 80, faulty + [codes.IDLE] * 160
    got = ([], [])
    for pair in zip(*map(beats_of, streams), strict=True):
        for port, beat in enumerate(pair):
            dut.send(beat, port)
            of, *sent = ports.transmitted()
            assert of == port
            got[port].append(tuple(sent))
    for sent in got:
        assert [beat[2:] for beat in sent] == [(n == 0, n == 9) for n in range(10)] * 3
    kinds = [[beat[1] for beat in sent] for sent in got]
    assert kinds[0] == [START] + [IDLE] * 9 + [DATA] * 10 + [REMOTE_FAULT] * 10
    assert kinds[1] == [START] + [REMOTE_FAULT] * 9 + [IDLE] * 20
    assert b"".join(beat[0].to_bytes(64, "little") for beat in got[0][10:20]) == flit


@pytest.mark.parametrize(
    "blocks",
    [
        [codes.START] * 8 + codes.data_flit(bytes(640))[:8],
        [codes.IDLE] * 8 + [codes.REMOTE_FAULT] * 8,
        [codes.IDLE] * 8 + [codes.START] * 8,
        codes.data_flit(bytes(640))[:8] + [codes.IDLE] * 8,
        [codes.IDLE] * 4 + codes.data_flit(bytes(640))[:4],
        [codes.LOCAL_FAULT] * 8,
    ],
)
def test_what_is_no_slot_is_not_carried(blocks):
    dut = FakeDUT()
    port = BlockPort(dut, "pcs", PhyConfig(), 1)
    with pytest.raises(AssertionError, match=r"pcs sends what is no slot: beat . of port 0"):
        for beat in beats_of(blocks):
            dut.send(beat)
            port.transmitted()


def test_beats_are_given_in_the_cycles_of_their_port():
    dut = FakeDUT()
    ports = BlockPort(dut, "pcs", PhyConfig(rate=400), 2)
    ports.receive(1, None)
    assert (dut.pcs__rx__valid.value, dut.pcs__rx__payload.value >> 528) == (1, 1)
    for beat in slot(IDLE, start=True):
        ports.receive(0, beat)
        ports.receive(1, None)
        assert dut.pcs__rx__payload.value % (1 << 528) == block_beats.LOCAL_FAULT_BEAT
    ports.receive(0, None)
    assert dut.pcs__rx__valid.value == 0


@pytest.mark.parametrize("ports", [1, 2])
def test_a_slower_station_stands_still_in_its_share_of_cycles(ports):
    dut = FakeDUT()
    port = BlockPort(dut, "pcs", PhyConfig(), ports, slower_ppm=200)
    dut.send(block_beats.IDLE_BEAT)
    taken = given = ready = 0
    cycles = 50_100 * ports
    for cycle in range(cycles):
        sent = port.transmitted()
        taken += sent is not None
        ready += dut.pcs__tx__ready.value
        port.receive(cycle % ports, None)
        given += dut.pcs__rx__valid.value
    # 10.02 cycles of each port.
    assert taken == given == ready == cycles - 10 * ports


@pytest.mark.parametrize("faster", [1, -1], ids=["deleting", "inserting"])
def test_rates_are_matched_at_control_flits_alone(faster):
    """Clocks that are 2,000 ppm apart with a control flit every 102 slots, which is the drift of 200 ppm in 1,024: no
    flit is torn, lost or held up."""
    rng = random.Random(5)
    matcher = RateMatcher()
    given, taken, late = [], [], 0
    waits = []
    for number in range(8 * 102):
        sequence = [codes.IDLE] * 80 if number % 102 == 0 else None
        for beat in beats_of(sequence) if sequence else [block_beats.blocks_of(rng.getrandbits(512))] * 10:
            late += 2000
            due = late >= 1_000_000
            late -= 1_000_000 * due
            if faster < 0 and due:
                taken += filter(None, [matcher.get()])
            matcher.put(beat)
            given.append(beat)
            if faster > 0 and due:
                continue
            taken += filter(None, [matcher.get()])
            waits.append(matcher._count)
    assert min(waits[100:]) > 0 and max(waits) < 80
    words = [[(block,) for beat in beats for block in blocks_in(beat)] for beats in (given, taken)]
    made = changes(*words)
    name, other = ("idle deleted", "idle inserted")[:: 1 if faster > 0 else -1]
    assert (made[name], made[other]) == (matcher.deleted + matcher.inserted, 0)
    assert 7 * 14 < made[name] < 8 * 18
