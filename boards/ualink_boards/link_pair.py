"""Two boards with the design ``link`` and the cable between them, as one piece of hardware to simulate."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import In, Out, connect

from ualink.config import PhyConfig, StationConfig
from ualink.lib.forward import forward
from ualink.lib.parity import WithoutDataParity
from ualink.station import Station
from ualink_sim.serdes_cable import CableLaneSignature, SerdesCable
from ualink_sim.word_recorder import WordRecorder

from .boards import find_board
from .designs.link import Link

__all__ = ["BIT_CYCLES", "BOARD", "ENDS", "PHY", "RECORDED_WORDS", "LinkPair", "link_pair_model"]

ENDS = ("a", "b")
BIT_CYCLES = 8
"""Cycles of a bit on the serial lines, which are as fast as they can be."""
BOARD = "ecp5_5g_evn"
"""The one whose station has the fewest cycles for what comes over its lane."""
PHY = PhyConfig(rate=200, marker_interval=16, idle_interval=16)
"""So many markers that a link comes up in a millisecond."""
SKEW_WORDS = 4
STATION = "ualink_station"
"""The module of both stations, which is compiled once."""
RECORDED_WORDS = 132
"""Words that are recorded together: with 40 bits each as many bits as a flit slot."""


class LinkPair(wiring.Component):
    """Boards ``a`` and ``b``, both of the kind ``BOARD``, one lane.

    Parameters
    ----------
    make_station : as of ``Link``.

    Members
    -------
    <x>_clk, <x>_tx_clk : of the registers and the data path, and of the words that are sent.
    <x>_rst : reset of all but the receivers.
    <x>_rx, <x>_tx, <x>_leds : serial line and LEDs.
    to_a, to_b : what happens to the lane on its way there, ``CableLaneSignature``.
    sent_<x>, heard_<x> : ``RECORDED_WORDS`` words that board x put on the wires, that came to it over the cable.
    sent_<x>_turn, heard_<x>_turn : changes with them.
    """

    def __init__(self, make_station: Callable[[StationConfig], wiring.Component] = Station) -> None:
        board = find_board(BOARD)
        self._board = replace(board, baud=board.station_hz // BIT_CYCLES)
        self.designs = {end: Link(self._board, PHY, make_station=make_station) for end in ENDS}
        recorded = self._board.width * RECORDED_WORDS
        members: dict[str, wiring.Member] = {}
        for end in ENDS:
            members |= {
                f"{end}_clk": In(1),
                f"{end}_tx_clk": In(1),
                f"{end}_rst": In(1),
                f"{end}_rx": In(1, init=1),
                f"{end}_tx": Out(1),
                f"{end}_leds": Out(8),
                f"to_{end}": In(CableLaneSignature(self._board.width, SKEW_WORDS)),
            }
            for line in (f"sent_{end}", f"heard_{end}"):
                members |= {line: Out(recorded), f"{line}_turn": Out(1)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.cable = cable = SerdesCable(1, self._board.width, skew_words=SKEW_WORDS)
        for end in ENDS:
            names = ("sync", "tx0", "rx0")
            design = self.designs[end]
            m.domains += [ClockDomain(f"{end}_{name}") for name in names]
            m.submodules[end] = DomainRenamer({name: f"{end}_{name}" for name in names})(design)
            m.d.comb += [
                ClockSignal(f"{end}_sync").eq(getattr(self, f"{end}_clk")),
                ResetSignal(f"{end}_sync").eq(getattr(self, f"{end}_rst")),
                ClockSignal(f"{end}_tx0").eq(getattr(self, f"{end}_tx_clk")),
                design.frame.rx.eq(getattr(self, f"{end}_rx")),
                getattr(self, f"{end}_tx").eq(design.frame.tx),
                getattr(self, f"{end}_leds").eq(design.frame.leds),
            ]
            m.submodules += ResetSynchronizer(getattr(self, f"{end}_rst"), domain=f"{end}_tx0")
            connect(m, design.frame.lanes[0], getattr(cable, end)[0])
            connect(m, getattr(cable, f"{end}_status")[0], design.frame.status[0])
            connect(m, wiring.flipped(getattr(self, f"to_{end}")), getattr(cable, f"to_{end}")[0])
        for sender, receiver in (ENDS, ENDS[::-1]):
            domain = ClockDomain(f"{sender}_line", reset_less=True)
            m.domains += domain
            m.d.comb += domain.clk.eq(getattr(self, f"{sender}_tx_clk"))
            for line in (f"sent_{sender}", f"heard_{receiver}"):
                recorder = DomainRenamer(domain.name)(WordRecorder(self._board.width, RECORDED_WORDS))
                m.submodules[line] = recorder
                m.d.comb += [
                    recorder.word.eq(getattr(cable, line)[0]),
                    getattr(self, line).eq(recorder.gathered),
                    getattr(self, f"{line}_turn").eq(recorder.turn),
                ]
        return m


class _WithoutDataParity(wiring.Component):
    """A station as it is in ``Link``."""

    def __init__(self, station: Station):
        self._station = station
        super().__init__(station.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.station = WithoutDataParity(self._station)
        forward(m, self._station, self)
        return m


def link_pair_model():
    """The compiled model of ``LinkPair``, whose times are multiples of 100 fs; compiling it takes some minutes, finding
    it again nothing."""
    from ualink.emit.blackbox import Blackbox
    from ualink.emit.verilog import to_verilog
    from ualink_sim.simulator import build_once

    modules = ("ualink_sim.serdes_cable", "ualink_sim.word_recorder")
    paths = [Path(import_module(name).__file__ or "") for name in modules]
    here = Path(__file__).parent
    paths += [*sorted(here.glob("*.py")), *sorted((here / "designs").glob("*.py"))]

    def sources() -> dict[str, str]:
        stations: dict[StationConfig, Station] = {}

        def make_station(config: StationConfig) -> Blackbox:
            if config not in stations:
                stations[config] = Station(config)
            return Blackbox(stations[config], STATION)

        top = to_verilog(LinkPair(make_station), "link_pair")
        (station,) = stations.values()
        parts = {"link_pair": top, STATION: to_verilog(_WithoutDataParity(station), STATION)}
        return {f"{name}.v": "\n".join(["`timescale 1ps / 100fs", text]) for name, text in parts.items()}

    depends = "\0".join(path.read_text() for path in paths)
    return build_once(sources, "link_pair", depends, blocks={STATION: None})
