"""Where byte enables of UPLI Write Messages and vendor commands stand: both readings of ruling D04."""

import random

import pytest

from support.tl.layer import LAYERS, SMALL, Side, arriving, check_beats, simulate, step
from support.tl.stimulus import ATOMIC_NR, UWM, WRITE, Stimulus, request
from ualink.config import ConfigError, TLConfig
from ualink_sim.bfm.tl.options import TLOptions
from ualink_sim.model.tl.byte_enables import byte_enable_slots
from ualink_sim.model.tl.reassembly import Reassembler, ReceivedRequest
from ualink_sim.model.tl.sequence import ReceiveSequence

WITHOUT_ADDRESS = (UWM, 0x2C, 0x2F, 0x3C, 0x3F)
WITH_ADDRESS = (WRITE, ATOMIC_NR, 0x2B)
READINGS = ("address", "beat")
CONFIGS = tuple(SMALL.replace(byte_enable_slots=reading) for reading in READINGS)
"""Of the two ends: what one sends the other one reads differently, and each of them is compared with the model."""


def requests(quarters):
    """Requests of each command that begin in each of these quarters of a 256-byte block; 2Bh is reserved."""
    rng = random.Random(f"{quarters}")
    made = []
    for cmd in (*WITHOUT_ADDRESS, *WITH_ADDRESS):
        for quarter in quarters:
            addr = rng.getrandbits(49) << 8 | quarter << 6
            made.append(request(cmd, beats=rng.randint(1, 4), rng=rng, addr=addr))
    return Stimulus(made)


def over_the_link(stimulus, sender):
    """The far end's beats, and the flits with their message bits."""
    flits, sides = [], []
    rng = random.Random(0)

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for side in sides:
            ctx.set(side.end.online, 1)
        sides[sender].waiting = stimulus.beats()
        wire = sides[1 - sender].end.rx_flit
        for _ in range(60 + 16 * len(stimulus.requests)):
            if ctx.get(wire.valid):
                flits.append((ctx.get(wire.p.data).to_bytes(64, "little"), ctx.get(wire.p.message)))
            await step(ctx, sides)

    simulate(body, *CONFIGS)
    return sides[1 - sender].got, flits


def enables_of(flits, reading):
    """Byte enables of each Request as the model reads the flits."""
    sequence, reassembler = ReceiveSequence(), Reassembler(byte_enable_slots=reading)
    found = []
    for flit in flits:
        for item in reassembler.push(sequence.receive(*flit)):
            if isinstance(item, ReceivedRequest):
                found.append([beat.byte_en for beat in item.beats])
    return found


def given(stimulus):
    return [[beat["byte_en"] for beat in data] for _, data in stimulus.requests]


@LAYERS
@pytest.mark.req("TL-031", "TL-036", "TL-037")
@pytest.mark.parametrize("sender", [0, 1], ids=READINGS)
def test_each_reading_is_that_of_the_model(sender):
    """A transmitter places byte enables, and a receiver of the other reading finds them, as the model of each does."""
    stimulus = requests((0, 1, 3))
    got, flits = over_the_link(stimulus, sender)
    assert enables_of(flits, READINGS[sender]) == given(stimulus)
    found = enables_of(flits, READINGS[1 - sender])
    expected = arriving(stimulus)
    for beat, enables in zip(expected["orig_data"], [one for beats in found for one in beats], strict=True):
        beat["byte_en"] = enables
    for channel in ("req", "orig_data"):
        assert [{name: beat[name] for name in expected[channel][0]} for beat in got[channel]] == expected[channel]
    # Read the other way they are wrong where there need be no address, and nowhere else.
    wrong = [mine != theirs for mine, theirs in zip(found, given(stimulus), strict=True)]
    assert wrong == [req["cmd"] in WITHOUT_ADDRESS and req["addr"] >> 6 & 3 != 0 for req, _ in stimulus.requests]


@LAYERS
@pytest.mark.req("TL-031", "TL-036")
@pytest.mark.parametrize("sender", [0, 1], ids=READINGS)
def test_both_readings_agree_in_the_first_quarter(sender):
    stimulus = requests((0,))
    got, flits = over_the_link(stimulus, sender)
    check_beats(got, stimulus)
    assert enables_of(flits, "address") == enables_of(flits, "beat") == given(stimulus)


def test_slots_of_the_model():
    for cmd in range(64):
        for quarter in range(4):
            by_address = [(quarter + beat) % 4 for beat in range(4)]
            no_address = cmd == UWM or 0x2C <= cmd <= 0x2F or 0x3C <= cmd <= 0x3F
            assert byte_enable_slots(64 * quarter, 4, cmd, "address") == by_address
            if cmd & 0x20:
                assert byte_enable_slots(64 * quarter, 4, cmd, "beat") == ([0, 1, 2, 3] if no_address else by_address)


def test_other_readings_are_refused():
    with pytest.raises(ConfigError, match=r"tl\.byte_enable_slots is 'offset'"):
        TLConfig(byte_enable_slots="offset")
    with pytest.raises(ValueError, match="byte_enable_slots is 'offset'"):
        TLOptions(byte_enable_slots="offset")
    with pytest.raises(ValueError, match="byte_enable_slots is 'offset'"):
        Reassembler(byte_enable_slots="offset")
