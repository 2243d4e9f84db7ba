"""Upsets in transmitters of several configurations, each store many times; ``test_upsets.py`` is the slice of CI."""

import pytest

from support.tl.transmit_upsets import CONFIG, OFFERED, UpsetBench
from ualink.config import AddressCacheConfig

CONFIGS = {
    "usual": CONFIG,
    "lean": CONFIG.replace(lean=True),
    "uncached": CONFIG.replace(tx_cache=AddressCacheConfig(rows=0)),
    "few": CONFIG.replace(requests_in_sight=2, responses_in_sight=3),
}
CYCLES, ROUNDS = 12_000, 4


@pytest.mark.soak
@pytest.mark.req("RAS-107", "RAS-108")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", CONFIGS)
def test_every_store(kind, seed):
    """Each store of items and each bit of the code that comes, until it has shown in a flit several times."""
    bench = UpsetBench(f"{kind} {seed}", config=CONFIGS[kind])
    assert not bench.campaign([*bench.places, *OFFERED] * ROUNDS, CYCLES)
