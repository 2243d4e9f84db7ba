"""TL transmitter as a whole: compressed and uncompressed fields, clearing of the cache, tags."""

import random

import pytest

from support.tl.stimulus import (
    CLASSES,
    PLENTY,
    READ,
    Stimulus,
    near_request,
    random_traffic,
    read_response,
    request,
    write_response,
)
from support.tl.transmit import TRANSMIT, Partner, check, run
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    UncompressedRequest,
    UncompressedResponse,
)

pytestmark = TRANSMIT

SMALL = TLConfig(**{name: Credits(pool=4) for name in CLASSES})


@pytest.mark.req("TL-193", "TL-194", "TL-195", "TL-196", "TL-197", "TL-198")
@pytest.mark.parametrize("disabled", [False, True])
def test_forms_of_responses(disabled):
    """Compressed only with status OKAY: one beat alone as FTYPE 4h, a burst or a Write Response as 5h."""
    rng = random.Random(17)
    statuses = (0, 1, 2, 4, 8)
    reads = [read_response(beats, rng=rng, status=status) for beats in (1, 2, 4) for status in statuses]
    writes = [write_response(rng=rng, status=status) for status in statuses]
    control = {"disable_response_compression": disabled}
    partner = run(SMALL, Stimulus(reads=reads, writes=writes), control=control).partner
    check(Stimulus(reads=reads, writes=writes), partner, compressed=not disabled)
    forms = {}
    for _, field in partner.fields:
        forms.setdefault(field.is_read, []).append(type(field))
    plain = UncompressedResponse
    if disabled:
        assert forms == {True: [plain] * 15, False: [plain] * 5}
    else:
        one, more = ([form, *[plain] * 4] for form in (CompressedReadResponse, CompressedResponse))
        assert forms == {True: one + more + more, False: more}


@pytest.mark.req("TL-091", "TL-095", "TL-123", "TL-124", "TL-126")
@pytest.mark.parametrize("seed", range(3))
def test_cache_is_cleared_amid_traffic(seed):
    """Whatever is cleared or invalidated while Requests wait for their half-flit, each has its own address at the
    partner, whose cache follows the order of the sectors."""
    rng = random.Random(seed)
    requests = [near_request(rng, regions=6, accelerators=2) for _ in range(60)]

    def firmware(cycle):
        return {
            "clear_tx_cache": rng.random() < 0.02,
            "invalidate_tx_entry": rng.random() < 0.1,
            "invalidate_row": rng.randrange(2),
            "invalidate_way": rng.randrange(4),
        }

    stimulus = Stimulus(requests, valid=0.8, ready=0.5)
    config = SMALL.replace(tx_cache=AddressCacheConfig(rows=2, ways=4))
    partner = run(config, stimulus, seed=seed, firmware=firmware).partner
    check(stimulus, partner)
    forms = [isinstance(field, CompressedRequest) for _, field in partner.fields]
    assert any(forms) and not all(forms)


@pytest.mark.req("TL-090", "TL-185", "TL-206")
@pytest.mark.parametrize("left_out", [False, True])
def test_without_cache_requests_stay_uncompressed(left_out):
    rng = random.Random(18)
    stimulus = Stimulus([near_request(rng, regions=1, accelerators=1) for _ in range(12)])
    config = SMALL.replace(tx_cache=AddressCacheConfig(rows=0 if left_out else 4))
    partner = run(config, stimulus, control={"disable_tx_cache": not left_out}).partner
    check(stimulus, partner)
    assert all(isinstance(field, UncompressedRequest) and not field.cload for _, field in partner.fields)


@pytest.mark.req("TL-047", "TL-048", "TL-049", "TL-050", "TL-053", "TL-213")
def test_tags_go_with_their_fields():
    """Random traffic with authentication: every field brings the tag that UPLI gave it."""
    rng = random.Random(19)
    stimulus = random_traffic(rng, 40, errors=0.1, ready=0.8)
    beats = [req for req, _ in stimulus.requests] + [burst[0] for burst in stimulus.reads] + stimulus.writes
    for beat in beats:
        beat["auth_tag"] = rng.getrandbits(64)
    partner = Partner(PLENTY, authentication=True, rng=rng)
    run(SMALL, stimulus, partner=partner, seed=19)
    check(stimulus, partner)
    assert len(partner.tags) == len(beats)


@pytest.mark.req("TL-221", "TL-094")
def test_cache_is_cleared_while_the_link_is_down():
    """When the link comes back, the first Request loads at once, though there are more rows to clear than cycles since;
    what was loaded before is not used."""
    rng = random.Random(9)
    rows = 64
    config = SMALL.replace(tx_cache=AddressCacheConfig(rows=rows, ways=2))
    down, up = rows + 40, 2 * rows + 50
    place = {"addr": 3 << 20, "len": 15, "attr": 0xFF, "meta_data": 0, "dst_phys_acc_id": 1}
    requests = [request(READ, rng=rng, **place) for _ in range(4)]
    starts = [rows + 20, rows + 21, up + 12, up + 13]

    def hold(channel, waiting, cycle, partner):
        return channel == "req" and cycle < starts[4 - len(waiting)]

    stimulus = Stimulus(requests)
    partner = run(config, stimulus, hold=hold, online=lambda cycle: not down <= cycle < up).partner
    check(stimulus, partner)
    fields = [field for _, field in partner.fields]
    assert [isinstance(field, CompressedRequest) for field in fields] == [False, True, False, True]
    assert [getattr(field, "cload", 0) for field in fields] == [1, 0, 1, 0]
    assert partner.fields[-1][0] < up + rows
