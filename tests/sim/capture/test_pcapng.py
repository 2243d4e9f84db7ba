"""Captures: what is written is read back, by us and by tshark; foreign and damaged files are refused in one line."""

import io
import re
import shutil
import struct
import subprocess

import pytest

from ualink_sim.capture.decode_cli import lua_dissector
from ualink_sim.capture.pcapng import CaptureError, CaptureWriter, read_capture

NAMES = ["acc0.0>sw0.0/tx", "acc0.0>sw0.0/rx", "sw0.0>acc0.0/tx"]


def flit(n):
    return bytes((n + i) % 256 for i in range(640))


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "capture.pcapng"
    with path.open("wb") as stream:
        writer = CaptureWriter(stream, NAMES, 1562.5)
        for n in range(6):
            writer.write(n % 3, 10 * n, flit(n))
    return path


def test_round_trip(capture):
    flits = list(read_capture(capture))
    assert [f.number for f in flits] == [1, 2, 3, 4, 5, 6]
    assert [f.interface for f in flits] == NAMES * 2
    assert [f.time_ps for f in flits] == [6400 * n for n in range(6)]
    assert [f.flit for f in flits] == [flit(n) for n in range(6)]


@pytest.mark.parametrize("authentication", [False, True])
def test_interfaces_say_whether_they_have_authentication(tmp_path, authentication):
    path = tmp_path / "tags.pcapng"
    with path.open("wb") as stream:
        CaptureWriter(stream, NAMES, 1562.5, authentication).write(1, 0, flit(0))
    assert next(read_capture(path)).authentication is authentication
    if shutil.which("tshark"):
        command = ["tshark", "-r", path, "-T", "fields", "-e", "frame.interface_description"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.stdout.splitlines() == ["authentication" if authentication else ""]


def test_late_times_and_odd_clocks_keep_their_picoseconds(tmp_path):
    path = tmp_path / "late.pcapng"
    with path.open("wb") as stream:
        writer = CaptureWriter(stream, NAMES, 156.25)
        writer.write(0, 10**9, flit(0))
    assert next(read_capture(path)).time_ps == 10**9 * 6400


def test_tap_gathers_beats_in_wire_order_and_leaves_control_out(tmp_path):
    path = tmp_path / "tap.pcapng"
    beats = [int.from_bytes(flit(7)[64 * b : 64 * b + 64], "little") for b in range(10)]
    with path.open("wb") as stream:
        tap = CaptureWriter(stream, NAMES, 1000).tap(NAMES[2])
        tap.beat(3, beats[9], False, True)
        for start, data_flit in ((100, False), (110, True), (120, True)):
            for b, beat in enumerate(beats):
                tap.beat(start + b, beat, b == 0, b == 9, data_flit)
            if not data_flit:
                tap.lose()
                tap.lose()
    first, second = read_capture(path)
    assert first == (1, NAMES[2], 110_000, flit(7), 2, False)
    assert second == (2, NAMES[2], 120_000, flit(7), 0, False)
    if shutil.which("tshark"):
        run = subprocess.run(
            ["tshark", "-r", path, "-T", "fields", "-e", "frame.drop_count"], capture_output=True, text=True
        )
        assert run.stdout.splitlines() == ["2", ""]


def test_tshark_reads_it(capture):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    fields = ["frame.interface_name", "frame.time_epoch", "frame.len", "frame.encap_type"]
    arguments = [part for field in fields for part in ("-e", field)]
    run = subprocess.run(["tshark", "-r", capture, "-T", "fields", *arguments], capture_output=True, text=True)
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    assert [row[0] for row in rows] == NAMES * 2
    assert [row[2] for row in rows] == ["640"] * 6
    assert len({row[3] for row in rows}) == 1


def test_wireshark_columns_show_sender_and_receiver(capture, tmp_path):
    columns = 'gui.column.format:"Source","%s","Destination","%d","Info","%i"'
    script = tmp_path / "ualink.lua"
    script.write_text(lua_dissector())
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-X", f"lua_script:{script}", "-r", capture, "-o", columns, "-T", "tabs"]
    run = subprocess.run(command, capture_output=True, text=True)
    rows = [[word.strip() for word in re.split("\t|→", line) if word.strip()] for line in run.stdout.splitlines()]
    assert [row[:2] for row in rows] == [name.split("/")[0].split(">") for name in NAMES * 2]
    assert [row[2].split()[-1] for row in rows] == [name.split("/")[1] for name in NAMES * 2]


def test_every_cut_is_noticed(capture, tmp_path):
    raw = capture.read_bytes()
    head = len(raw) - 6 * 672
    whole = {head + 672 * n for n in range(7)}
    cut = tmp_path / "cut.pcapng"
    for length in [*range(head + 60), *range(head + 600, head + 700), *range(len(raw) - 20, len(raw) + 1)]:
        if length not in whole and length not in _block_ends(raw):
            cut.write_bytes(raw[:length])
            with pytest.raises(CaptureError, match=r"cut\.pcapng: is (cut off|not a pcapng)[^\n]*$"):
                list(read_capture(cut))


def _block_ends(raw):
    ends, offset = set(), 0
    while offset < len(raw):
        offset += struct.unpack_from("<I", raw, offset + 4)[0]
        ends.add(offset)
    return ends


def foreign(link_type, packet):
    from pcapng import FileWriter
    from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader

    stream = io.BytesIO()
    section = SectionHeader(options={})
    section.new_member(InterfaceDescription, link_type=link_type, options={})
    writer = FileWriter(stream, section)
    writer.write_block(
        section.new_member(
            EnhancedPacket, interface_id=0, packet_data=packet, timestamp_high=0, timestamp_low=0, options={}
        )
    )
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not a pcapng capture"),
        (b"hello\n" * 100, "is not a pcapng capture"),
        (b"\xd4\xc3\xb2\xa1" + bytes(200), "is not a pcapng capture"),
        (foreign(1, bytes(640)), "link type 1; DL flits have 147"),
        (foreign(147, bytes(64)), "packet 1 has 64 bytes; a DL flit has 640"),
    ],
)
def test_foreign_files_are_refused_in_one_line(tmp_path, content, reason):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(CaptureError) as caught:
        list(read_capture(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_lengths_are_refused(capture):
    raw = bytearray(capture.read_bytes())
    raw[-1] ^= 0x40
    capture.write_bytes(raw)
    with pytest.raises(CaptureError, match="is damaged after packet 5"):
        list(read_capture(capture))


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(CaptureError, match="cannot be read"):
        list(read_capture(tmp_path / "none.pcapng"))
