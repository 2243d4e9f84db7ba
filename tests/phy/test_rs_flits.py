"""What the reconciliation sublayer tells the DL of the blocks that it receives, rule by rule."""

import random

import pytest

from support.phy.rs_stream import Receiver, data_block, receive, reserved, spoilt
from ualink.config import PhyConfig
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rs_receive import Heard

CONFIG = PhyConfig(rate=200, marker_interval=32, idle_interval=8)
IDLE, ERROR, BLOCKS = codes.IDLE, codes.ERROR, codes.BLOCKS
AM_FLIT = codes.alignment_flit([IDLE] * BLOCKS, 200)
FAULTS = (codes.LOCAL_FAULT, codes.REMOTE_FAULT, codes.LINK_INTERRUPTION)


class Line:
    """Blocks in the order of the wire, and what the DL is to hear of them."""

    blocks_per_word: int

    def __init__(self, seed: int = 0):
        self.rng = random.Random(seed)
        self.blocks: list[int] = []
        self.flits: list[bytes] = []

    def flit(self) -> list[int]:
        """The blocks of a new flit, which is to arrive."""
        self.flits.append(self.rng.randbytes(640))
        return codes.data_flit(self.flits[-1])

    def lost(self) -> list[int]:
        """The blocks of a new flit which will not arrive whole."""
        return codes.data_flit(self.rng.randbytes(640))

    def send(self, *parts: list[int]) -> None:
        for part in parts:
            self.blocks += part

    def heard(self, config=CONFIG, *, gaps=0.0) -> list[Heard]:
        """What the DL heard, once it has been found that the flits are those which were to arrive."""
        # Eight idles, so that the last slot gets to its end in the same beat.
        got, _ = receive(
            Receiver(config.replace(blocks_per_word=self.blocks_per_word)), self.blocks + [IDLE] * 8, self.rng, gaps
        )
        assert min(got.since_beat) >= 8 // self.blocks_per_word
        assert [slot.flit for slot in got.slots if slot.heard is Heard.GOOD] == self.flits
        return [slot.heard for slot in got.slots]


@pytest.fixture(autouse=True, params=[8, 2])
def blocks_per_word(request, monkeypatch):
    """Each rule holds for whole beats, and for words of two blocks."""
    monkeypatch.setattr(Line, "blocks_per_word", request.param, raising=False)


GOOD, BAD, CONTROL = Heard.GOOD, Heard.BAD, Heard.CONTROL


@pytest.mark.req("PHY-019", "PHY-046", "PHY-047", "PHY-048", "PHY-050", "PHY-063", "PHY-065", "PHY-108", "PHY-109")
def test_flits_begin_at_any_block():
    """Between two flits 0 to 79 idles, at every offset of the first: what rate matching has left or inserted."""
    line = Line()
    line.send(AM_FLIT)
    for idles in range(BLOCKS):
        line.send(line.flit(), [IDLE] * idles)
    assert [what for what in line.heard(gaps=0.1) if what is not CONTROL] == [GOOD] * 80


@pytest.mark.req("PHY-022", "PHY-050", "PHY-069")
def test_flits_follow_each_other_without_a_block_between():
    line = Line(1)
    line.send(AM_FLIT, [IDLE] * 3)
    for _ in range(20):
        line.send(line.flit())
    assert line.heard() == [CONTROL] + [GOOD] * 20


@pytest.mark.req("PHY-020", "PHY-035", "PHY-048")
def test_four_control_flits_are_told_as_four():
    """P-05: even if up to 20 of their 320 blocks have been deleted; Idle, fault and AM flits count alike."""
    line = Line(2)
    line.send(AM_FLIT, line.flit(), [IDLE] * 300, line.flit(), [IDLE] * 299, line.flit())
    line.send(
        AM_FLIT, [codes.REMOTE_FAULT] * 80, [ERROR] * 80, [IDLE] * 60, line.flit(), [codes.START] * 75, line.flit()
    )
    four, three = [CONTROL] * 4, [CONTROL] * 3
    assert line.heard() == [CONTROL, GOOD, *four, GOOD, *three, GOOD, *four, GOOD, CONTROL, GOOD]


@pytest.mark.req("PHY-045", "PHY-047")
def test_nothing_is_heard_before_the_first_am_flit():
    """P-30: data is discarded while hunting, whatever Start blocks and idles come."""
    line = Line(3)
    line.send(line.lost(), [IDLE] * 400, [codes.START] * 16, line.lost(), [codes.LOCAL_FAULT] * 100, line.lost()[:33])
    line.send(AM_FLIT[: 16 + 3], line.flit())
    assert line.heard() == [GOOD]


@pytest.mark.req("PHY-034")
def test_control_blocks_that_are_not_used_are_passed_over():
    """P-29: they begin nothing, end nothing and are not counted."""
    line = Line(4)
    line.send(AM_FLIT[:70], [reserved_type(line.rng) for _ in range(700)], line.flit())
    line.send([reserved_type(line.rng) for _ in range(40)], [IDLE] * 74, line.flit(), line.flit())
    assert line.heard() == [GOOD, GOOD, GOOD]


def reserved_type(rng):
    while True:
        block = reserved(rng)
        if codes.octets(block)[0] != 0x4B:
            return block


@pytest.mark.req("PHY-042", "PHY-046")
def test_a_control_block_aborts_a_flit():
    """P-04, whatever it is, at places all over the flit: one BAD, and the next flit is found."""
    line = Line(5)
    line.send(AM_FLIT)
    places = range(1, BLOCKS, 7)
    for k in places:
        what = (IDLE, ERROR, codes.ALIGNMENT, codes.LOCAL_FAULT, codes.START)[k % 5]
        cut = line.lost()[:k] + [what] * (BLOCKS - k)
        line.send([IDLE] * (k % 7), line.flit(), cut, line.flit())
    heard = line.heard(CONFIG.replace(marker_interval=1023, idle_interval=1024))
    assert [one for one in heard if one is not CONTROL] == [GOOD, BAD, GOOD] * len(places)


@pytest.mark.req("PHY-049")
@pytest.mark.parametrize("first", ["flit", "invalid"])
def test_a_change_from_control_to_data_always_begins_a_flit(first):
    """Even within the 80 blocks of a flit that was aborted, in whose place it stands: BAD for both. What follows is
    aligned to it."""
    line = Line(6)
    line.send(AM_FLIT)
    for k in range(1, 79, 11):
        again = line.lost()
        if first == "invalid":
            again[0] = spoilt(again[0], line.rng)
        line.send(line.flit(), line.lost()[:k], [IDLE], again, line.flit(), line.flit(), [IDLE] * (k % 9))
    heard = line.heard(CONFIG.replace(marker_interval=1023, idle_interval=1024))
    assert heard == [CONTROL] + [GOOD, BAD, GOOD, GOOD] * 8


@pytest.mark.req("PHY-046", "PHY-049")
@pytest.mark.parametrize("behind", ["flits", "idles"])
def test_an_invalid_header_anywhere_spoils_its_slot_alone(behind):
    """R7-03, R7-04: the slot is counted to its end, its first block included; the flits around it are not touched."""
    line = Line(7)
    line.send(AM_FLIT)
    places = range(0, BLOCKS, 3 if behind == "flits" else 7)
    for k in places:
        bad = line.lost()
        bad[k] = spoilt(bad[k], line.rng)
        line.send([IDLE] * (k % 7 if behind == "idles" else 0), bad, line.flit())
    heard = line.heard(CONFIG.replace(marker_interval=1023, idle_interval=1024))
    assert heard == [CONTROL] + [BAD, GOOD] * len(places)


@pytest.mark.req("PHY-020")
@pytest.mark.parametrize("content", ["invalid", "anything"])
def test_a_slot_whose_first_header_is_invalid_is_counted_to_eighty(content):
    """Whatever its other blocks are, and those of as many slots as a codeword group has, with the four behind."""
    line = Line(8)
    for slots in (1, 2, 4):
        line.send(AM_FLIT, line.flit())
        for _ in range(slots):
            slot = [spoilt(block, line.rng) for block in line.lost()]
            if content == "anything":
                slot[1:] = [line.rng.choice((IDLE, data_block(line.rng), slot[0], *FAULTS)) for _ in range(79)]
            line.send(slot)
        line.send([spoilt(0, line.rng) for _ in range(4)], line.lost()[4:], line.flit())
    heard = [what for what in line.heard() if what is not CONTROL]
    assert heard == [*[GOOD, BAD, BAD, GOOD], *[GOOD, BAD, BAD, BAD, GOOD], *[GOOD, *[BAD] * 5, GOOD]]


@pytest.mark.req("PHY-060")
def test_a_lost_slot_where_a_control_flit_is_due_is_no_lost_flit():
    """P-26: every eighth slot behind the marker, although idles were inserted and deleted before; no other slot."""
    line = Line(9)
    rng = line.rng
    expected = []
    for _ in range(4):
        line.send(AM_FLIT[: rng.randrange(45, 100)] + [IDLE] * rng.randrange(30))
        expected.append(CONTROL)
        for number in range(1, 32):
            if number % 8 == 0 and rng.random() < 0.3:
                line.send([IDLE] * rng.randrange(76, 100))
                expected.append(CONTROL)
            elif rng.random() < 0.4:
                line.send([spoilt(block, rng) for block in line.lost()])
                expected.append(BAD if number % 8 else CONTROL)
            elif number % 8 == 0:
                # A corrupted Idle flit that looks like a flit at first.
                line.send([data_block(rng)] * 7, [IDLE] * 73)
                expected.append(CONTROL)
            else:
                line.send(line.flit())
                expected.append(GOOD)
    heard = line.heard()
    assert [what for what in heard if what is not CONTROL] == [what for what in expected if what is not CONTROL]
    assert expected.count(BAD) > 30


def test_a_false_start_in_a_control_flit_costs_the_next_flit_nothing():
    """The slot in whose place the flit begins was to have none."""
    line = Line(10)
    line.send(AM_FLIT)
    for n in range(8):
        for _ in range(7):
            line.send(line.flit())
        if n % 4 == 3:
            line.send(AM_FLIT)
        else:
            line.send([IDLE] * (n + 2), [data_block(line.rng)] * (1 + n % 3), [IDLE] * (60 - n))
    heard = line.heard()
    assert [what for what in heard if what is not CONTROL] == [GOOD] * 56
