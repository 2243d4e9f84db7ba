"""A compiled pair of stations of four lanes, by the ports that these make up."""

import pytest

from ualink_sim.bench.station import LIMIT, WRITE
from ualink_sim.bench.station_pair import MODES, throughput


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
def test_a_station_keeps_its_links_full(mode):
    assert throughput(mode, WRITE) == pytest.approx(LIMIT, rel=1e-4)
