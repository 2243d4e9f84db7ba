"""Control fields: golden encodings, footprints, round trips, compression conditions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ualink_sim.model.tl.byte_enables import decode_byte_enables, encode_byte_enables
from ualink_sim.model.tl.compression import (
    AddressCache,
    compress_request,
    compress_response,
    expand_request,
    expand_response,
    is_compressible,
)
from ualink_sim.model.tl.fields import (
    FIELD_TYPES,
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FieldError,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    decode_control_half_flit,
    encode_control_half_flit,
)

ADDRESS = 0x0123456789ABC00
V1 = UncompressedRequest(
    cmd=0x03,
    asi=1,
    tag=0x155,
    pool=1,
    attr=0xFF,
    len=0x3F,
    addr=ADDRESS >> 2,
    src_acc_id=0x005,
    dst_acc_id=0x01F,
    cload=1,
    cway=2,
)
V2 = UncompressedRequest(
    cmd=0x28, vchan=2, tag=0x7FF, len=0x0F, meta_data=0xA5, addr=0x10, src_acc_id=0x3FF, dst_acc_id=1
)
V3 = CompressedRequest(
    cmd=0b110, vchan=3, asi=1, tag=0x2AA, len=3, meta_data=5, addr=0x2AF0, src_acc_id=5, dst_acc_id=0x1F, cway=2
)
V4 = CompressedRequest(cmd=0b000, tag=1, pool=1, addr=0x2AF1, src_acc_id=5, dst_acc_id=0x1F, cway=2)
V5 = UncompressedResponse(vchan=1, tag=0x123, pool=1, len=3, rd_wr=1, last=1, src_acc_id=0x1F, dst_acc_id=5)
V6 = UncompressedResponse(tag=0x456, status=0b0010, src_acc_id=0x1F, dst_acc_id=5)
V7 = CompressedReadResponse(vchan=1, tag=0x123, pool=1, dst_acc_id=5, offset=2)
V8 = CompressedResponse(vchan=2, tag=0x456, dst_acc_id=5)
V9 = CompressedResponse(tag=0x7FF, pool=1, dst_acc_id=0x3FF, len=3, rd_wr=1)
V10 = FlowControl(req_cmd=Credit(5), rsp_cmd=Credit(7, 2), req_data=Credit(20), rsp_data=Credit(31, 3))
V11_LAST = CompressedRequest(cmd=0b110, tag=0x10, pool=1, len=3, addr=0x2AF0, src_acc_id=5, dst_acc_id=0x1F, cway=2)

VECTORS = {
    "V1": (V1, "10C4AAFFFF00091A2B3C4D5E000283F8"),
    "V2": (V2, "1A23FF800FA500000000000021FF8020"),
    "V3": (V3, "3DAAA9DABC00507E"),
    "V4": (V4, "3000060ABC40507E"),
    "V5": (V5, "2491F0307C050000"),
    "V6": (V6, "222B00807C050000"),
    "V7": (V7, "4491C058"),
    "V8": (V8, "5A2B0050"),
    "V9": (V9, "53FFFFFE"),
    "V10": (V10, "017714FF"),
    "V11 [1:0]": (V11_LAST, "3C00438ABC00507E"),
}


@pytest.mark.req(
    "TL-006", "TL-171", "TL-172", "TL-176", "TL-186", "TL-193", "TL-195", "TL-197", "TL-199", "TL-016", "TL-021"
)
@pytest.mark.parametrize("name", VECTORS)
def test_golden_vectors(name):
    field, text = VECTORS[name]
    assert f"{field.encode():0{8 * field.sectors}X}" == text
    assert type(field).decode(int(text, 16)) == field


@pytest.mark.req("TL-003", "TL-013", "TL-038")
def test_golden_half_flit():
    text = "3DAAA9DABC00507E3000060ABC40507E53FFFFFE5A2B00503C00438ABC00507E"
    fields = [(0, V11_LAST), (2, V8), (3, V9), (4, V4), (6, V3)]
    assert encode_control_half_flit(fields) == bytes.fromhex(text)[::-1]
    assert decode_control_half_flit(bytes.fromhex(text)[::-1]) == fields
    assert [field.half_flits() for _, field in fields] == [8, 0, 8, 0, 8]


def fields_of(kind):
    members = {name: st.integers(0, (1 << width) - 1) for name, width in kind.WIDTHS.items()}
    if kind is FlowControl:
        members = {
            name: st.builds(Credit, st.integers(0, (1 << bits) - 1), st.sampled_from([None, 0, 1, 2, 3]))
            for name, bits in kind.COUNT_BITS.items()
        }
    if kind is CompressedRequest:
        members |= {"cmd": st.sampled_from([0, 4, 6]), "addr": st.integers(0, 0xFFF).map(lambda a: a << 2)}
    return st.builds(kind, **members)


@st.composite
def half_flits(draw):
    fields, sector = [], 0
    while sector < 8:
        sizes = [n for n in (1, 2, 4) if sector % n == 0]
        kind = draw(st.sampled_from([k for k in FIELD_TYPES.values() if k.sectors in sizes]))
        field = draw(fields_of(kind))
        if field.encode():
            fields.append((sector, field))
        sector += field.sectors
    return fields


@pytest.mark.req("TL-006", "TL-008", "TL-009", "TL-010", "TL-011", "TL-012", "TL-013", "TL-171")
@given(half_flits())
def test_half_flit_round_trip(fields):
    assert decode_control_half_flit(encode_control_half_flit(fields)) == fields


@pytest.mark.req("TL-008", "TL-009", "TL-010", "TL-011", "TL-012")
@pytest.mark.parametrize("name", ["V2", "V4", "V5", "V7", "V8", "V10"])
def test_footprints(name):
    field = VECTORS[name][0]
    legal = {4: (0, 4), 2: (0, 2, 4, 6), 1: range(8)}[field.sectors]
    for sector in range(-1, 9):
        if sector in legal:
            half = encode_control_half_flit([(sector, field)])
            assert half == (field.encode() << 32 * sector).to_bytes(32, "little")
            assert decode_control_half_flit(half) == [(sector, field)]
            continue
        with pytest.raises(FieldError, match="cannot stand"):
            encode_control_half_flit([(sector, field)])
        if 0 < sector <= 8 - field.sectors:
            with pytest.raises(FieldError, match=r"cannot end|not legal"):
                decode_control_half_flit((field.encode() << 32 * sector).to_bytes(32, "little"))
    with pytest.raises(FieldError, match="overlap"):
        encode_control_half_flit([(0, field), (0, V7)])


@pytest.mark.req("TL-007", "TL-014", "TL-170")
def test_nop():
    assert FlowControl().encode() == 0
    assert encode_control_half_flit([]) == bytes(32)
    assert decode_control_half_flit(bytes(32)) == []


@pytest.mark.req("TL-171", "TL-220")
@pytest.mark.parametrize("ftype", range(6, 16))
def test_illegal_ftype(ftype):
    for sector in range(8):
        with pytest.raises(FieldError, match="not legal"):
            decode_control_half_flit((ftype << 28 + 32 * sector).to_bytes(32, "little"))


@pytest.mark.req("TL-187", "TL-190", "TL-220", "TL-226")
def test_illegal_compressed_requests():
    good = CompressedRequest(cmd=4, addr=0).encode()
    for cmd in (1, 2, 3, 5, 7):
        with pytest.raises(FieldError, match="reserved"):
            CompressedRequest.decode(good & ~(7 << 57) | cmd << 57)
    for addr in range(4):
        for length in range(4):
            field = CompressedRequest(len=length, addr=addr)
            half_flit = encode_control_half_flit([(2, field)], encryption=True)
            assert decode_control_half_flit(half_flit, encryption=True) == [(2, field)]
            assert field.crosses_block == (addr + length > 3)
            if field.crosses_block:
                with pytest.raises(FieldError, match="crosses"):
                    encode_control_half_flit([(2, field)])
                with pytest.raises(FieldError, match="crosses"):
                    decode_control_half_flit(half_flit)
            else:
                assert decode_control_half_flit(half_flit) == [(2, field)]


@pytest.mark.req("TL-222", "TL-178", "TL-179")
def test_spare_bits_are_ignored():
    assert UncompressedResponse.decode(V6.encode() | 0xFFFF) == V6
    assert CompressedReadResponse.decode(V7.encode() | 1) == V7
    assert CompressedResponse.decode(V8.encode() | 1) == V8


@pytest.mark.req("TL-152")
def test_credit_counts_that_do_not_fit():
    with pytest.raises(FieldError, match="8 credits"):
        FlowControl(req_cmd=Credit(8)).encode()
    with pytest.raises(FieldError, match="32 credits"):
        FlowControl(rsp_data=Credit(32)).encode()
    with pytest.raises(FieldError, match="VC 4"):
        FlowControl(rsp_data=Credit(1, 4)).encode()
    with pytest.raises(FieldError, match="11 bits"):
        CompressedResponse(tag=0x800)


@pytest.mark.req("TL-022", "TL-199")
def test_vv_of_a_pool_credit_is_ignored():
    assert FlowControl.decode(V10.encode() | 3 << 25).req_cmd == Credit(5)


HALF_FLITS = [
    (UncompressedRequest(cmd=0x03, num_beats=3), 0, 0),
    (UncompressedRequest(cmd=0x08, num_beats=3), 0, 0),
    (UncompressedRequest(cmd=0x28, num_beats=2), 7, 3),
    (UncompressedRequest(cmd=0x29, num_beats=3), 8, 4),
    (UncompressedRequest(cmd=0x2A, num_beats=0), 3, 1),
    (UncompressedRequest(cmd=0x2C, num_beats=1), 5, 2),
    (UncompressedRequest(cmd=0x30, num_beats=0), 3, 1),
    (UncompressedRequest(cmd=0x32, num_beats=0), 3, 1),
    (UncompressedRequest(cmd=0x3F, num_beats=3), 9, 4),
    (CompressedRequest(cmd=0, len=3), 0, 0),
    (CompressedRequest(cmd=4, len=3), 9, 4),
    (CompressedRequest(cmd=6, len=1), 4, 2),
    (UncompressedResponse(rd_wr=1, len=3), 8, 4),
    (UncompressedResponse(rd_wr=1, len=2, status=3), 6, 3),
    (UncompressedResponse(rd_wr=0, len=3), 0, 0),
    (CompressedReadResponse(offset=3), 2, 1),
    (CompressedResponse(rd_wr=1, len=3), 8, 4),
    (CompressedResponse(rd_wr=0), 0, 0),
    (FlowControl(req_cmd=Credit(1)), 0, 0),
]


@pytest.mark.req("TL-027", "TL-028", "TL-029", "TL-030", "TL-032", "TL-037", "TL-041", "TL-148", "TL-174", "TL-189")
@pytest.mark.parametrize(("field", "half_flits", "beats"), HALF_FLITS)
def test_owed_half_flits(field, half_flits, beats):
    assert field.half_flits() == half_flits
    assert field.data_beats() == beats
    if isinstance(field, UncompressedRequest) and field.cmd == 0x2A:
        assert field.half_flits(uwm_has_byte_enables=False) == half_flits - 1


@pytest.mark.req("TL-031", "TL-036")
def test_byte_enable_image():
    image = encode_byte_enables(128, [0xFF00FF00FF00FF00])
    assert image == bytes(16) + (0xFF00FF00FF00FF00).to_bytes(8, "little") + bytes(8) and len(image) == 32
    enables = [1, 2, 3, 4]
    for quarter in range(4):
        for beats in range(1, 5):
            image = encode_byte_enables(0x1000 + 64 * quarter, enables[:beats])
            assert decode_byte_enables(0x1000 + 64 * quarter, beats, image) == enables[:beats]
            assert image.count(0) == 32 - beats


@pytest.mark.req("TL-183", "TL-187", "TL-188", "TL-189", "TL-190", "TL-191", "TL-192", "TL-212")
def test_compression_of_requests():
    block = UncompressedRequest(cmd=0x28, len=63, addr=ADDRESS >> 2, num_beats=3, tag=9, src_acc_id=3, dst_acc_id=4)
    read = UncompressedRequest(cmd=0x03, len=31, attr=0xFF, addr=(ADDRESS + 0x80) >> 2, meta_data=3)
    for request in (block, read):
        assert is_compressible(request)
        assert expand_request(compress_request(request, 1), ADDRESS >> 20) == request
    changed = [
        {"cmd": 0x2A},
        {"cmd": 0x30},
        {"cmd": 0x2C},
        {"attr": 0xFF},
        {"len": 62},
        {"len": 14},
        {"addr": block.addr + 1},
        {"addr": block.addr + 16},
        {"meta_data": 4},
        {"meta_data": 0x80},
    ]
    for change in changed:
        other = UncompressedRequest(**{name: getattr(block, name) for name in block.WIDTHS} | change)
        assert not is_compressible(other)
        with pytest.raises(FieldError, match="conditions"):
            compress_request(other, 0)
    assert not is_compressible(UncompressedRequest(cmd=3, len=15, attr=0xF0))
    assert is_compressible(UncompressedRequest(cmd=0x28, len=15, meta_data=4), meta_data_mask=0xF8)


@pytest.mark.req("TL-194", "TL-196", "TL-197", "TL-179", "TL-180", "TL-181")
def test_compression_of_responses():
    assert compress_response(V6) is V6
    burst = compress_response(V5)
    assert isinstance(burst, CompressedResponse) and burst.len == 3 and burst.rd_wr == 1
    expanded = expand_response(burst)
    assert (expanded.status, expanded.len, expanded.offset, expanded.last, expanded.src_acc_id) == (0, 3, 0, 1, 0)
    assert expand_response(V7) == UncompressedResponse(vchan=1, tag=0x123, pool=1, offset=2, rd_wr=1, dst_acc_id=5)
    assert expand_response(V8) == UncompressedResponse(vchan=2, tag=0x456, dst_acc_id=5)
    assert compress_response(expand_response(V7)) == V7 and compress_response(expand_response(V8)) == V8
    assert expand_response(CompressedResponse(rd_wr=1)).last == 1
    assert expand_response(V6) is V6


@pytest.mark.req("TL-116", "TL-117", "TL-118", "TL-119", "TL-120", "TL-121", "TL-127", "TL-129", "TL-192", "TL-220")
@pytest.mark.parametrize("row_member", ["dst_acc_id", "src_acc_id"])
def test_address_cache(row_member):
    cache = AddressCache(row_member)
    load = UncompressedRequest(addr=ADDRESS >> 2, cload=1, cway=2, src_acc_id=5, dst_acc_id=31)
    use = CompressedRequest(cway=2, addr=0x10, src_acc_id=5, dst_acc_id=31)
    with pytest.raises(FieldError, match="never loaded"):
        cache.receive(use)
    assert cache.receive(load) == load and cache.find(load) == 2
    assert cache.receive(use).byte_address == ADDRESS >> 20 << 20 | 0x10 << 6
    ignored = UncompressedRequest(addr=0, cload=0, cway=2, src_acc_id=5, dst_acc_id=31)
    cache.receive(ignored)
    assert cache.receive(use).byte_address >> 20 == ADDRESS >> 20
    other_id = {"src_acc_id": 5, "dst_acc_id": 31, row_member: 7}
    with pytest.raises(FieldError, match="never loaded"):
        cache.receive(CompressedRequest(cway=2, **other_id))
    cache.clear()
    assert cache.find(load) is None
    with pytest.raises(FieldError, match="outside"):
        AddressCache(row_member, rows=4).load(load, 0)
