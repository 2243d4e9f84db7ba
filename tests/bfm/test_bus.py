"""The signals of an interface, found by the names of this project, of the standard, or of anybody."""

import pytest

from ualink.upli.names import standard_name
from ualink_sim.bfm.upli.bus import UPLIBus, writer


class Names:
    """A device that has every signal: its name. ``asked`` are those that were wanted."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        return name


@pytest.mark.parametrize(
    "path, name",
    [
        ("req.vld", "ReqVld"),
        ("req.src_phys_acc_id", "ReqSrcPhysAccID"),
        ("req.asi", "ReqASI"),
        ("req.port_id", "ReqPortID"),
        ("req.meta_data", "ReqMetaData"),
        ("req.addr_parity", "ReqAddrParity"),
        ("orig_data.data", "OrigData"),
        ("orig_data.data_parity", "OrigDataParity"),
        ("orig_data.byte_en", "OrigDataByteEn"),
        ("orig_data.byte_en_parity", "OrigDataByteEnParity"),
        ("orig_data.fields_parity", "OrigDataFieldsParity"),
        ("rd_rsp.data", "RdRspData"),
        ("rd_rsp.data_error", "RdRspDataError"),
        ("rd_rsp.num_beats", "RdRspNumBeats"),
        ("rd_rsp.data_parity", "RdRspDataParity"),
        ("wr_rsp.vc", "WrRspVC"),
        ("wr_rsp.credit.init_done", "WrRspCreditInitDone"),
        ("orig_data.credit.port_vc.0", "OrigDataCreditPort0VC"),
        ("rd_rsp.credit.port_num.3", "RdRspCreditPort3Num"),
        ("req.credit.vld_parity", "ReqCreditVldParity"),
        ("comp_clk_ack", "CompClkAck"),
    ],
)
def test_standard_names(path, name):
    assert standard_name(path) == name


@pytest.mark.parametrize("find", [lambda dut: UPLIBus.from_prefix(dut, "up"), UPLIBus.from_standard_names])
def test_an_interface_has_115_signals_besides_clock_and_reset(find):
    dut = Names()
    find(dut)
    assert len(dut.asked) == len(set(dut.asked)) == 115


def test_prefixes():
    dut = Names()
    assert UPLIBus.from_prefix(dut, "up").rd_rsp.credit.port_num[2] == "up__rd_rsp__credit__port_num__2"
    assert UPLIBus.from_standard_names(dut, "up_").orig_data.fields["data"] == "up_OrigData"
    assert UPLIBus.from_names(dut, str.upper).orig_clk_req == "ORIG_CLK_REQ"


class Written:
    """A handle that remembers what is written."""

    def __init__(self):
        self.values = []

    value = property(fset=lambda self, value: self.values.append(value))


def test_what_is_driven_already_is_not_written_again():
    handle = Written()
    write = writer(handle)
    assert handle.values == [0]
    for value in (0, 3, 3, 0, 0, 1):
        write(value)
    assert handle.values == [0, 3, 0, 1]
