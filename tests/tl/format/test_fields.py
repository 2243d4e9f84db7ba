"""Bit layouts of the control fields against the executable model and the golden encodings."""

import pytest

from ualink.tl.format.fields import (
    COMPRESSED_REQUEST,
    COMPRESSED_RESPONSE,
    COMPRESSED_SINGLE_BEAT_READ_RESPONSE,
    FIELD_LAYOUTS,
    FIELD_SECTORS,
    FLOW_CONTROL,
    UNCOMPRESSED_REQUEST,
    UNCOMPRESSED_RESPONSE,
    FType,
    has_byte_enables,
    request_half_flits,
    response_half_flits,
)
from ualink_sim.model.tl import fields as model

MODELS = {
    FType.UNCOMPRESSED_REQUEST: model.UncompressedRequest,
    FType.UNCOMPRESSED_RESPONSE: model.UncompressedResponse,
    FType.COMPRESSED_REQUEST: model.CompressedRequest,
    FType.COMPRESSED_SINGLE_BEAT_READ_RESPONSE: model.CompressedReadResponse,
    FType.COMPRESSED_RESPONSE: model.CompressedResponse,
}
V1 = dict(cmd=0x03, asi=1, tag=0x155, pool=1, attr=0xFF, len=0x3F, addr=0x0123456789ABC00 >> 2, src_acc_id=5)
V1 |= dict(dst_acc_id=0x1F, cload=1, cway=2)
V2 = dict(cmd=0x28, vchan=2, tag=0x7FF, len=0x0F, meta_data=0xA5, addr=0x40 >> 2, src_acc_id=0x3FF, dst_acc_id=1)
V3 = dict(cmd=6, vchan=3, asi=1, tag=0x2AA, len=3, meta_data=5, addr=0x2AF0, src_acc_id=5, dst_acc_id=0x1F, cway=2)
V4 = dict(tag=1, pool=1, addr=0x2AF1, src_acc_id=5, dst_acc_id=0x1F, cway=2)
V5 = dict(vchan=1, tag=0x123, pool=1, len=3, rd_wr=1, last=1, src_acc_id=0x1F, dst_acc_id=5)
V6 = dict(tag=0x456, status=2, src_acc_id=0x1F, dst_acc_id=5)
GOLDEN = [
    (UNCOMPRESSED_REQUEST, 0x1, V1, 0x10C4AAFFFF00091A2B3C4D5E000283F8),
    (UNCOMPRESSED_REQUEST, 0x1, V2, 0x1A23FF800FA500000000000021FF8020),
    (COMPRESSED_REQUEST, 0x3, V3, 0x3DAAA9DABC00507E),
    (COMPRESSED_REQUEST, 0x3, V4, 0x3000060ABC40507E),
    (UNCOMPRESSED_RESPONSE, 0x2, V5, 0x2491F0307C050000),
    (UNCOMPRESSED_RESPONSE, 0x2, V6, 0x222B00807C050000),
    (
        COMPRESSED_SINGLE_BEAT_READ_RESPONSE,
        0x4,
        dict(vchan=1, tag=0x123, pool=1, dst_acc_id=5, offset=2),
        0x4491C058,
    ),
    (COMPRESSED_RESPONSE, 0x5, dict(vchan=2, tag=0x456, dst_acc_id=5), 0x5A2B0050),
    (COMPRESSED_RESPONSE, 0x5, dict(tag=0x7FF, pool=1, dst_acc_id=0x3FF, len=3, rd_wr=1), 0x53FFFFFE),
    (
        FLOW_CONTROL,
        0x0,
        dict(
            req_cmd={"count": 5},
            rsp_cmd={"is_vc": 1, "vc": 2, "count": 7},
            req_data={"count": 20},
            rsp_data={"is_vc": 1, "vc": 3, "count": 31},
        ),
        0x017714FF,
    ),
]


def encode(layout, ftype, members):
    return layout.const({"ftype": ftype, **members}).as_value().value


@pytest.mark.req("TL-171", "TL-172", "TL-176", "TL-186", "TL-193", "TL-195", "TL-199")
@pytest.mark.parametrize("layout, ftype, members, word", GOLDEN)
def test_golden_encodings(layout, ftype, members, word):
    assert encode(layout, ftype, members) == word


@pytest.mark.req("TL-171", "TL-172", "TL-176", "TL-186", "TL-193", "TL-195")
@pytest.mark.parametrize("ftype", MODELS)
def test_every_member_is_where_the_model_has_it(ftype):
    kind, layout = MODELS[ftype], FIELD_LAYOUTS[ftype]
    assert {name for name, _ in layout} - {"spare", "ftype"} == set(kind.WIDTHS)
    for name, width in kind.WIDTHS.items():
        for bit in range(width):
            if ftype == FType.COMPRESSED_REQUEST and name == "cmd" and 1 << bit not in (4,):
                continue  # the model refuses reserved codes
            assert encode(layout, ftype, {name: 1 << bit}) == kind(**{name: 1 << bit}).encode()


@pytest.mark.req("TL-006")
def test_sectors():
    assert [FIELD_SECTORS[ftype] for ftype in FType] == [1, 4, 2, 2, 1, 1]


@pytest.mark.req("TL-027", "TL-028", "TL-029", "TL-030", "TL-032", "TL-041")
def test_half_flits_owed():
    for beats in (1, 2, 3, 4):
        assert request_half_flits(0x03, beats - 1) == request_half_flits(0x0F, beats - 1) == 0
        assert request_half_flits(0x29, beats - 1) == 2 * beats
        for cmd in (0x28, 0x2A, 0x2C, 0x2D, 0x2E, 0x2F, 0x3C, 0x3F):
            assert request_half_flits(cmd, beats - 1) == 2 * beats + 1
        assert request_half_flits(0x2A, beats - 1, uwm_has_byte_enables=False) == 2 * beats
        assert (response_half_flits(1, beats - 1), response_half_flits(0, beats - 1)) == (2 * beats, 0)
    assert request_half_flits(0x30, 0) == request_half_flits(0x32, 0) == 3
    assert [cmd for cmd in (0x03, 0x28, 0x29, 0x2A, 0x30, 0x32) if has_byte_enables(cmd)] == [0x28, 0x2A, 0x30, 0x32]
