"""Traces: what a line means, and one clear line for everything that is wrong with one."""

import json

import pytest

from ualink_sim.pod.scenario import ScenarioError
from ualink_sim.pod.trace import load_trace
from ualink_sim.request import Request, check, read_attr, read_byte_en

READ = {"src": 0, "dst": 1, "op": "read", "addr": "0x1000", "len": 64}
WRITE = {"src": 0, "dst": 1, "op": "write", "addr": "0x1000", "len": 8, "data": "0011223344556677"}
FULL = {"src": 1, "dst": 0, "op": "write_full", "addr": "0x1040", "len": 64, "data": "ab" * 64}
ADD = {"src": 0, "dst": 1, "op": "atomic", "addr": "0x1008", "len": 8, "data": "0011223344556677", "attr": 0}


def load(tmp_path, *rows, **options):
    path = tmp_path / "trace.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return load_trace(path, 3, **options)


def test_lines_become_requests(tmp_path):
    read, write, full, add = load(tmp_path, READ, {**WRITE, "at": 100, "after": [1]}, "", FULL, ADD)
    assert read == Request(line=1, src=0, dst=1, op="read", addr=0x1000, len=64, byte_en=(1 << 64) - 1, attr=0xFF)
    assert (write.line, write.at, write.after) == (2, 100, (1,))
    assert (write.data, write.byte_en, write.attr) == (bytes.fromhex(WRITE["data"]), 0xFF, 0)
    assert (full.line, full.byte_en) == (4, (1 << 64) - 1)
    assert (add.cmd, add.attr, add.returns_data) == (0x30, 0, True)


def test_lines_count_on_after_an_earlier_workload(tmp_path):
    first, second = load(tmp_path, READ, {**READ, "after": [1]}, first_line=101, window=7)
    assert (first.line, second.line, second.after, second.window) == (101, 102, (101,), 7)


# UALink_200 Figures 2-12 to 2-16: address, ReqLen, ReqAttr and the lanes of the first beat that are wanted.
@pytest.mark.parametrize(
    ("addr", "req_len", "attr", "lanes"),
    [
        (0x000, 3, 0xFF, 0xFFFF),
        (0x034, 0, 0xF4, 0x0040000000000000),
        (0x038, 1, 0x7E, 0x7E00000000000000),
        (0x03C, 1, 0x3C, 0xC000000000000000),
        (0x00C, 60, 0x18, 0xFFFFFFFFFFFF8000),
    ],
)
@pytest.mark.req("UPLI-178")
def test_byte_enables_of_reads_are_those_of_the_standard(addr, req_len, attr, lanes):
    length = 4 * (req_len + 1)
    byte_en = read_byte_en(attr, length)
    assert byte_en << addr % 64 & (1 << 64) - 1 == lanes
    assert read_attr(byte_en, length) == attr


def test_attr_and_byte_en_of_reads_say_the_same(tmp_path):
    by_mask, by_attr, both = load(
        tmp_path,
        {**READ, "len": 8, "byte_en": "7e"},
        {**READ, "len": 8, "attr": 0x7E},
        {**READ, "len": 8, "attr": 0x7E, "byte_en": "007e"},
    )
    assert {(r.attr, r.byte_en) for r in (by_mask, by_attr, both)} == {(0x7E, 0x7E)}


def test_byte_enables_of_writes_are_free(tmp_path):
    none, sparse = load(tmp_path, {**WRITE, "byte_en": "0"}, {**WRITE, "byte_en": "a5", "attr": 3})
    assert (none.byte_en, sparse.byte_en, sparse.attr) == (0, 0xA5, 3)


CASES = [
    ("{", "not JSON: Expecting property name"),
    ("[1]", "must be one JSON object"),
    ('{"src": 0, "src": 1}', "src: is given twice"),
    ({**READ, "lenght": 4}, "lenght: unknown key; known are src, dst, op"),
    ({key: READ[key] for key in READ if key != "dst"}, "dst: is missing"),
    ({**READ, "src": 3}, "src: 3 is outside the pod of accelerators 0 to 2"),
    ({**READ, "dst": -1}, "dst: -1 is outside the pod"),
    ({**READ, "dst": "1"}, "dst: is '1'"),
    ({**READ, "op": "swap"}, "op: is 'swap'; it must be one of read, write, write_full, atomic, atomic_nr"),
    ({**READ, "op": ["read"]}, "op: is ['read']"),
    ({**READ, "addr": 4096}, 'addr: is 4096; it must be a string such as "0x1000"'),
    ({**READ, "addr": "1000"}, "addr: is '1000'"),
    ({**READ, "addr": "0x1002"}, "addr: 0x1002 is not a multiple of 4"),
    ({**READ, "addr": "0x200000000000000"}, "addr: 0x200000000000000 does not fit in 57 bits"),
    ({**READ, "addr": "0x10c4"}, "len: 64 bytes at 0x10c4 cross a boundary of 256 bytes"),
    ({**READ, "len": 0}, "len: is 0; it must be a whole number from 4 to 256"),
    ({**READ, "len": 260}, "len: is 260"),
    ({**READ, "len": 6}, "len: 6 is not a multiple of 4"),
    ({**READ, "len": 64.0}, "len: is 64.0"),
    ({**READ, "data": "00"}, "data: a read sends none"),
    ({**READ, "byte_en": "fffffffffffbffff"}, "byte_en: a read can leave out bytes of its first and last doubleword"),
    ({**READ, "byte_en": "1ffffffffffffffff"}, "byte_en: has bits beyond the 64 bytes"),
    ({**READ, "byte_en": "fg"}, "byte_en: must be a string of hex digits"),
    ({**READ, "len": 8, "byte_en": "7e", "attr": 255}, "attr: 255 says byte_en ff, but byte_en is 7e"),
    ({**READ, "attr": 256}, "attr: is 256"),
    ({**READ, "at": -1}, "at: is -1"),
    ({**READ, "after": [2]}, "after: 2 is not the line of an earlier request"),
    ({**READ, "after": [3]}, "after: 3 is not the line of an earlier request"),
    ({**READ, "after": 1}, "after: is 1; it must list earlier lines"),
    ({**WRITE, "data": "00"}, "data: holds 1 bytes; write of 8 bytes needs 8 bytes"),
    ({**WRITE, "data": "0"}, "data: has 1 hex digits"),
    ({**WRITE, "data": "zz"}, "data: must be a string of hex digits"),
    ({key: WRITE[key] for key in WRITE if key != "data"}, "data: is missing"),
    ({**FULL, "byte_en": "f"}, "byte_en: write_full enables every byte"),
    ({**FULL, "addr": "0x1020"}, "addr: 0x1020 is not a multiple of 64"),
    ({**FULL, "len": 32, "data": "ab" * 32}, "len: 32 is not a multiple of 64"),
    ({**ADD, "addr": "0x103c"}, "len: 8 bytes at 0x103c cross a boundary of 64 bytes"),
    ({**ADD, "addr": "0x1004", "attr": 4}, "addr: 0x1004 is not a multiple of the element of 8 bytes"),
    ({**ADD, "len": 4, "data": "00112233", "attr": 4}, "len: 4 is not a multiple of the element of 8 bytes"),
    ({**ADD, "byte_en": "f7"}, "byte_en: enables part of the element of 4 bytes at byte 0"),
]

CASES += [
    ('{"src": ' + "9" * 5000 + "}", "holds a number of more than 4300 digits"),
    (
        {**READ, "at": 10**4200},
        "at: is a number of about 4201 digits; the simulation ends at ",
    ),
    ({**READ, "at": 1_000_000_000}, "at: is 1000000000; the simulation ends at run.max_cycles = 1000000000"),
    ({**READ, "src": 10**4200}, "src: a number of about 4201 digits is outside the pod"),
    ({**READ, "len": -(10**4200)}, "len: is a number of about 4201 digits; it must be"),
    ({**READ, "after": [10**4200]}, "after: a number of about 4201 digits is not the line"),
    ({**READ, "addr": "0x" + "1" * 5000}, "addr: '0x11"),
    ({**READ, "byte_en": "1" * 5000, "attr": 255}, "attr: 255 says byte_en "),
    ({**READ, "k" * 5000: 1}, "'kkkk"),
    ("[" * 100_000, "not JSON: nested too deeply"),
    ('{"src": ' * 100_000, "not JSON: nested too deeply"),
    ("\ufeff" + json.dumps(READ), "not JSON: Unexpected UTF-8 BOM"),
    ("\u2028", "not JSON: Expecting value"),
    (json.dumps(READ) + "\u2028", "not JSON: Extra data"),
    ({**READ, "op": "re\u2028ad"}, "op: is 're\\u2028ad'"),
    (json.dumps({**READ, "op\u2028": 1}, ensure_ascii=False), "'op\\u2028': unknown key"),
    (json.dumps({**WRITE, "data": "00\u202811"}, ensure_ascii=False), "data: must be a string of hex digits"),
    ('{"\\ud800": 1}', "'\\ud800': unknown key"),
    ("{" + ", ".join(f'"k{n}": 1' for n in range(50_000)) + "}", "k0: unknown key"),
]


@pytest.mark.parametrize(("row", "reason"), CASES, ids=range(len(CASES)))
def test_one_line_names_file_line_key_and_reason(tmp_path, row, reason):
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, READ, "", row)
    assert str(caught.value).startswith(f"{tmp_path}/trace.jsonl:3: {reason}")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < len(str(tmp_path)) + 300
    str(caught.value).encode()


# UALink_200 §2.8, double-operand atomics: two operands of 32 bytes, 32-byte aligned, enables alike.
@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, None),
        ({"addr": 0xE0}, None),
        ({"addr": 0x10}, "addr"),
        ({"len": 32, "data": bytes(32), "byte_en": 0}, "len"),
        ({"byte_en": 0xFF}, "byte_en"),
        ({"byte_en": 0xFF_0000_00FF, "attr": 0x05}, None),
        ({"byte_en": 0x0F_0000_000F, "attr": 0x05}, "byte_en"),
    ],
)
def test_atomics_with_two_operands(changes, key):
    values = {"addr": 0x40, "len": 64, "data": bytes(64), "byte_en": (1 << 64) - 1, "attr": 0x01}
    fault = check(Request(line=1, src=0, dst=1, op="atomic", **{**values, **changes}))
    assert (fault and fault.key) == key


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_trace(tmp_path / "none.jsonl", 2)
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff")
    with pytest.raises(ScenarioError, match="is not UTF-8"):
        load_trace(tmp_path / "bytes.jsonl", 2)


def test_lines_end_with_line_feeds_alone(tmp_path):
    """What else Unicode calls a line end stands in a line, and the next line keeps its number."""
    path = tmp_path / "trace.jsonl"
    path.write_bytes(f"{json.dumps(READ)}\r\n\r\n{json.dumps(READ)}\r\n".encode())
    assert [request.line for request in load_trace(path, 2)] == [1, 3]
    for inside in "\x0b\x0c\x1c\x85\u2028\u2029":
        path.write_text(json.dumps({**READ, "op": inside}, ensure_ascii=False) + "\n", newline="\n")
        with pytest.raises(ScenarioError, match=r"trace\.jsonl:1: "):
            load_trace(path, 2)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\r\n"])
def test_a_trace_that_asks_for_nothing_is_refused(tmp_path, text):
    (tmp_path / "trace.jsonl").write_text(text)
    with pytest.raises(ScenarioError, match=r"trace\.jsonl:1: asks for nothing"):
        load_trace(tmp_path / "trace.jsonl", 2)


def test_a_byte_order_mark_is_named(tmp_path):
    (tmp_path / "trace.jsonl").write_text("\ufeff" + json.dumps(READ))
    with pytest.raises(ScenarioError, match=r"trace\.jsonl:1: begins with a byte order mark; save it as UTF-8 without"):
        load_trace(tmp_path / "trace.jsonl", 2)


def test_max_cycles_bounds_at(tmp_path):
    assert load(tmp_path, {**READ, "at": 10**12}, max_cycles=10**12 + 1)[0].at == 10**12
    with pytest.raises(ScenarioError, match=r"at: is 5; the simulation ends at run\.max_cycles = 5$"):
        load(tmp_path, {**READ, "at": 5}, max_cycles=5)


def test_the_handwritten_example_is_valid(root):
    requests = load_trace(root / "examples" / "handwritten.jsonl", 3)
    assert [request.line for request in requests] == list(range(1, 11))
    assert {request.op for request in requests} == {"read", "write", "write_full", "atomic", "atomic_nr"}


def test_attr_0_leaves_the_byte_enables_of_a_read_to_byte_en(tmp_path):
    rows = [
        {"src": 0, "dst": 1, "op": "read", "addr": "0x1000", "len": 12, "attr": 0, "data": ""},
        {"src": 0, "dst": 1, "op": "read", "addr": "0x1000", "len": 12, "attr": 0, "byte_en": "0x7fe"},
        {"src": 0, "dst": 1, "op": "atomic", "addr": "0x1000", "len": 4, "data": "01000000"},
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole, masked, add = load_trace(path, 2)
    assert (whole.attr, whole.byte_en) == (0xFF, 0xFFF)
    assert (masked.attr, masked.byte_en) == (0x7E, 0x7FE)
    assert (add.attr, add.byte_en) == (0x00, 0xF)
