"""Upsets in transmitters of several configurations, each store many times; ``test_upsets.py`` is the slice of CI."""

import pytest

from support.tl.transmit_upsets import CONFIG, OFFERED, TransmitBench, UpsetBench, flit_good
from ualink.config import AddressCacheConfig
from ualink.tl.transmit import Transmit

CONFIGS = {
    "usual": CONFIG,
    "lean": CONFIG.replace(lean=True),
    "uncached": CONFIG.replace(tx_cache=AddressCacheConfig(rows=0)),
    "few": CONFIG.replace(requests_in_sight=2, responses_in_sight=3),
}
CYCLES, ROUNDS = 40_000, 4
SELDOM = {"few": {"rd_data.data.older"}}
"""Stores that may not show: this one counts in single cycles, while a beat goes round a memory, and with few fields in
sight thousands of strikes have met none of them. What would be wrong is found all the same."""


@pytest.mark.soak
@pytest.mark.req("RAS-107", "RAS-108")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", CONFIGS)
def test_every_store(kind, seed):
    """Each store of items and each bit of the code that comes, until it has shown in a flit several times."""
    bench = UpsetBench(f"{kind} {seed}", config=CONFIGS[kind])
    assert bench.campaign([*bench.places, *OFFERED] * ROUNDS, CYCLES).keys() <= SELDOM.get(kind, set())


@pytest.mark.soak
@pytest.mark.parametrize("kind", CONFIGS)
def test_the_code_changes_no_flit(kind):
    """With codes that come, with codes that begin here: the same flits, in the same cycles, of right parity."""
    flits, coded = (TransmitBench(Transmit(CONFIGS[kind], coded=coded), kind).run(800) for coded in (False, True))
    assert len(flits) > 400 and all(map(flit_good, flits.values()))
    assert flits == coded
