"""What a link that may carry encrypted traffic asks of the transaction layer (UALink_200 §9.5.2)."""

import random
from itertools import chain

import pytest

from support.tl.layer import LAYERS, SMALL, Side, run_for, simulate, traffic
from support.tl.receive import CACHE
from support.tl.receive import run as receive
from support.tl.received import received
from support.tl.stimulus import CLASSES, WRITE, Stimulus, read_response, request, write_response
from support.tl.transmit import run as transmit
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.compression import is_compressible
from ualink_sim.model.tl.fields import CompressedRequest, UncompressedRequest, UncompressedResponse
from ualink_sim.model.tl.sequence import Issue, TransmitSequence

TRANSMITTER = TLConfig(**{name: Credits(pool=8) for name in CLASSES}, tx_cache=AddressCacheConfig(rows=4, ways=2))
RECEIVER = TLConfig(rx_cache=CACHE, **{name: Credits(pool=16) for name in CLASSES})


@pytest.mark.req("TL-181", "TL-198")
def test_responses_say_where_they_come_from_from_the_next_one_on():
    """Turned on in every cycle of a stream of Responses: those accepted from then on are uncompressed, with their
    SRCACCID, and no earlier one is lost or changed."""
    rng = random.Random(1)
    writes = [write_response(rng=rng, status=0) for _ in range(6)]
    reads = [read_response(1 + n % 2, rng=rng, status=0) for n in range(4)]
    stimulus = Stimulus(reads=reads, writes=writes)
    plain = transmit(TRANSMITTER, stimulus)
    cycles = sorted(cycle for channel in ("rd_rsp", "wr_rsp") for cycle in plain.accepted[channel])
    for since in range(cycles[0] - 1, cycles[-1] + 2):
        result = transmit(TRANSMITTER, stimulus, firmware=lambda cycle, since=since: {"encryption": cycle >= since})
        fields = [field for _, field in result.partner.fields]
        first_beats = [n for n, beats in enumerate(reads) for _ in beats]
        starts = [result.accepted["rd_rsp"][first_beats.index(n)] for n in range(len(reads))]
        for kind, accepted, beats in (
            (1, starts, [beats[0] for beats in reads]),
            (0, result.accepted["wr_rsp"], writes),
        ):
            of_kind = [field for field in fields if field.is_read == bool(kind)]
            assert [isinstance(field, UncompressedResponse) for field in of_kind] == [c >= since for c in accepted]
            for field, beat, cycle in zip(of_kind, beats, accepted, strict=True):
                assert field.tag == beat["tag"]
                assert cycle < since or field.src_acc_id == beat["src_phys_acc_id"]


@LAYERS
@pytest.mark.req("TL-181", "TL-177")
def test_src_phys_acc_id_arrives():
    rng = random.Random(2)
    stimulus = traffic(rng, 6)
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for side in sides:
            ctx.set(side.end.control.encryption, 1)
            ctx.set(side.end.online, 1)
        sides[0].waiting = stimulus.beats()
        await run_for(ctx, sides, 250)

    simulate(body, SMALL, SMALL)
    for channel, beats in (("rd_rsp", list(chain.from_iterable(stimulus.reads))), ("wr_rsp", stimulus.writes)):
        sent = [(beat["tag"], beat["src_phys_acc_id"], beat["status"]) for beat in beats]
        assert [(b["tag"], b["src_phys_acc_id"], b["status"]) for b in sides[1].got[channel]] == sent
        assert any(source and not status for _, source, status in sent)


def crossing_flits():
    """A load, and behind it three Compressed Requests of which two seem to cross 256 bytes, one with data."""
    sequence = TransmitSequence(encryption=True)
    load = UncompressedRequest(cmd=3, pool=1, addr=0x1F_FFFF_FFFF << 18, src_acc_id=2, cload=1, cway=1)
    entry = {"pool": 1, "src_acc_id": 2, "cway": 1}
    issues = [
        Issue(0, CompressedRequest(tag=1, addr=2, len=1, **entry)),
        Issue(2, CompressedRequest(tag=2, addr=0x3FFF, len=2, cmd=0b110, **entry), bytes(range(192))),
        Issue(4, CompressedRequest(tag=3, addr=3, len=3, **entry)),
    ]
    flits = [sequence.send([Issue(0, load)]), sequence.send(issues)]
    while sequence.owed:
        flits.append(sequence.send())
    return flits


@pytest.mark.req("TL-226", "TL-220")
def test_crossing_256_bytes_is_counted_and_delivered():
    flits = crossing_flits()
    got = receive(RECEIVER, [None] * 4 + flits, encryption=1)
    assert got.errors == []
    assert got.log == (ReceiveError.NONE, 0, 0, 0, 2)
    for channel, expected in received(RECEIVER, flits, encryption=True).items():
        assert len(expected) == {"req": 4, "orig_data": 3}.get(channel, 0)
        names = expected[0] if expected else ()
        assert [{name: beat[name] for name in names} for beat in got.beats(channel)] == expected, channel


@pytest.mark.req("TL-190", "TL-220", "TL-226")
def test_crossing_256_bytes_is_an_error_without_encryption():
    got = receive(RECEIVER, [None] * 4 + crossing_flits())
    assert [error for _, error in got.errors] == [ReceiveError.BLOCK_CROSSING]
    assert got.log[4] == 0
    assert [beat["tag"] for beat in got.beats("req")] == [0]


@pytest.mark.req("TL-184", "TL-190")
@pytest.mark.parametrize("encryption", [0, 1])
def test_a_write_whose_ciphertext_is_aligned_by_chance_is_not_compressed(encryption):
    """It has one beat more than LEN says: its plaintext begins within 64 bytes. The receiver would take LEN for it."""
    rng = random.Random(3)
    place = {"addr": 5 << 20, "attr": 0, "meta_data": 0, "dst_phys_acc_id": 1, "rng": rng}
    requests = [
        request(WRITE, beats=2, len=31, **place),
        request(WRITE, beats=2, len=31, **place),
        request(WRITE, beats=3, len=31, **place),
        request(WRITE, beats=2, len=31, **place),
    ]
    stimulus = Stimulus(requests)
    # The Tx Address Cache is cleared by now.
    partner = transmit(
        TRANSMITTER,
        stimulus,
        control={"encryption": encryption},
        hold=lambda channel, waiting, cycle, partner: cycle < 30,
    ).partner
    forms = [isinstance(field, CompressedRequest) for _, field in partner.fields]
    assert forms == [False, True, False, True]
    assert [len(data) for data in partner.data.values()] == [5, 5, 7, 5]


@pytest.mark.req("TL-184")
def test_conditions_of_the_model_on_ciphertext():
    """NUMBEATS alone tells the Write that is not aligned; a Read brings none."""
    write = UncompressedRequest(cmd=WRITE, len=31, num_beats=1, addr=0)
    assert is_compressible(write)
    read = UncompressedRequest(cmd=3, attr=0xFF, len=31)
    assert is_compressible(read)
    for num_beats in (0, 2, 3):
        assert not is_compressible(UncompressedRequest(cmd=WRITE, len=31, num_beats=num_beats, addr=0))
        assert not is_compressible(UncompressedRequest(cmd=0x29, len=31, num_beats=num_beats, addr=0))
    for num_beats in (1, 2, 3):
        assert not is_compressible(UncompressedRequest(cmd=3, attr=0xFF, len=31, num_beats=num_beats))
