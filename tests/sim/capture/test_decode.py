"""Decoded captures: what went in comes out, through replays, errors and damage; the Wireshark dissector agrees."""

import json
import random

import pytest

from support.sim.dissector import assert_dissector_agrees, joined, tshark
from ualink_sim.capture.decode_cli import decode_lines, decoded_rows
from ualink_sim.capture.pcapng import CaptureWriter, read_capture
from ualink_sim.model.dl.flit import DLFlit
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.packing import Packer
from ualink_sim.model.dl.sequence import next_seq
from ualink_sim.model.tl.byte_enables import encode_byte_enables
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.sequence import Issue, TransmitSequence, message_half_flit

UP, DOWN = "acc0.0>sw0.0", "sw0.0>acc0.0"
NAMES = [f"{UP}/tx", f"{UP}/rx", f"{DOWN}/tx", f"{DOWN}/rx"]
DL_MESSAGES = [0x7A120100, 0x80050140, 0x00480120, 0x08000004, 0xDEADBEEF, 0x12345678, 0x00000044]


class Direction:
    """A transmitter that turns issues into flits and knows what a decoder must find in them; ``tags`` are the
    authentication tags that it gave its fields, in order."""

    def __init__(self, rng, authentication=False):
        self.rng = rng
        self.sequence, self.packer = TransmitSequence(authentication), Packer()
        self.tags = []
        self.seq, self.flits = 511, []
        self.issues, self.messages, self.dl_messages = [], [], []

    def issue(self, field, **more):
        beats = field.data_beats()
        enables = encode_byte_enables(0, [(1 << 64) - 1] * beats) if field.has_byte_enables() else b""
        self.issues.append(Issue(0, field, self.rng.randbytes(64 * beats), enables, **more))

    def tl_flit(self):
        rng = self.rng
        issues, sector, tagged = [], 0, 0
        while self.sequence.control_slot and self.issues and rng.random() < 0.8:
            size = self.issues[0].field.sectors
            sector = -(-sector // size) * size
            with_tag = self.sequence.authentication and not isinstance(self.issues[0].field, FlowControl)
            if sector + size > 8 or (with_tag and (tagged == 4 or self.sequence.swap)):
                break
            issue = self.issues.pop(0)
            if with_tag:
                tagged += 1
                self.tags.append(rng.getrandbits(64))
            tag = self.tags[-1] if with_tag else 0
            issues.append(Issue(sector, issue.field, issue.data, issue.byte_enables, issue.poisoned, tag))
            sector += size
        lower = message_half_flit(0) if not issues and rng.random() < 0.1 else None
        upper = message_half_flit(0, b"\1") if not tagged and rng.random() < 0.1 else None
        return self.sequence.send(issues, lower, upper)

    def dl_message(self):
        """A message now and then; the dwords of a UART transport in consecutive segments (UALink_200 §6.4.1.2)."""
        in_transport = len(self.dl_messages) in (len(DL_MESSAGES) - 4, len(DL_MESSAGES) - 5)
        if not self.dl_messages or (not in_transport and self.rng.random() < 0.6):
            return None
        return self.dl_messages.pop(0)

    def payload(self):
        ticks = [self.tl_flit() if self.rng.random() < 0.8 else None for _ in range(10)]
        messages = [self.dl_message() for _ in range(5)]
        packed = self.packer.pack(ticks, messages)
        # The random stimulus always finds room on both ticks, or the flit goes into the next one.
        for tick, accepted in zip(ticks, packed.accepted):
            assert tick is None or accepted
        self.seq = next_seq(self.seq)
        self.flits.append((packed, self.seq))
        return packed, self.seq

    def done(self):
        return not self.issues and not self.sequence.owed and not self.dl_messages


def header(rng, seq, replay="", first=False):
    if first or replay == "first" or rng.random() < 0.3:
        return ExplicitHeader(True, bool(replay), seq)
    return CommandHeader(True, rng.random() < 0.1, rng.randrange(1, 512), seq & 7)


def traffic(path, seed=1, errors=True, authentication=False, described=True, tags=None):
    """A capture of both directions with requests, responses, messages, NOP flits, errors and replays.

    With ``authentication`` it says so if it is ``described``; ``tags`` takes those of each direction."""
    rng = random.Random(seed)
    up, down = Direction(rng, authentication), Direction(rng, authentication)
    asked = []
    for tag in range(40):
        cmd, beats, length = rng.choice([(0x03, 0, 64), (0x28, 2, 32), (0x29, 4, 64), (0x30, 1, 2), (0x32, 1, 2)])
        if tag == 7:
            cmd, beats, length = 0x28, 2, 32
        request = UncompressedRequest(
            cmd=cmd,
            tag=tag,
            attr=0x55,
            len=length - 1,
            addr=rng.getrandbits(55) & ~0x3F,
            src_acc_id=0,
            dst_acc_id=1 + tag % 3,
            num_beats=max(beats - 1, 0),
            cload=1,
        )
        up.issue(request, poisoned=frozenset({0}) if tag == 7 else frozenset())
        asked.append(request)
    up.issue(CompressedRequest(cmd=0, tag=100, len=3, addr=0x40, src_acc_id=0, dst_acc_id=2))
    up.issue(FlowControl(req_cmd=Credit(5), rsp_cmd=Credit(7, 2), req_data=Credit(20), rsp_data=Credit(31, 3)))
    for request in asked[:-1]:
        common = {"tag": request.tag, "dst_acc_id": 0, "pool": 1}
        if request.cmd in (0x28, 0x29, 0x32):
            down.issue(CompressedResponse(**common))
        elif request.cmd == 0x30:
            down.issue(CompressedReadResponse(**common, last=1))
        else:
            full = UncompressedResponse(**common, len=3, rd_wr=1, last=1, status=3, src_acc_id=1)
            down.issue(rng.choice([CompressedResponse(**common, len=3, rd_wr=1), full]))
    up.dl_messages = list(DL_MESSAGES)
    with path.open("wb") as stream:
        writer = CaptureWriter(stream, NAMES, 1562.5, authentication and described)
        cycle = 0
        for tx, direction in ((0, up), (2, down)):
            first = True
            for _ in range(10):
                nop = direction.packer.nop().flit(CommandHeader(False, False, 511, 7).encode()).encode()
                writer.write(tx, cycle, nop)
                writer.write(tx + 1, cycle + 40, nop)
                cycle += 10
            while first or not direction.done():
                packed, seq = direction.payload()
                sent = [(packed, seq, header(rng, seq, first=first))]
                first = False
                hurt = errors and rng.random() < 0.15
                if hurt:
                    replay = direction.flits[-3:]
                    sent += [
                        (old, n, header(rng, n, "more" if index else "first")) for index, (old, n) in enumerate(replay)
                    ]
                for index, (body, _, head) in enumerate(sent):
                    flit = body.flit(head.encode()).encode()
                    writer.write(tx, cycle, flit)
                    if hurt and index == 0:
                        position = rng.randrange(640)
                        flit = flit[:position] + bytes([flit[position] ^ 1 << rng.randrange(8)]) + flit[position + 1 :]
                    writer.write(tx + 1, cycle + 40, flit)
                    cycle += 10
                if rng.random() < 0.3:
                    nop = direction.packer.nop().flit(ExplicitHeader(False, False, seq).encode()).encode()
                    writer.write(tx, cycle, nop)
                    writer.write(tx + 1, cycle + 40, nop)
                    cycle += 10
    if tags is not None:
        tags |= {UP: up.tags, DOWN: down.tags}
    return asked


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("decode") / "capture.pcapng"
    return path, traffic(path), list(decoded_rows(path))


def controls(rows, interface):
    for row in rows:
        if row["type"] == "flit" and row["interface"] == interface:
            for flit in row["tl_flits"]:
                for half in flit["half_flits"]:
                    if half["kind"] == "control":
                        yield from half["fields"]


def test_both_taps_of_a_link_show_the_same_requests_once(capture):
    _, asked, rows = capture
    for tap in ("tx", "rx"):
        found = [control for control in controls(rows, f"{UP}/{tap}") if control["field"] == "UncompressedRequest"]
        assert [control["tag"] for control in found] == [request.tag for request in asked]
        assert [control["addr"] for control in found] == [request.addr for request in asked]
    assert any(not row["crc_ok"] for row in rows if row["type"] == "flit" and row["interface"].endswith("rx"))
    assert not any(
        half["kind"] == "error" for row in rows for flit in row.get("tl_flits", ()) for half in flit["half_flits"]
    )


def test_messages_are_named_once_and_uart_payload_is_told_apart(capture):
    _, _, rows = capture
    names = [m["name"] for row in rows if row.get("interface") == f"{UP}/tx" for m in row.get("messages", ())]
    assert names == [
        "TL Rate Notification request, 1562500 kHz",
        "Device ID request, switch 5",
        "Channel negotiation request, target channel 0 online, response channel 0 offline",
        "UART Stream Transport, stream 0, 2 dwords follow",
        "UART payload",
        "UART payload",
        "UART Stream Credit Update, stream 0, DataFCSeq 0",
    ]


def test_transactions_are_complete_and_in_their_own_direction(capture):
    _, asked, rows = capture
    found = {row["tag"]: row for row in rows if row["type"] == "transaction"}
    assert sorted(found) == [*range(40), 100]
    for request in asked[:-1]:
        row = found[request.tag]
        assert row["status"] in ("OKAY", "DECODE_ERROR")
        assert (row["src"], row["dst"], row["addr"]) == (0, request.dst_acc_id, f"{request.byte_address:#x}")
        assert len(row["sent"]) == 128 * request.data_beats()
        assert len(row["received"]) == 128 * {0x03: 4, 0x30: 1}.get(request.cmd, 0)
        assert row["poisoned"] == (request.tag == 7)
    assert found[39]["status"] is None
    assert found[100]["status"] is None


def test_text_and_json_lines(capture):
    path, _, rows = capture
    text = "\n".join(decode_lines(path))
    assert [json.loads(line) for line in decode_lines(path, as_json=True)] == json.loads(json.dumps(rows))
    for word in (
        "CRC BAD",
        "UncompressedRequest",
        "replay",
        "POISONED",
        "credits   req_cmd 5 pool",
        "byte en",
        "= read",
    ):
        assert word in text


def test_a_restarted_link_is_followed(tmp_path):
    path = tmp_path / "restart.pcapng"
    with path.open("wb") as stream:
        writer = CaptureWriter(stream, NAMES, 1562.5)
        for life in range(2):
            direction = Direction(random.Random(life))
            direction.issue(CompressedResponse(tag=life))
            for n in range(3):
                packed, seq = direction.payload()
                head = header(direction.rng, seq, first=n == 0)
                writer.write(0, 1000 * life + 10 * n, packed.flit(head.encode()).encode())
    rows = list(decoded_rows(path))
    assert [row["seq"] for row in rows] == [1, 2, 3, 1, 2, 3]
    assert all(row["new"] for row in rows if row["type"] == "flit")
    assert [row["notes"] for row in rows if row["notes"]] == [["the link restarted"]]
    assert [control["tag"] for control in controls(rows, f"{UP}/tx")] == [0, 1]


@pytest.mark.req("TL-047", "TL-048", "TL-049")
def test_tags_are_printed_where_a_capture_says_that_there_are_some(tmp_path):
    path, sent = tmp_path / "tags.pcapng", {}
    traffic(path, 5, authentication=True, tags=sent)
    rows = list(decoded_rows(path))
    for name in NAMES:
        flits = [flit for row in rows if row.get("interface") == name for flit in row.get("tl_flits", ())]
        halves = [half for flit in flits for half in flit["half_flits"] if half["kind"] == "tags"]
        expected = [f"{tag:016x}" for tag in sent[name.partition("/")[0]]]
        assert [tag for half in halves for tag in half["tags"]] == expected
        assert len(expected) >= 39
    assert not any(row["problems"] for row in rows if row["type"] == "flit" and row["crc_ok"])
    assert f"tags      {sent[UP][0]:016x}" in "\n".join(decode_lines(path))


def test_a_capture_without_the_description_is_decoded_without_tags(tmp_path):
    path = tmp_path / "bare.pcapng"
    traffic(path, 5, errors=False, authentication=True, described=False)
    rows = [row for row in decoded_rows(path) if row["type"] == "flit"]
    assert any(row["problems"] for row in rows)
    assert not any(half["kind"] == "tags" for row in rows for flit in row["tl_flits"] for half in flit["half_flits"])


@pytest.mark.parametrize("authentication", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_dissector_agrees_with_the_model(tmp_path, seed, authentication):
    path = tmp_path / "capture.pcapng"
    traffic(path, seed, authentication=authentication)
    assert_dissector_agrees(path, tmp_path)


def test_the_dissector_expects_tags_by_preference(tmp_path):
    described, bare = tmp_path / "described.pcapng", tmp_path / "bare.pcapng"
    for path in (described, bare):
        traffic(path, 6, authentication=True, described=path is described)
    assert_dissector_agrees(bare, tmp_path, alike=described, preferences=["ualink.authentication:TRUE"])


@pytest.mark.parametrize("authentication", [False, True])
@pytest.mark.parametrize("start", [25, 31])
def test_the_dissector_agrees_in_mid_stream_and_on_lost_flits(tmp_path, start, authentication):
    whole, late = tmp_path / "whole.pcapng", tmp_path / "late.pcapng"
    traffic(whole, 3, authentication=authentication)
    packets = list(read_capture(whole))[start:]
    rng = random.Random(start)
    with late.open("wb") as stream:
        writer = CaptureWriter(stream, NAMES, 1562.5, authentication)
        lost = dict.fromkeys(NAMES, 0)
        for packet in packets:
            if packet.interface.endswith("/rx") and rng.random() < 0.2:
                lost[packet.interface] += 1
                continue
            cycle = packet.time_ps // 640
            writer.write(NAMES.index(packet.interface), cycle, packet.flit, lost[packet.interface])
            lost[packet.interface] = 0
    notes = [note for row in decoded_rows(late) for note in row.get("notes", ())]
    for words in ("mid-stream", "in step from", "were lost", "are missing"):
        assert any(words in note for note in notes), words
    assert_dissector_agrees(late, tmp_path)


def test_flits_of_arbitrary_content_are_told_not_tripped_over(tmp_path):
    rng = random.Random(8)
    path = tmp_path / "noise.pcapng"
    with path.open("wb") as stream:
        writer = CaptureWriter(stream, NAMES, 1562.5)
        for n in range(150):
            sectors = [rng.getrandbits(32) if rng.random() < 0.3 else 0 for _ in range(157)]
            head = rng.getrandbits(24) if n % 3 else ExplicitHeader(True, False, n // 3 + 1).encode()
            flit = DLFlit([rng.getrandbits(8) for _ in range(5)], sectors, head)
            writer.write(n % 3 and 2, 10 * n, flit.encode())
    rows = [row for row in decoded_rows(path) if row["type"] == "flit"]
    assert any(row["problems"] for row in rows)
    assert "\n".join(decode_lines(path))
    seen = tshark(path, tmp_path, ["ualink.seq", "ualink.state", "ualink.message"])
    for row, line in zip(rows, seen):
        if not row["problems"]:
            assert line["ualink.seq"] == ("" if row["seq"] is None else str(row["seq"]))
        assert line["ualink.state"] == row["state"]
        assert line["ualink.message"] == joined(f"0x{message['dword']}" for message in row["messages"])
