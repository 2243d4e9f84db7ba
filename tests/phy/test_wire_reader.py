"""The reader of a wire, which works with whole blocks, against the PCS and the sublayer that work bit by bit."""

import random

import pytest

from ualink_sim.model.phy.pcs import number_of, receive, transmit
from ualink_sim.model.phy.rs_fault import LinkFault
from ualink_sim.model.phy.rs_receive import Heard, Receiver
from ualink_sim.model.phy.rs_transmit import Offer, Sequence, Transmitter
from ualink_sim.model.phy.wire import WireReader

INTERVAL = 4
MARKER_BLOCKS = 16
SLOTS = 16
LEAST = 5
"""Flits that are there once the second marker was seen."""


def wire(rng):
    """Flits that are sent, and the bits of the lane."""
    transmitter = Transmitter(200, INTERVAL, INTERVAL)
    flits, blocks = [], []
    for _ in range(SLOTS):
        flit = rng.randbytes(640)
        sequence, slot, _, fault = transmitter.slot(Offer.FLIT, flit)
        assert fault is LinkFault.OK
        flits += [flit] if sequence is Sequence.DATA else []
        blocks += slot
    (bits,) = transmit(blocks, 1, MARKER_BLOCKS)
    return flits, bits


def read(bits, rng, largest=400):
    """What a reader makes of ``bits``, given in pieces, and where."""
    reader, slots, at = WireReader(MARKER_BLOCKS, INTERVAL, INTERVAL), [], 0
    while at < len(bits):
        piece = bits[at : at + rng.randint(1, largest)]
        slots += reader.feed(number_of(piece), len(piece))
        at += len(piece)
    return reader, slots


@pytest.mark.parametrize("offset", [0, 5, 66, 5271])
def test_flits_are_read_from_any_bit_on_and_in_pieces_of_any_length(offset):
    rng = random.Random(offset)
    flits, bits = wire(rng)
    # The last block stays behind until a bit follows it.
    reader, slots = read([*bits[offset:], 0], rng)
    good = [slot.received.flit for slot in slots if slot.received.heard is Heard.GOOD]
    assert len(good) >= LEAST and good == flits[len(flits) - len(good) :]
    assert slots[-1].end + offset == len(bits)
    assert (reader.aligned, reader.bad_headers, reader.losses) == (True, 0, 0)


def test_damage_is_read_as_by_the_models_that_work_bit_by_bit():
    rng = random.Random(9)
    _, bits = wire(rng)
    for _ in range(40):
        bits[rng.randrange(9 * 5280, len(bits) - 100)] ^= 1
    reader, slots = read([*bits, 0], rng)
    receiver = Receiver(INTERVAL)
    blocks = receive([bits], MARKER_BLOCKS, INTERVAL)
    expected = [heard for block in blocks if (heard := receiver.block(block)) is not None]
    assert [slot.received for slot in slots] == expected
    assert {Heard.GOOD, Heard.CONTROL} <= {slot.received.heard for slot in slots}
    assert reader.bad_headers == sum(block & 3 in (0, 3) for block in blocks)


def test_a_wire_that_is_cut_is_read_again_afterwards():
    rng = random.Random(3)
    flits, bits = wire(rng)
    noise = [rng.getrandbits(1) for _ in range(30_011)]
    reader, slots = read(bits + noise + bits + [0], rng, 20_000)
    behind = [slot for slot in slots if slot.end > len(bits) + len(noise)]
    good = [slot.received.flit for slot in behind if slot.received.heard is Heard.GOOD]
    assert len(good) >= LEAST and good == flits[len(flits) - len(good) :]
    assert (reader.aligned, reader.losses) == (True, 1)
