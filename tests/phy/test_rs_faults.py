"""Link fault signalling of the receive side: entry, exit, and what is no fault."""

from functools import cache

import pytest

from support.phy.rs_stream import Receiver, receive
from ualink.config import PhyConfig
from ualink.phy.link_fault import LinkFault
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rs_fault import LinkFaultMachine

IDLE, LF, RF, LI = [codes.IDLE], [codes.LOCAL_FAULT], [codes.REMOTE_FAULT], [codes.LINK_INTERRUPTION]
OK, LOCAL, REMOTE, INTERRUPTION = LinkFault.OK, LinkFault.LOCAL, LinkFault.REMOTE, LinkFault.INTERRUPTION
DATA = codes.data_flit(bytes(range(80)) * 8)
AM_100, AM_800 = (codes.alignment_flit(IDLE * 80, rate) for rate in (100, 800))
FAULT_START = codes.alignment_flit([codes.START] * 8 + RF * 72, 100)[:-16] + IDLE * 16


def ordered_set(*octets):
    return [codes.control(0x4B, *octets, *[0] * (7 - len(octets)))]


def other(*octets):
    """Ordered sets that are no fault: time passes with them."""
    code = ordered_set(*octets)
    return (code * 50, OK), (LF * 4, LOCAL), (code * 127, LOCAL), (code, OK)


CASES = {
    "four local": ((LF, OK), (LF, OK), (LF, OK), (LF, LOCAL)),
    "four remote": ((RF, OK), (RF, OK), (RF, OK), (RF, REMOTE)),
    "four interruptions": ((LI, OK), (LI, OK), (LI, OK), (LI, INTERRUPTION)),
    "one fault flit": ((LF * 80, LOCAL),),
    "127 blocks apart": ((LF * 3, OK), (IDLE * 127 + LF, LOCAL)),
    "128 blocks apart": ((LF * 3, OK), (IDLE * 128 + LF, OK), (LF * 2, OK), (LF, LOCAL)),
    "another type between": ((LF * 3 + RF + LF, OK), (LF * 2, OK), (LF, LOCAL)),
    "three of each": ((RF * 3 + LI * 3 + LF * 3, OK), (LF, LOCAL)),
    "idle for 128 blocks": ((LF * 80, LOCAL), (IDLE * 127, LOCAL), (IDLE, OK)),
    "data for 128 blocks": ((RF * 4, REMOTE), (DATA, REMOTE), (DATA[:47], REMOTE), (DATA[47:], OK)),
    "one more in time": ((LF * 4, LOCAL), (IDLE * 127 + LF + IDLE * 127, LOCAL), (IDLE, OK)),
    "within a flit": ((DATA[:37] + LF * 4, LOCAL),),
    "AM flit of 100G": ((RF * 4, REMOTE), (IDLE * 100 + AM_100, REMOTE), (IDLE * 27, REMOTE), (IDLE, OK)),
    "AM flit of 800G": ((RF * 4, REMOTE), (IDLE * 100 + AM_800, REMOTE), (IDLE * 27, REMOTE), (IDLE, OK)),
    "ordered sets in an AM flit": ((FAULT_START, REMOTE), (IDLE * 127, REMOTE), (IDLE, OK)),
    "reserved 0": other(0, 0, 0),
    "reserved 4": other(0, 0, 4),
    "reserved 81h": other(0, 0, 0x81),
    "D1 not 0": other(0x80, 0, 2),
    "D2 not 0": other(0, 1, 1),
    "signal ordered set": other(0, 0, 1, 0xF),
    "header of data": (([LF[0] & ~3 | 2] * 80, OK),),
    "invalid headers": (([LF[0] | 3] * 80, OK), ([LF[0] & ~3] * 80, OK)),
} | {
    f"change at {n}": ((LF * (8 + n), LOCAL), (RF * 3, LOCAL), (RF, REMOTE), (LF * 3, REMOTE), (LF, LOCAL))
    for n in range(8)
}

REQUIREMENTS = {
    "four local": ("PHY-016", "PHY-029", "PHY-036", "PHY-037"),
    "four remote": ("PHY-016", "PHY-029", "PHY-036", "PHY-037"),
    "four interruptions": ("PHY-036", "PHY-037"),
    "idle for 128 blocks": ("PHY-037", "PHY-040"),
    "data for 128 blocks": ("PHY-037", "PHY-040"),
    "within a flit": ("PHY-042",),
    "AM flit of 100G": ("PHY-037",),
    "AM flit of 800G": ("PHY-037",),
    "header of data": ("PHY-034",),
    "invalid headers": ("PHY-034",),
    **dict.fromkeys(("reserved 0", "reserved 4", "reserved 81h", "D1 not 0", "D2 not 0"), ("PHY-036",)),
    "signal ordered set": ("PHY-036",),
    **{f"change at {n}": ("PHY-042",) for n in range(8)},
}


@cache
def measured(size: int) -> dict[str, list[LinkFault]]:
    """The fault behind each part of each case, out of one simulation: every part that ends within a beat is a case of
    its own whose last beat it fills. Idles ahead end the fault of the case before."""
    stream: list[int] = []
    ends: dict[str, list[int]] = {}
    for name, case in CASES.items():
        ends[name] = []
        for parts in range(1, len(case) + 1):
            blocks = [block for part, _ in case[:parts] for block in part]
            stream += IDLE * (136 + -len(blocks) % 8) + blocks
            ends[name].append(len(stream) // 8 - 1)
    _, faults = receive(Receiver(PhyConfig(blocks_per_word=size)), stream)
    return {name: [LinkFault(faults[end]) for end in places] for name, places in ends.items()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.req(*REQUIREMENTS.get(name, ("PHY-037",)))) for name in CASES]
)
@pytest.mark.parametrize("size", [8, 2, 1])
def test_link_fault(name, size):
    assert measured(size)[name] == [fault for _, fault in CASES[name]]


@pytest.mark.parametrize("name", CASES)
def test_link_fault_of_the_model(name):
    model, alignment = LinkFaultMachine(), 0
    for blocks, fault in CASES[name]:
        for block in blocks:
            if block == codes.ALIGNMENT and not alignment:
                alignment = codes.BLOCKS
            model.block(block, in_alignment=alignment > 0)
            alignment = max(0, alignment - 1)
        assert model.link_fault == fault.value
