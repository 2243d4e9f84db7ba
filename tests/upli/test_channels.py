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
