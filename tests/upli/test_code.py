"""The code of beats inside a device: what it covers, that every upset shows, and that making it anew hides none."""

import random

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator

from ualink.lib.parity import WithoutDataParity
from ualink.upli.channels import CHANNEL_LAYOUTS, CODED_LAYOUTS
from ualink.upli.code import beat_code, code_of, control_wrong, data_wrong, recoded, wrong

OF_DATA = ("data", "byte_en")


class Coded(Elaboratable):
    """A beat of ``channel`` as it is made, its code, and a beat with a code as it is found."""

    def __init__(self, channel):
        self.channel = channel
        self.made = Signal(CHANNEL_LAYOUTS[channel])
        self.code = Signal(CODED_LAYOUTS[channel]["code"].shape)
        self.found = Signal(CODED_LAYOUTS[channel])
        self.control_wrong, self.data_wrong = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            *(self.code[name].eq(value) for name, value in beat_code(self.channel, self.made).items()),
            self.control_wrong.eq(control_wrong(self.channel, self.found, self.found.code)),
            self.data_wrong.eq(data_wrong(self.channel, self.found, self.found.code)),
        ]
        return m


def run(design, bench):
    sim = Simulator(design)
    sim.add_testbench(bench)
    sim.run()


def class_of(channel, bit):
    """Of a bit of a coded beat: whether an upset of it is one of data."""
    layout = CODED_LAYOUTS[channel]
    name = next(name for name, place in layout if place.offset <= bit < place.offset + place.width)
    if name == "code":
        own = layout["code"].shape
        at = bit - layout["code"].offset
        name = next(name for name, place in own if place.offset <= at < place.offset + place.width)
    return name in OF_DATA


@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_every_upset_shows_in_its_class(channel):
    coded = Coded(channel)
    rng = random.Random(channel)
    width = CHANNEL_LAYOUTS[channel].size

    async def bench(ctx):
        beat = rng.getrandbits(width)
        ctx.set(coded.made.as_value(), beat)
        whole = beat | ctx.get(coded.code.as_value()) << width
        ctx.set(coded.found.as_value(), whole)
        assert (ctx.get(coded.control_wrong), ctx.get(coded.data_wrong)) == (0, 0)
        for bit in range(CODED_LAYOUTS[channel].size):
            ctx.set(coded.found.as_value(), whole ^ 1 << bit)
            of_data = class_of(channel, bit)
            assert (ctx.get(coded.control_wrong), ctx.get(coded.data_wrong)) == (not of_data, of_data), bit

    run(coded, bench)


def test_what_is_made_of_a_wrong_value_is_wrong():
    old, code, new, new_code, found = Signal(20), Signal(), Signal(9), Signal(), Signal()
    made = Signal()
    m = Module()
    m.d.comb += [
        new.eq(old[3:12]),
        made.eq(code_of(old)),
        new_code.eq(recoded(new, of=old, code=code)),
        found.eq(wrong(new_code, new)),
    ]
    rng = random.Random(1)

    async def bench(ctx):
        for _ in range(50):
            value = rng.getrandbits(20)
            ctx.set(old, value)
            ctx.set(code, ctx.get(made))
            assert not ctx.get(found)
            ctx.set(old, value ^ 1 << rng.randrange(20))
            assert ctx.get(found)

    run(m, bench)


def test_without_data_parity_there_is_no_code():
    coded = Coded("orig_data")

    async def bench(ctx):
        for bit in (0, 100, 520, 580):
            ctx.set(coded.made.as_value(), 1 << bit)
            ctx.set(coded.found.as_value(), 1 << bit)
            assert ctx.get(coded.code.as_value()) == 0
            assert (ctx.get(coded.control_wrong), ctx.get(coded.data_wrong)) == (0, 0)

    run(WithoutDataParity(coded), bench)
