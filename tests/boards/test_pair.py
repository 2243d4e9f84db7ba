"""Design ``pair``: how lanes, clocks and LEDs of a board are shared out between its two links."""

from functools import cache

import pytest
from amaranth.hdl import ClockDomain, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.csr.table import BusSignature
from ualink.phy.serdes.interface import LaneStatusSignature, Loopback, SerdesLaneSignature
from ualink_boards.board import LED_MEANINGS
from ualink_boards.boards import BOARDS, find_board
from ualink_boards.designs import make_design, pair
from ualink_boards.designs.link import Link
from ualink_boards.designs.pair import LINKS, Pair
from ualink_boards.frame import FrameSignature

LANES, HALF = 4, 2
SETTINGS = ("loopback", "reset", "tx_invert", "rx_invert")
PERIODS = {"tx": 1e-8, "rx": 1.7e-8}


@cache
def link_registers():
    """The windows of a real link."""
    return Link(find_board("vcu118"), lanes=HALF, serial=False).registers


class SmallLink(wiring.Component):
    """In the place of a link: counts on each of its lanes in that lane's clock, and keeps what it hears.

    ``settings`` drives the settings of its lanes, ``leds`` its LEDs.
    """

    def __init__(self, board, phy, *, lanes, serial):
        assert not serial
        self.registers = link_registers()
        self.sent = [Signal(board.width, name=f"sent{n}") for n in range(lanes)]
        self.heard = [Signal(board.width, name=f"heard{n}") for n in range(lanes)]
        self.settings = [
            {name: Signal.like(getattr(SerdesLaneSignature(board.width).create(), name)) for name in SETTINGS}
            for _ in range(lanes)
        ]
        self.leds = Signal(len(LED_MEANINGS))
        buses = {name: wiring.Out(BusSignature(table.address_bits)) for name, table in self.registers.windows}
        frame = FrameSignature(lanes, board.width)
        super().__init__({"frame": wiring.Out(frame), "windows": wiring.In(wiring.Signature(buses))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.frame.leds.eq(self.leds)
        for number, lane in enumerate(self.frame.lanes):
            m.d[f"tx{number}"] += self.sent[number].eq(Mux(lane.tx_ready, self.sent[number] + 1, 0))
            m.d[f"rx{number}"] += self.heard[number].eq(Mux(lane.rx_ready, lane.rx_data, 0))
            m.d.comb += lane.tx_data.eq(self.sent[number])
            m.d.comb += [getattr(lane, name).eq(value) for name, value in self.settings[number].items()]
        return m


class Plugged:
    """The design with small links, and a loopback plug on each lane; the highest bits of a word tell the lane."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(pair, "Link", SmallLink)
        self.design = design = Pair(find_board("vcu118"))
        self.links = list(design._links.values())
        self.module = m = Module()
        m.submodules.design = design
        m.domains += [ClockDomain(f"{way}{lane}") for way in ("tx", "rx") for lane in range(LANES)]
        for number, lane in enumerate(design.frame.lanes):
            m.d.comb += lane.rx_data.eq(lane.tx_data | (number + 1) << 60)
            m.d.comb += [lane.tx_ready.eq(1), lane.rx_ready.eq(1)]

    def run(self, bench):
        simulator = Simulator(self.module)
        simulator.add_clock(1e-8)
        for lane in range(LANES):
            for way, period in PERIODS.items():
                simulator.add_clock(period * (1 + lane / 2), domain=f"{way}{lane}")
        simulator.add_testbench(bench)
        simulator.run()


def test_each_link_sends_on_its_half_of_the_lanes_and_hears_the_other_half(monkeypatch):
    top = Plugged(monkeypatch)

    async def bench(ctx):
        await ctx.delay(1e-6)
        for number, link in enumerate(top.links):
            for lane in range(HALF):
                sends, hears = number * HALF + lane, (1 - number) * HALF + lane
                heard = ctx.get(link.heard[lane])
                # In the clock of the lane; what is heard comes from the other link, on the lane that it hears.
                assert ctx.get(link.sent[lane]) == pytest.approx(100 / (1 + sends / 2), abs=2)
                assert heard >> 60 == hears + 1
                other = ctx.get(top.links[1 - number].sent[lane])
                assert 0 <= other - (heard & (1 << 60) - 1) <= 3

    top.run(bench)


def test_settings_of_a_receiver_go_to_the_lane_that_is_heard_and_those_of_a_transmitter_to_the_other(monkeypatch):
    top = Plugged(monkeypatch)

    async def bench(ctx):
        for number, link in enumerate(top.links):
            for lane in range(HALF):
                for name in SETTINGS:
                    ctx.set(link.settings[lane][name], Loopback.NEAR_END if name == "loopback" else 1)
                    place = number if name == "tx_invert" else 1 - number
                    await ctx.delay(1e-8)
                    found = [ctx.get(getattr(words, name)) for words in top.design.frame.lanes]
                    assert [bool(value.value if name == "loopback" else value) for value in found] == [
                        other == place * HALF + lane for other in range(LANES)
                    ], name
                    ctx.set(link.settings[lane][name], Loopback.NONE if name == "loopback" else 0)

    top.run(bench)


def test_status_of_a_lane_is_that_of_the_board(monkeypatch):
    top = Plugged(monkeypatch)

    async def bench(ctx):
        for number in range(len(top.links)):
            for lane in range(HALF):
                for name in LaneStatusSignature().members:
                    sent = name.startswith("pll_")
                    board = (number if sent else 1 - number) * HALF + lane
                    shown = getattr(top.design.frame.status[board], name)
                    ctx.set(shown, 1)
                    await ctx.delay(1e-8)
                    lit = [
                        (other, n)
                        for other, one in enumerate(top.links)
                        for n in range(HALF)
                        if ctx.get(getattr(one.frame.status[n], name))
                    ]
                    assert lit == [(number, lane)], name
                    ctx.set(shown, 0)

    top.run(bench)


@pytest.mark.parametrize("lit", [0b00, 0b01, 0b10, 0b11])
def test_leds(monkeypatch, lit):
    top = Plugged(monkeypatch)

    async def bench(ctx):
        for number, link in enumerate(top.links):
            ctx.set(link.leds, 0xFF if lit >> number & 1 else 0)
        await ctx.delay(1e-8)
        leds = ctx.get(top.design.frame.leds)
        for number, meaning in enumerate(LED_MEANINGS):
            either = meaning in ("traffic", "error", "loopback")
            assert leds >> number & 1 == (lit > 0 if either else lit == 0b11), meaning

    top.run(bench)


def test_windows():
    design = make_design("pair", find_board("vcu118"))
    windows = dict(design.registers.windows)
    assert list(windows) == [f"{link}_{name}" for link in LINKS for name in ("traffic", "dl", "tl", "upli", "phy")]
    for link in LINKS:
        capabilities = next(one for one in windows[f"{link}_phy"] if one.name == "capabilities")
        assert next(field.reset for field in capabilities.fields if field.name == "lanes") == HALF


@pytest.mark.parametrize("name", [name for name in BOARDS if find_board(name).lanes < 2])
def test_a_board_with_one_lane_is_refused(name):
    with pytest.raises(ConfigError, match=f"design pair needs 2 lanes; {name} has 1"):
        make_design("pair", find_board(name))
