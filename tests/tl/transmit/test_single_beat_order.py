"""Single-beat Read Responses through a switch: the beats of one Read stay in order, with their RdRspLast (§2.7.8).

Each is a transfer of its own to the switch, so nothing but the order of its path keeps them together.
"""

import random

import pytest

from support.switch.bench import pack, random_beat, unpack
from support.switch.traffic import CoreBench

STATIONS = 3
READS = 12


def single_beats(rng, src, dst, tag):
    """The beats of one Read of 256 bytes, any order of offsets; RdRspLast stands where the answerer put it."""
    offsets = rng.sample(range(4), 4)
    last = rng.randrange(4)
    return [
        random_beat(
            rng,
            "rd_rsp",
            src_phys_acc_id=src,
            dst_phys_acc_id=dst,
            num_beats=0,
            tag=tag,
            offset=offset,
            last=int(number == last),
        )
        for number, offset in enumerate(offsets)
    ]


@pytest.mark.req("TL-209")
@pytest.mark.parametrize("sink_rate", [1.0, 0.4])
def test_single_beats_keep_order_and_last_through_the_switch(sink_rate):
    """Two ingresses send to both other egresses at once; on each of the paths all beats come as they were sent."""
    rng = random.Random(f"{sink_rate}")
    routes = [{n: (0, n) for n in range(STATIONS)} for _ in range(STATIONS)]
    bench = CoreBench(STATIONS, 1, routes=routes, seed=f"{sink_rate}", sink_rate=sink_rate)
    sent = {}
    for ingress in range(2):
        for read in range(READS):
            dst = rng.randrange(1, STATIONS)
            for beat in single_beats(rng, src=100 + ingress, dst=dst, tag=read):
                bench.sources["rd_rsp"][ingress].beats.append(pack("rd_rsp", beat))
                sent.setdefault((ingress, dst), []).append((beat["tag"], beat["offset"], beat["last"]))

    def arrived():
        return sum(len(bench.response_sinks["rd_rsp"][egress].received) for egress in range(STATIONS))

    async def scenario(ctx):
        await bench.until(ctx, lambda: arrived() == 2 * 4 * READS, 2000)

    bench.run(scenario)
    got = {}
    for egress in range(STATIONS):
        for [value] in bench.response_sinks["rd_rsp"][egress].received:
            beat = unpack("rd_rsp", value)
            got.setdefault((beat["src_phys_acc_id"] - 100, egress), []).append(
                (beat["tag"], beat["offset"], beat["last"])
            )
    assert got == sent
    assert all({last for _, _, last in beats} == {0, 1} for beats in got.values())
