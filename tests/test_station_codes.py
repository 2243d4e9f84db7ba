"""The code of a beat all through a station: what agents, transaction layer and its two halves give each other.

Between them is wiring; each of them is struck in tests of its own.
"""

import random

import pytest
from amaranth.hdl import Fragment, Module, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator

import ualink.dl.links
import ualink.station
import ualink.tl.layer
from support.few_buffers import FEW_BUFFERS
from ualink.dl.layer import DataLink
from ualink.station import Station
from ualink.tl.layer import TransactionLayer
from ualink.tl.receive.top import Receive
from ualink.tl.transmit.top import Transmit
from ualink.upli.channels import CODED_LAYOUTS
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")

CYCLES = 24


def silent(block):
    """Stands for ``block``: has its members, and does nothing."""

    class Silent(wiring.Component):
        def __init__(self, *args, **options):
            super().__init__(block(*args, **options).signature)

        def elaborate(self, platform):
            return Module()

    return Silent


def follow(design, ways):
    """What is given at one end of each of ``ways`` comes out at the other in the same cycle; all are of coded beats."""
    rng, simulator = random.Random(1), Simulator(Fragment.get(design, None))

    async def bench(ctx):
        for _ in range(CYCLES):
            for channel, near, far in ways:
                given = rng.getrandbits(CODED_LAYOUTS[channel].size)
                ctx.set(Value.cast(near.p), given)
                assert ctx.get(Value.cast(far.p)) == given, channel
            await ctx.tick()

    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.req("RAS-014", "RAS-107")
def test_between_agents_and_transaction_layer(monkeypatch):
    for name, block in (("Completer", Completer), ("Originator", Originator), ("TransactionLayer", TransactionLayer)):
        monkeypatch.setattr(ualink.station, name, silent(block))
    monkeypatch.setattr(ualink.dl.links, "DataLink", silent(DataLink))
    station = Station(FEW_BUFFERS)
    completer, originator, tl = station._completer, station._originator, station._tl
    agents = (("req", completer, originator), ("orig_data", completer, originator))
    agents += (("rd_rsp", originator, completer), ("wr_rsp", originator, completer))
    follow(
        station,
        [
            *((name, getattr(receives, name)[0], getattr(tl, f"tx_{name}")) for name, receives, _ in agents),
            *((name, getattr(tl, f"rx_{name}"), getattr(sends, name)[0]) for name, _, sends in agents),
        ],
    )


@pytest.mark.req("RAS-014", "RAS-107")
def test_between_transaction_layer_and_its_halves(monkeypatch):
    config = FEW_BUFFERS.tl
    transmit, receive = silent(Transmit)(config, coded=True), silent(Receive)(config, coded=True)
    # What the layer asks for decides whether its halves have a code.
    asked = []
    for name, half in (("Transmit", transmit), ("Receive", receive)):
        monkeypatch.setattr(ualink.tl.layer, name, lambda config, *, coded, half=half: asked.append(coded) or half)
    layer = TransactionLayer(config, coded=True)
    follow(
        layer,
        [
            *((name, getattr(layer, f"tx_{name}"), getattr(transmit, f"tx_{name}")) for name in CODED_LAYOUTS),
            *((name, getattr(receive, f"rx_{name}"), getattr(layer, f"rx_{name}")) for name in CODED_LAYOUTS),
        ],
    )
    assert asked == [True, True]
