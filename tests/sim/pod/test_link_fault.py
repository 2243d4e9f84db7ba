"""A link that does not carry anything is told by name, with its cause."""

from ualink.dl.interface import LinkState
from ualink_sim.pod.link_fault import LinkEndState, fault_of
from ualink_sim.pod.scenario import Link
from ualink_sim.pod.wire import DATA, Noise, Wire


def used(link, slots=400):
    wire = Wire(link.latency_cycles, Noise(link.bit_error_rate, link.drop_rate, link.burst), name="acc0.0>sw0.0")
    for _ in range(slots):
        for beat in range(10):
            wire.cycle(1, DATA, beat == 0, beat == 9)
    return wire


NOP = LinkEndState(False, LinkState.NOP.value)


def test_losses_are_named():
    link = Link(drop_rate=0.5, burst=1000)
    told = fault_of(used(link), link, 8432, NOP, None)
    assert told.startswith("never came up in 8,432 cycles: ")
    assert told.endswith(" of 400 flit slots were lost (drop_rate 0.5, burst 1000)")


def test_bit_errors_are_named():
    link = Link(bit_error_rate=0.01)
    told = fault_of(used(link), link, 8432, NOP, None)
    assert told.endswith("400 of 400 flits had bit errors (bit_error_rate 0.01)")


def test_a_cut_cable_is_named():
    wire = used(Link(drop_rate=0.5))
    wire.cut = 1
    assert fault_of(wire, Link(), 9000, NOP, 1000).endswith("is not up in cycle 9,000: its cable is cut")


def test_of_a_good_wire_round_trip_and_state_are_told():
    link = Link(latency_cycles=5000)
    told = fault_of(used(link), link, 60_000, NOP, None)
    assert told.endswith("its wire is good; a round trip takes 10,000 cycles, its receiver is in DL state NOP")
    assert fault_of(used(link), link, 60_000, LinkEndState(True, 3), None).endswith("its receiver is online")


def test_a_link_that_fell_later_did_come_up():
    link = Link()
    assert fault_of(used(link), link, 40_000, NOP, 1041).startswith(
        "went down after cycle 1,041 and is not up in cycle 40,000"
    )


def test_that_no_ports_are_chosen_yet_is_told():
    wire = used(Link())
    wire.cut = 2
    told = fault_of(wire, Link(), 90, NOP._replace(chosen=False), None)
    assert told == "never came up in 90 cycles: firmware has not chosen the ports of its stations"
