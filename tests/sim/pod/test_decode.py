"""The capture of a simulated pod, decoded: it tells again what the run's other files say."""

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace

import pytest

from support.capture_checks import DirectionCheck
from support.sim.dissector import assert_dissector_agrees
from support.sim.pod_fixtures import POD
from ualink_sim.beats import orig_data_beats, response_data, upli_request
from ualink_sim.capture.decode_cli import decode_lines, interface_decoder
from ualink_sim.capture.pcapng import CapturedFlit, read_capture
from ualink_sim.capture.transactions import CapturedTransaction, TransactionTracker
from ualink_sim.model.decode import DecodedFlit, FlitState
from ualink_sim.model.tl.fields import CompressedRequest, Response, UncompressedRequest
from ualink_sim.model.tl.reassembly import ReceivedRequest
from ualink_sim.model.tl.sequence import ControlFields
from ualink_sim.model.upli.transactions import RdRspBeat, Status
from ualink_sim.pod.workload import build_requests

pytestmark = POD


@dataclass
class Decoded:
    """Flits by interface, Requests by transmitting tap and transactions of a capture, all in their order."""

    flits: dict[str, list[tuple[CapturedFlit, DecodedFlit]]] = field(default_factory=lambda: defaultdict(list))
    requests: dict[str, list[ReceivedRequest]] = field(default_factory=lambda: defaultdict(list))
    transactions: list[CapturedTransaction] = field(default_factory=list)
    unanswered: list[CapturedTransaction] = field(default_factory=list)


def decode(packets):
    decoded, decoders, tracker = Decoded(), {}, TransactionTracker()
    for packet in packets:
        name = packet.interface
        if name not in decoders:
            decoders[name] = interface_decoder(packet)
        flit = decoders[name].feed(packet.flit, packet.lost)
        decoded.flits[name].append((packet, flit))
        received = [item for tl_flit in flit.tl_flits for item in tl_flit.received]
        decoded.requests[name] += [item for item in received if isinstance(item, ReceivedRequest)]
        decoded.transactions += tracker.see(packet, flit)
    decoded.unanswered = tracker.unanswered()
    return decoded


@pytest.fixture(scope="module", params=["pod_run", "rs_run"], ids=["data links", "reconciliation sublayers"])
def run(request):
    """The same scenario over links of either kind, of four and of two accelerators."""
    return request.getfixturevalue(request.param)


ONE_KIND = pytest.mark.parametrize("run", ["pod_run"], indirect=True, scope="module", ids=["data links"])
"""What is known of the tools and of the switch whatever the links are."""


@pytest.fixture(scope="module")
def packets(run):
    return list(read_capture(run.folder / "capture.pcapng"))


@pytest.fixture(scope="module")
def decoded(packets):
    return decode(packets)


@pytest.fixture(scope="module")
def asked(run):
    """The run's requests by source and destination, in order."""
    groups = defaultdict(list)
    for request in build_requests(run.results.scenario):
        groups[request.src, request.dst].append(request)
    return groups


def request_groups(decoded, side):
    """Requests on the links of accelerators (``side`` acc) or of the switch (sw), by source and destination."""
    groups = defaultdict(list)
    for name, requests in decoded.requests.items():
        if name.startswith(side) and name.endswith("/tx"):
            for item in requests:
                groups[item.request.src_phys_acc_id, item.request.dst_phys_acc_id].append(item)
    return groups


@pytest.mark.req(
    *("TL-026", "TL-027", "TL-028", "TL-030", "TL-032", "TL-033", "TL-034", "TL-035", "TL-036", "TL-038", "TL-040"),
    *("TL-042", "TL-101", "TL-104", "TL-172", "TL-174", "DL-009", "DL-011", "DL-018", "DL-023", "DL-025", "SW-026"),
)
@pytest.mark.parametrize("side", ["acc", "sw"])
def test_requests_cross_both_links_whole_and_in_order(decoded, asked, side):
    groups = request_groups(decoded, side)
    assert groups.keys() == asked.keys()
    for pair, requests in asked.items():
        assert [replace(item.request, tag=0) for item in groups[pair]] == [upli_request(r) for r in requests]
        assert [list(item.beats) for item in groups[pair]] == [orig_data_beats(r) for r in requests]


@ONE_KIND
@pytest.mark.req("SW-010", "SW-011")
def test_items_of_a_tl_flit_part_and_meet_in_the_switch(decoded):
    """TL flits with Requests or with Responses to several accelerators come in, which leave by as many ports, and TL
    flits with Requests or with Responses of several accelerators go out; that all arrive is shown above."""

    def mixed(side, member, kind):
        """TL flits of the transmitters of ``side`` with fields of ``kind`` that differ in ``member``."""
        count = 0
        for name, flits in decoded.flits.items():
            if name.startswith(side) and name.endswith("/tx"):
                for tl_flit in (tl_flit for _, flit in flits for tl_flit in flit.tl_flits):
                    for event in tl_flit.events or ():
                        fields = [f for _, f in event.fields] if isinstance(event, ControlFields) else []
                        count += len({getattr(f, member) for f in fields if isinstance(f, kind)}) > 1
        return count

    assert mixed("acc", "dst_acc_id", (UncompressedRequest, CompressedRequest))
    assert mixed("acc", "dst_acc_id", Response)
    assert mixed("sw", "src_acc_id", (UncompressedRequest, CompressedRequest))


@pytest.mark.req("TL-037", "TL-176", "TL-182", "SW-026")
@pytest.mark.parametrize("side", ["acc", "sw"])
def test_responses_are_those_of_the_run(decoded, asked, run, side):
    assert not decoded.unanswered
    line_of = {}
    for pair, items in request_groups(decoded, side).items():
        line_of |= {id(item.request): request for item, request in zip(items, asked[pair])}
    rows = {row["line"]: row for row in run.responses}
    for transaction in decoded.transactions:
        if not transaction.interface.startswith(side):
            continue
        request = line_of.pop(id(transaction.request))
        row = rows.pop(request.line)
        assert (Status(transaction.status).name, request.op, request.src, request.dst) == (
            *(row["status"], row["op"], row["src"], row["dst"]),
        )
        data = transaction.received
        beats = [RdRspBeat(tag=0, data=data[n : n + 64], offset=n // 64) for n in range(0, len(data), 64)]
        assert (response_data(request, beats).hex() if beats else None) == row.get("data")
    assert not rows and not line_of


@pytest.mark.req("DL-033", "DL-034", "DL-035", "DL-132", "DL-133", "DL-134", "DL-143", "TL-014", "TL-045", "TL-171")
@pytest.mark.req("DL-131", "DL-140", "DL-141")
def test_transmitters_break_no_rule_and_receivers_get_what_they_send(decoded):
    replays = 0
    for name, flits in decoded.flits.items():
        if name.endswith("/tx"):
            check = DirectionCheck()
            for _, flit in flits:
                check.send(flit)
            for _, flit in decoded.flits[f"{name[:-2]}rx"]:
                check.receive(flit)
            # What is on the wire when the run ends never arrives.
            assert check.received > 9 * check.in_flight, name
            assert not check.transmitter.restarts
            replays += check.transmitter.replays
    assert replays > 0


def test_flit_counts_are_those_of_the_summary(decoded, run):
    for link in run.summary["links"]:
        counted = [flit for _, flit in decoded.flits[f"{link['name']}/tx"]]
        assert len(counted) == link["flits"]
        assert sum(flit.header.payload for flit in counted) == link["payload_flits"]
        arrived = [flit.state is FlitState.BAD_CRC for _, flit in decoded.flits[f"{link['name']}/rx"]]
        # The run may end before the receiver has counted the last flit.
        assert link["crc_errors"] in (sum(arrived), sum(arrived[:-1]))


@ONE_KIND
@pytest.mark.parametrize("fraction", [0.3, 0.5])
def test_from_the_middle_on_nothing_is_decoded_wrongly(decoded, packets, fraction):
    whole = {(t.interface, t.request.src_phys_acc_id, t.request.tag, t.responded_ps): t for t in decoded.transactions}
    late = decode(packets[int(fraction * len(packets)) :])
    # On a busy link it takes a while until a half flit shows where fields begin.
    assert len(late.transactions) > 0.3 * (1 - fraction) * len(whole)
    missed, heard = {}, {}
    for found in late.transactions:
        key = found.interface, found.request.src_phys_acc_id, found.request.tag, found.responded_ps
        # Of a Compressed Request only the place in its region is told, as the region was loaded before; here it is 0.
        same = whole[key]
        # A Request that left while nothing was known yet is seen when it is replayed.
        assert found.requested_ps >= same.requested_ps
        sent = missed if found.requested_ps > same.requested_ps else heard
        sent.setdefault(key[:2], []).append(same.requested_ps)
        assert replace(found, address_known=True, requested_ps=same.requested_ps) == same
    assert all(max(missed[direction]) < min(heard[direction]) for direction in missed.keys() & heard.keys())
    assert sum(map(len, missed.values())) < 0.05 * len(late.transactions)
    assert {found.address_known for found in late.transactions} == {False, True}
    for flits in late.flits.values():
        assert sum("in step" in note for _, flit in flits for note in flit.notes) <= 2
        assert not any(flit.problems for _, flit in flits if flit.state is not FlitState.BAD_CRC)


@ONE_KIND
def test_the_command_prints_every_flit_and_both_halves_of_every_journey(run, packets):
    path = run.folder / "capture.pcapng"
    rows = [json.loads(line) for line in decode_lines(path, as_json=True)]
    kinds = [row["type"] for row in rows]
    assert kinds.count("flit") == len(packets)
    ends = [row["interface"][:2] for row in rows if row["type"] == "transaction"]
    assert ends.count("ac") == ends.count("sw") == run.summary["transactions"]
    text = list(decode_lines(path))
    assert sum(line.lstrip().startswith("= ") for line in text) == kinds.count("transaction")


@ONE_KIND
def test_the_dissector_reads_it_alike(run, tmp_path):
    assert_dissector_agrees(run.folder / "capture.pcapng", tmp_path)
