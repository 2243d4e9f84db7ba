"""The clocked parts of the PCS between two reconciliation sublayers: flits, codewords and AM flits."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from support.phy.rs_stream import Beats
from ualink.config import PhyConfig
from ualink.phy.interface import TxKind
from ualink.phy.pcs.alignment_overwrite import AlignmentOverwrite
from ualink.phy.pcs.descrambler import Descrambler
from ualink.phy.pcs.marker_overwrite import MarkerOverwrite
from ualink.phy.pcs.scrambler import Scrambler
from ualink.phy.pcs.start_detector import StartDetector
from ualink.phy.rs_receive import RSReceive
from ualink.phy.rs_transmit import RSTransmit
from ualink_sim.model.phy.rs_receive import Heard

BEATS, CYCLES = 10, 150


@pytest.mark.req("PHY-004", "PHY-057")
def test_flits_stand_in_codewords_and_find_their_receiver():
    """Every flit slot is one codeword, whatever it carries, from the first Start sequence on; what the PCS makes of the
    markers on the other side is all that a receiver needs to give the flits to its DL."""
    rng = random.Random(7)
    config = PhyConfig(rate=100, marker_interval=4, idle_interval=4)
    m = Module()
    m.submodules.near, m.submodules.far = near, far = RSTransmit(config), RSReceive(config)
    m.submodules.detector = detector = StartDetector()
    m.submodules.scrambler = scrambler = Scrambler(marker_blocks=config.marker_blocks)
    m.submodules.markers = markers = MarkerOverwrite(lanes=1, marker_blocks=config.marker_blocks)
    m.submodules.overwrite = overwrite = AlignmentOverwrite(marker_blocks=config.marker_blocks)
    m.submodules.descrambler = descrambler = Descrambler(marker_blocks=config.marker_blocks)
    connect(m, near.blocks, detector.input)
    connect(m, detector.output, scrambler.input)
    connect(m, scrambler.output, markers.input)
    wire = markers.output
    m.d.comb += [
        overwrite.input.valid.eq(wire.valid & wire.ready),
        overwrite.input.p.eq(wire.p),
        far.blocks.valid.eq(descrambler.output.valid),
        far.blocks.p.blocks.eq(descrambler.output.p.blocks),
    ]
    connect(m, overwrite.output, descrambler.input)
    sent: list[bytes] = []
    got, codewords = Beats(), []

    async def testbench(ctx):
        flit, beat, carried = rng.randbytes(640), 0, 0
        for cycle in range(CYCLES):
            ready = rng.random() < 0.9
            ctx.set(wire.ready, ready)
            ctx.set(near.beat.valid, 1)
            ctx.set(near.beat.p.kind, TxKind.DATA)
            ctx.set(near.beat.p.first, beat == 0)
            ctx.set(near.beat.p.last, beat == BEATS - 1)
            ctx.set(near.beat.p.data, int.from_bytes(flit[64 * beat : 64 * beat + 64], "little"))
            if ctx.get(near.beat.ready):
                beat = (beat + 1) % BEATS
                if not beat:
                    sent.append(flit)
                    flit = rng.randbytes(640)
            if ready and ctx.get(wire.valid):
                if ctx.get(wire.p.codeword):
                    codewords.append(carried)
                carried += 1
            if ctx.get(far.beat.valid):
                got.take(ctx.get(far.beat.p), cycle)
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    # The first beat sent begins a Start flit, so slot n is the codeword that begins with beat 10 n.
    assert codewords == list(range(0, codewords[-1] + 1, BEATS)) and len(codewords) > 10
    heard = [slot.flit for slot in got.slots if slot.heard is Heard.GOOD]
    assert {slot.heard for slot in got.slots} <= {Heard.GOOD, Heard.CONTROL}
    assert len(heard) > 6 and heard == sent[: len(heard)]
