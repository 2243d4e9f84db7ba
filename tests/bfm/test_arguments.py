"""Wrong arguments of bus models and beats: one line that names model, argument and range, when they are made."""

import pytest

from support.bfm.fake_interface import FakeInterface, Wires
from ualink_sim.bfm.dl.link import BeatLink, BeatWatch
from ualink_sim.bfm.dl.options import CheckerOptions
from ualink_sim.bfm.dl.partner import LinkPartner
from ualink_sim.bfm.tl.endpoint import TLEndpoint
from ualink_sim.bfm.tl.options import TLOptions
from ualink_sim.bfm.tl.partner import FlitPartner
from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.completer import UPLICompleter
from ualink_sim.bfm.upli.memory_access import MemoryAccess
from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.options import CompleterOptions, OriginatorOptions
from ualink_sim.bfm.upli.originator import Transaction, UPLIOriginator
from ualink_sim.model.upli import transactions as upli


def _bus():
    return UPLIBus.from_prefix(Wires(), "upli")


BOTH = [
    ({"ports": 3}, "ports is 3; it must be one of 1, 2, 4"),
    ({"ports": True}, "ports is True; it must be one of 1, 2, 4"),
    ({"hold": 5}, "hold is 5; it must be a function that gives cycles"),
    ({"request_delay": -1}, "request_delay is -1; it must be a whole number of 0 or more"),
]
ORIGINATOR = [
    ({"rd_rsp_pool": -1}, "rd_rsp_pool is -1; it must be a whole number of 0 or more"),
    ({"wr_rsp_pool": 1.5}, "wr_rsp_pool is 1.5"),
    ({"rd_rsp_vc": (0, 0, 0, -2)}, r"rd_rsp_vc\[3\] is -2"),
    ({"wr_rsp_vc": (1, 2)}, r"wr_rsp_vc is \(1, 2\); it must be four counts, one for each VC"),
    ({"rd_rsp_pool": 0}, "rd_rsp_pool and rd_rsp_vc are 0; without a credit nothing can come"),
    ({"outstanding": 5000}, "outstanding is 5000; it must be a whole number from 1 to 2048"),
    ({"gap": 3}, "gap is 3; it must be a function"),
    ({"time_out": -5}, "time_out is -5"),
]
COMPLETER = [
    ({"req_pool": -1}, "req_pool is -1"),
    ({"orig_data_vc": 4}, "orig_data_vc is 4; it must be four counts"),
    ({"latency": -1}, "latency is -1"),
    ({"single_beat": True}, "single_beat is True; it must be a function that gives an order of offsets or None"),
    ({"beat_gap": 2}, "beat_gap is 2"),
]


@pytest.mark.parametrize(("arguments", "complaint"), [*BOTH, *ORIGINATOR])
def test_originator(arguments, complaint):
    with pytest.raises(ValueError, match=f"^OriginatorOptions: {complaint}"):
        OriginatorOptions(**arguments)


@pytest.mark.parametrize(("arguments", "complaint"), [*BOTH, *COMPLETER])
def test_completer(arguments, complaint):
    with pytest.raises(ValueError, match=f"^CompleterOptions: {complaint}"):
        CompleterOptions(**arguments)


def test_a_handler_is_a_function():
    with pytest.raises(ValueError, match=r"^UPLICompleter: handler is None; it must be a function"):
        UPLICompleter(_bus(), None)


@pytest.mark.parametrize(("arguments", "complaint"), [BOTH[0], ({"on_transaction": []}, r"on_transaction is \[\]")])
def test_monitor(arguments, complaint):
    with pytest.raises(ValueError, match=f"^UPLIMonitor: {complaint}"):
        UPLIMonitor(_bus(), **arguments)


@pytest.mark.parametrize("arguments", [{"source": 1024}, {"vc": 4}, {"port_for": 0}])
def test_memory_access(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^MemoryAccess: {name} is "):
        MemoryAccess(UPLIOriginator(_bus()), **arguments)


def test_a_destination_that_does_not_exist():
    read = MemoryAccess(UPLIOriginator(_bus())).read(dst=5000, addr=0, length=4)
    with pytest.raises(ValueError, match=r"^MemoryAccess: dst is 5000; it must be a whole number from 0 to 1023$"):
        read.send(None)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"dst_phys_acc_id": 5000}, "req.dst_phys_acc_id is 5000; it must be a whole number from 0 to 1023"),
        ({"vc": -1}, "req.vc is -1"),
        ({"colour": 1}, "a beat of req has colour, which the channel has not"),
    ],
)
def test_a_beat_that_does_not_fit(change, complaint):
    originator = UPLIOriginator(_bus())
    request = to_beat(upli.Request(cmd=upli.ReqCmd.READ, addr=0, len=3))
    with pytest.raises(ValueError, match=f"^UPLIOriginator: {complaint}"):
        originator.submit(Transaction(request | change))
    with pytest.raises(ValueError, match=r"^UPLIOriginator: port is 1; it must be a whole number from 0 to 0"):
        originator.submit(Transaction(request, port=1))
    with pytest.raises(ValueError, match=r"^UPLIOriginator: a beat of req has no addr"):
        originator.submit(Transaction({name: value for name, value in request.items() if name != "addr"}))
    assert originator.idle


def test_link_partners():
    for arguments in ({"gap": 5}, {"stall": 0.1}):
        (name,) = arguments
        with pytest.raises(ValueError, match=f"^FlitPartner: {name} is "):
            FlitPartner(None, TLEndpoint(), **arguments)
        with pytest.raises(ValueError, match=f"^BeatLink: {name} is "):
            BeatLink(None, LinkPartner(), **arguments)
    with pytest.raises(ValueError, match=r"^BeatWatch: port is 4; it must be a whole number from 0 to 3"):
        BeatWatch(None, port=4)
    with pytest.raises(ValueError, match=r"^CheckerOptions: codeword_group is 3; it must be one of 1, 2, 4"):
        CheckerOptions(codeword_group=3)
    with pytest.raises(ValueError, match=r"^CheckerOptions: rx_replay_limit is 300"):
        CheckerOptions(rx_replay_limit=300)
    with pytest.raises(ValueError, match=r"^TLOptions: buffers\['req_cmd', None\] is -4"):
        TLOptions(buffers={("req_cmd", None): -4})
    with pytest.raises(ValueError, match=r"buffers has keys other than"):
        TLOptions(buffers={("requests", None): 4})


def test_a_lost_response_ends_in_a_time_out():
    """The Completer never answers in time: what is outstanding is named."""
    interface = FakeInterface(originator={"time_out": 200}, completer={"latency": 100_000})
    read = to_beat(upli.Request(cmd=upli.ReqCmd.READ, addr=0x40, len=15, dst_phys_acc_id=7))
    interface.originator.submit(Transaction(read))
    with pytest.raises(TimeoutError, match=r"nothing for 200 cycles; 1 without a Response: port 0 tag 0 command 03h "):
        for _ in range(400):
            interface.step()
    assert interface.cycle < 260
    assert "accelerator 7 at 0x40; 0 not issued" in interface.originator.pending()


def test_a_completer_that_is_not_there_ends_in_a_time_out():
    wires = Wires()
    originator = UPLIOriginator(UPLIBus.from_prefix(wires, "upli"), OriginatorOptions(time_out=50))
    originator.submit(Transaction(to_beat(upli.Request(cmd=upli.ReqCmd.READ, addr=0, len=15))))
    with pytest.raises(TimeoutError, match=r"0 without a Response; 1 not issued, CompClkAck and CompClkReq never came"):
        for _ in range(100):
            originator.tick()
            wires.settle()


def test_nothing_to_do_is_no_time_out():
    interface = FakeInterface(originator={"time_out": 20})
    for _ in range(100):
        interface.step()
