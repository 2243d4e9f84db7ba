"""The interface has exactly the signals of the standard: counts and bits of its tables."""

import pytest

from support.upli.pair import Pair, members
from ualink.upli.channels import CHANNEL_LAYOUTS, UPLISignature

# Table 2-2, 2-14, 2-8, 2-11: signals and bits of information and control, of credit return, of parity.
TABLES = {
    "req": ((15, 190), (11, 28), (5, 5)),
    "orig_data": ((9, 586), (11, 28), (6, 13)),
    "rd_rsp": ((14, 623), (11, 28), (5, 12)),
    "wr_rsp": ((9, 105), (11, 28), (4, 4)),
}


FIELDS = {
    "req": "vld 1 port_id 2 pool 1 asi 2 auth_tag 64 src_phys_acc_id 10 dst_phys_acc_id 10 tag 11 num_beats 2 addr 57 "
    "cmd 6 len 6 attr 8 meta_data 8 vc 2",
    "orig_data": "vld 1 port_id 2 pool 1 data 512 byte_en 64 offset 2 last 1 error 1 vc 2",
    "rd_rsp": "vld 1 port_id 2 pool 1 auth_tag 64 src_phys_acc_id 10 dst_phys_acc_id 10 tag 11 num_beats 2 data 512 "
    "status 4 offset 2 last 1 data_error 1 vc 2",
    "wr_rsp": "vld 1 port_id 2 pool 1 auth_tag 64 src_phys_acc_id 10 dst_phys_acc_id 10 tag 11 status 4 vc 2",
}
"""Information and control of the same tables: each signal and its bits."""


@pytest.mark.req("UPLI-003", "UPLI-067", "UPLI-068", "UPLI-177")
def test_fields():
    """Accelerator IDs of 10 bits and Port IDs of 2 on every channel that has them; one Vld and at most 64 bytes of data
    on each, so that more are a series of beats."""
    for channel, text in FIELDS.items():
        words = text.split()
        expected = dict(zip(words[::2], map(int, words[1::2])))
        signals = getattr(UPLISignature().create(), channel)
        found = {name: len(getattr(signals, name)) for name in expected}
        assert {name for name in signals.signature.members if "parity" not in name} == {*expected, "credit"}
        assert found == expected


@pytest.mark.req("UPLI-043", "UPLI-050", "UPLI-082", "UPLI-123", "UPLI-146", "UPLI-170", "UPLI-225", "UPLI-242")
@pytest.mark.req("UPLI-262", "UPLI-274", "UPLI-282", "UPLI-290", "RST-024", "RAS-019", "RAS-024", "RAS-025")
def test_totals():
    groups = {channel: [[0, 0] for _ in range(3)] for channel in CHANNEL_LAYOUTS}
    controls, bits_by_originator = [], 0
    for path, signal in members(UPLISignature().create()):
        if Pair.driven_by_originator(path):
            bits_by_originator += len(signal)
        if len(path) == 1:
            controls.append(path[0])
            continue
        kind = 2 if str(path[-1]).endswith("parity") else int("credit" in path)
        group = groups[path[0]][kind]
        group[0] += 1
        group[1] += len(signal)
    assert {channel: tuple(map(tuple, counts)) for channel, counts in groups.items()} == TABLES
    assert controls == ["orig_clk_req", "comp_clk_ack", "comp_clk_req", "orig_clk_ack"]
    assert bits_by_originator == 852
