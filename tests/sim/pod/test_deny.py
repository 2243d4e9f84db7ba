"""What a denied Request does for its link all the same, on the RTL of a whole pod."""

import json
import pickle
import random

import pytest

from support.sim.pod_fixtures import POD
from ualink_sim.capture.decode_cli import interface_decoder
from ualink_sim.capture.pcapng import read_capture
from ualink_sim.model.tl.fields import CompressedRequest
from ualink_sim.model.tl.fields import Request as FieldOfRequest
from ualink_sim.model.tl.sequence import ControlFields
from ualink_sim.pod.job import Job
from ualink_sim.pod.run import build_pod
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.request import Request

pytestmark = POD

SCENARIO = '[pod]\naccelerators = 4\n[link]\nlatency_cycles = 10\n[[workload]]\nkind = "uniform"\n'
DENIED = 340
"""Writes of 64 bytes that are denied: more than the link has credits of any kind (256 fields, 320 data buffers)."""
ADDRESS = 0x12_3456_7800_0000


@pytest.mark.req("SW-026", "SW-058", "SW-059", "SW-099", "SW-105")
def test_a_denied_request_returns_its_credits_and_loads_the_address_cache(tmp_path):
    """After the way is opened the source goes on as if nothing had been: Requests that are compressed with what the
    denied ones loaded arrive with the right address, credits have all come back, nothing was replayed."""
    rng = random.Random(4)

    def request(line, op, offset):
        data = rng.randbytes(64) if op == "write_full" else b""
        return Request(
            line=line, src=0, dst=2, op=op, addr=ADDRESS + offset, len=64, data=data, byte_en=(1 << 64) - 1, window=2048
        )

    requests = [request(n + 1, "write_full", 64 * n) for n in range(DENIED)]
    requests += [request(DENIED + n + 1, ("write_full", "read")[n % 2], 64 * (n // 2)) for n in range(60)]
    scenario = parse_scenario(SCENARIO, "deny.toml")
    job = tmp_path / "job"
    job.write_bytes(pickle.dumps(Job(scenario, requests, tmp_path / "capture.pcapng")))
    model = build_pod(scenario.pod.accelerators, scenario.switch)
    model.run("support.sim.deny_bench", environment={"UALINK_JOB": str(job), "UALINK_DENIED": str(DENIED)})
    found = json.loads(job.with_suffix(".found").read_text())
    # It entered by port 0 of station 0.
    assert found["counted"] == [[0, 0, DENIED, 0, 2, "request"]]
    assert found["answered_while_denied"] == 0
    assert found["mismatches"] == []
    assert found["completed"] == list(range(DENIED + 1, len(requests) + 1))
    assert found["online"] and not found["replays"]

    fields, decoder = [], None
    for packet in read_capture(tmp_path / "capture.pcapng"):
        if packet.interface == "acc0.0>sw0.0/tx":
            decoder = decoder or interface_decoder(packet)
            for flit in decoder.feed(packet.flit, packet.lost).tl_flits:
                controls = [event for event in flit.events if isinstance(event, ControlFields)]
                fields += [
                    field for event in controls for _, field in event.fields if isinstance(field, FieldOfRequest)
                ]
    # The first denied Request loads the entry by which all later Writes are compressed; nothing is loaded again.
    assert [n for n, field in enumerate(fields) if getattr(field, "cload", 0)] == [0]
    assert [type(field) for field in fields[DENIED::2]] == [CompressedRequest] * 30
