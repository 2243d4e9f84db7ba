"""TL receiver as a whole: legal random traffic with every kind of consumer, latency, full rate, credits."""

import pytest

from tl_receive import Traffic, check, run
from ualink.config import Credits, TLConfig

ROOMY = TLConfig(
    req_cmd=Credits(pool=1000),
    rsp_cmd=Credits(pool=1000),
    req_data=Credits(pool=1000),
    rsp_data=Credits(pool=1000),
)
SMALL = TLConfig(
    req_cmd=Credits(pool=3, vc=(1, 0, 2, 1)),
    rsp_cmd=Credits(pool=5, vc=(1, 1, 0, 3)),
    req_data=Credits(pool=5, vc=(4, 0, 1, 2)),
    rsp_data=Credits(pool=4, vc=(1, 4, 0, 2)),
)


@pytest.mark.parametrize("consumer", ["free", "agent", "random"])
def test_random_traffic(consumer):
    traffic = Traffic(SMALL, consumer)
    got = run(SMALL, traffic.flits(150), consumer=consumer, drain=150, watch=traffic.release)
    assert got.error is None
    check(got, traffic.expected)
    assert len(got.req) > 20 and len(got.rd_rsp) > 30
