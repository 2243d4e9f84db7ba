"""What an engine sees of a pod and drives into it, in parts."""

from support.sim.engine_parts import ADDS_ONE, WORDS_OF_PART, PartsTop, devices
from support.sim.pod_fixtures import POD
from ualink.emit.verilog import to_rtlil, to_verilog
from ualink_sim.pod.engine.ports import MODULE, EngineSignature, Ports, devices_of, engine_ports, module_text
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.pod.top import make_controller, make_switch
from ualink_sim.simulator import build


def test_no_signal_is_in_two_parts_and_no_word_has_two_signals():
    ports = Ports(devices(3), WORDS_OF_PART)
    assert not any("other" in name for name in ports.places)
    for driven in (False, True):
        words = [
            word
            for place in ports.places.values()
            if place.driven == driven
            for word in range(place.at, place.at + place.words)
        ]
        assert len(words) == len(set(words)) == 3 * (1 + 4 + 1 + 2) + 1
        assert max(words) < WORDS_OF_PART * ports.parts
    for place in ports.places.values():
        assert place.at // WORDS_OF_PART == (place.at + place.words - 1) // WORDS_OF_PART
    assert (ports.parts, ports.shown, ports.driven) == (6, 5, 5)
    whole = Ports(devices(3))
    assert (whole.parts, whole.shown, whole.driven) == (1, 25, 25)


@POD
def test_parts_move_together():
    """Each word that an engine in six parts is shown it drives a cycle later, with one added."""
    top = PartsTop(3)
    ports = top.ports
    adds_one = ADDS_ONE.format(parts=ports.parts, shown=ports.shown, driven=ports.driven)
    texts = {"parts.v": to_verilog(top, "parts"), f"{MODULE}.sv": module_text(ports), "engine.cpp": adds_one}
    build(texts, "parts").run("support.sim.engine_parts_bench")


def test_a_large_pod_has_parts_that_the_tools_can_take():
    """Sixteen accelerators: more bits than Amaranth counts in one cell, in parts that Verilator makes word by word."""
    switch = parse_scenario('[pod]\naccelerators = 16\n[[workload]]\nkind = "uniform"\n', "pod.toml").switch
    of_pod = devices_of(make_controller(switch).signature, 16, make_switch(switch).signature)
    ports = engine_ports(of_pod)
    assert (ports.shown, ports.driven) == (64, 64)
    assert 32 * ports.parts * ports.driven > 65_535
    rtlil = to_rtlil(ports.engine(EngineSignature().create()), "engine")
    assert rtlil.count(f"cell \\{MODULE}_part") == ports.parts
