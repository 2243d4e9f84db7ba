"""Upsets in receivers of several configurations, each store many times; ``test_upsets.py`` is the slice of CI."""

import pytest

from support.tl.receive_upsets import CONFIG, ReceiveUpsets

LINES = CONFIG.replace(catch_in_lines=True)
CONFIGS = {
    "usual": CONFIG,
    "lines": LINES,
    "authenticated": CONFIG.replace(authentication=True),
    "lean": LINES.replace(lean=True, shared_data_buffer=True),
    "unhurried": CONFIG.replace(unhurried=True, authentication=True),
}
RUNS, ROUNDS = 100, 3


@pytest.mark.soak
@pytest.mark.req("RAS-107", "RAS-108")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", CONFIGS)
def test_every_store(kind, seed):
    """Each store of items, until it has been found several times."""
    bench = ReceiveUpsets(CONFIGS[kind], f"{kind} {seed}")
    for _ in range(ROUNDS):
        assert bench.strike_all(bench.places, RUNS) == []
