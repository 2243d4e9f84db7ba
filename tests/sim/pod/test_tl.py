"""One compiled pod with and without compression and authentication: what each costs, and where the tags go."""

from collections import defaultdict

import pytest

from support.sim.dissector import assert_dissector_agrees
from support.sim.pod_fixtures import POD, run_scenario
from ualink_sim.capture.decode_cli import decoded_rows, interface_decoder
from ualink_sim.capture.pcapng import read_capture
from ualink_sim.model.decode import FlitState
from ualink_sim.model.tl.reassembly import ReceivedRequest
from ualink_sim.report.windows import ALL_BUSY

pytestmark = POD

SETTINGS = {
    "compressed": "",
    "authenticated": "authentication = true",
    "uncompressed": "compression = false",
}
SATURATED = """
[pod]
accelerators = 4
[tl]
{settings}
[[workload]]
kind = "neighbour"
transactions = {transactions}
sizes = [256]
mix = {{ {op} = 1.0 }}
outstanding = {outstanding}
"""
MIXED = """
[pod]
accelerators = 4
[link]
bit_error_rate = 1e-5
seed = 3
[tl]
{settings}
[[workload]]
kind = "uniform"
transactions = 250
outstanding = 48
mix = {{ read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }}
sizes = [4, 20, 64, 100, 128, 192, 256]
seed = 4
"""


@pytest.fixture(scope="module", params=["authenticated", "uncompressed"])
def mixed(request, tmp_path_factory):
    """Every kind of request over noisy links, and the setting of the run."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, run_scenario(folder, MIXED.format(settings=SETTINGS[request.param]))


@pytest.fixture(scope="module")
def received(mixed):
    """Requests and Responses of each tap of the run, in order, and what is wrong with the flits at transmitters."""
    decoders, items, problems = {}, defaultdict(list), []
    for packet in read_capture(mixed[1].folder / "capture.pcapng"):
        name = packet.interface
        if name not in decoders:
            decoders[name] = interface_decoder(packet)
        flit = decoders[name].feed(packet.flit, packet.lost)
        if flit.state is not FlitState.BAD_CRC:
            problems += flit.problems
        items[name] += [item for tl_flit in flit.tl_flits for item in tl_flit.received]
    return items, problems


def tags(items, kind, side):
    """Authentication tags by source, destination and tag of the transfer, in order, at the transmitters of ``side``."""
    found = defaultdict(list)
    for name, seen in items.items():
        if name.startswith(side) and name.endswith("/tx"):
            for item in seen:
                if isinstance(item, ReceivedRequest) == (kind == "requests"):
                    head = item.request if kind == "requests" else getattr(item, "beat", None) or item.beats[0]
                    found[head.src_phys_acc_id, head.dst_phys_acc_id, head.tag].append(head.auth_tag)
    return found


@pytest.mark.req("TL-213")
def test_every_byte_and_every_tag_matches(mixed):
    _, run = mixed
    assert run.results.passed, [t for t in run.results.transactions if t.mismatch or t.completed is None][:3]
    assert sum(link["replays"] for link in run.summary["links"]) > 0


@pytest.mark.req("TL-046", "TL-047", "TL-048", "TL-049", "TL-050", "TL-052", "SW-069", "SW-073", "SW-074", "SW-075")
@pytest.mark.parametrize("kind", ["requests", "responses"])
def test_tags_cross_the_switch_with_what_they_belong_to(mixed, received, kind):
    setting, run = mixed
    items, problems = received
    assert not problems
    from_accelerators, from_switch = (tags(items, kind, side) for side in ("acc", "sw"))
    assert from_accelerators == from_switch
    drawn = [tag for found in from_accelerators.values() for tag in found]
    assert len(drawn) == len(run.results.transactions)
    if setting == "authenticated":
        assert len(set(drawn)) == len(drawn) and all(drawn) and max(drawn) >> 60
    else:
        assert not any(drawn)


def test_only_what_is_not_compressed_is_on_uncompressed_links(mixed):
    setting, run = mixed
    halves = [
        half
        for row in decoded_rows(run.folder / "capture.pcapng")
        for flit in row.get("tl_flits", ())
        for half in flit["half_flits"]
    ]
    fields = {control["field"] for half in halves if half["kind"] == "control" for control in half["fields"]}
    assert {"FlowControl", "UncompressedRequest"} <= fields
    assert any(name.startswith("Compressed") for name in fields) == (setting != "uncompressed")
    assert any(half["kind"] == "tags" for half in halves) == (setting == "authenticated")


def test_the_dissector_reads_it_alike(mixed, tmp_path):
    assert_dissector_agrees(mixed[1].folder / "capture.pcapng", tmp_path)


@pytest.mark.parametrize(
    ("op", "setting", "efficiency"),
    [
        pytest.param("write_full", "uncompressed", 8 / 9, marks=pytest.mark.req("TL-068"), id="Table 5-15"),
        pytest.param("write_full", "compressed", 20 / 21, marks=pytest.mark.req("TL-071"), id="Table 5-18"),
        pytest.param("write_full", "authenticated", 8 / 9, marks=pytest.mark.req("TL-072"), id="Table 5-19"),
        pytest.param("read", "compressed", 20 / 21, marks=pytest.mark.req("TL-073"), id="Table 5-20"),
        pytest.param("read", "authenticated", 8 / 9, marks=pytest.mark.req("TL-074"), id="Table 5-21"),
    ],
)
def test_saturated_wires_carry_as_much_data_as_the_standard_says(tmp_path, op, setting, efficiency):
    """All DL flits have payload, and 157 of their 160 sectors are TL flits, ``efficiency`` of which are data."""
    # Uncompressed Requests are too few in a short run, and fill the wires only when many are outstanding.
    transactions, outstanding = (3400, 128) if setting == "uncompressed" else (1800, 96)
    settings = {"settings": SETTINGS[setting], "transactions": transactions, "outstanding": outstanding}
    run = run_scenario(tmp_path, SATURATED.format(op=op, **settings))
    assert run.results.passed
    steady = run.results.steady_state
    assert steady.basis == ALL_BUSY
    # Towards accelerators data are counted when they have arrived, so that none stand in a queue.
    links = [link for link in run.results.links if link.name.startswith("sw")]
    busy = [b for link in links for b in link.buckets if steady.start <= b.start <= steady.end - b.cycles]
    assert sum(b.payload_flits for b in busy) == sum(b.flits for b in busy) > 0
    for link in run.summary["links"]:
        if link["name"].startswith("sw"):
            told = link["steady_state"]
            assert told["wire_efficiency"] == pytest.approx(efficiency * 157 / 160, abs=0.01)
            assert told["dl_utilisation"] == pytest.approx(157 / 160, abs=0.01)
            assert told["gbps"] == pytest.approx(800 * told["wire_efficiency"], rel=1e-3)
    share = run.summary["steady_state"]["gbps"] / 3200
    # Responses come in groups; in a span as short as this one a group more or less is some percent.
    assert share == pytest.approx(efficiency * 157 / 160, abs=0.04)
