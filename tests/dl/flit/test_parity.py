"""Single-bit upsets above the replay function: nothing wrong reaches the TL unmarked (UALink_200 §6.7.3-4)."""

import functools
import random

import pytest

from support.dl.upset_bench import LoopBench, strike_at

bench = functools.cache(LoopBench)

CONTROL = {
    ("packer", "state", "q"): "egress",
    ("packer", "state", "parity"): "egress",
    ("packer", "beat__valid"): "egress",
    ("transmit", "state", "q"): "egress",
    ("transmit", "stage", "q"): "egress",
    ("transmit", "verdict", "q"): "egress",
    ("transmit", "buffer", "state", "q"): "egress",
    ("transmit", "buffer", "newest", "q"): "egress",
    ("transmit", "buffer", "pointer", "q"): "egress",
    ("transmit", "buffer", "jump", "q"): "egress",
    ("transmit", "buffer", "reading", "q"): "egress",
    ("transmit", "buffer", "writing", "q"): "egress",
    ("receive_buffer", "state", "q"): "ingress",
    ("unpacker", "state", "q"): "ingress",
    ("unpacker", "state", "parity"): "ingress",
}
"""Control state and where an upset in it must be found, whichever bit it is."""

CONTROL_IN_STEPS = {
    ("packer", "state", "q"): "egress",
    ("packer", "steps", "state", "q"): "egress",
    ("packer", "steps", "state", "parity"): "egress",
    ("receive_buffer", "state", "q"): "ingress",
    ("unpacker", "state", "q"): "ingress",
    ("unpacker", "steps", "state", "q"): "ingress",
    ("unpacker", "steps", "state", "parity"): "ingress",
}
"""The same where beats are made in steps."""

DATA = {
    ("packer", "tail"): "egress",
    ("packer", "beat__payload"): "egress",
    ("packer", "writer", "split"): "egress",
    ("receive_buffer", "storage"): "ingress",
    ("unpacker", "held"): "ingress",
    ("unpacker", "part"): "ingress",
    ("unpacker", "flit"): "ingress",
    ("unpacker", "flit_message"): "ingress",
}
"""What holds bytes for a part of the time only: an upset is found where it is, or does nothing."""


@pytest.mark.req("DL-179", "DL-180")
def test_without_upsets_nothing_is_detected():
    outcome = bench().run(random.Random(1), lambda ctx, loop: "nothing", cycles=110)
    assert not outcome.egress and not outcome.ingress and not outcome.marked


@pytest.mark.req("DL-179", "DL-181", "DL-182")
@pytest.mark.parametrize("path", CONTROL, ids=".".join)
def test_control_state(path):
    rng = random.Random(".".join(path))
    for _ in range(3):
        outcome = bench().run(rng, strike_at(rng, bench().find(*path)))
        assert getattr(outcome, CONTROL[path]), outcome.where


@pytest.mark.req("DL-179", "DL-181", "DL-182")
@pytest.mark.parametrize("path", CONTROL_IN_STEPS, ids=".".join)
def test_control_state_in_steps(path):
    """In any cycle of a beat."""
    rng = random.Random(".".join(path))
    for _ in range(3):
        outcome = bench(4).run(rng, strike_at(rng, bench(4).find(*path)))
        assert getattr(outcome, CONTROL_IN_STEPS[path]), outcome.where


@pytest.mark.req("DL-179", "DL-181", "DL-182")
@pytest.mark.parametrize("bit", range(5))
def test_which_row_an_unhurried_buffer_reads_next(bit):
    """It is in a register there, and another row would have the right parity."""
    own = bench(1, True)
    state = own.find("receive_buffer", "state", "q")

    def strike(ctx, loop):
        # The row is the last member.
        ctx.set(state.signal, ctx.get(state.signal) ^ 1 << state.bits - 1 - bit)
        return f"bit {bit} of the row"

    rng = random.Random(bit)
    assert not own.run(rng, lambda ctx, loop: "nothing").ingress
    assert all(own.run(rng, strike).ingress for _ in range(3))


@pytest.mark.req("DL-179", "DL-182")
def test_where_sectors_go_in_the_last_beat_of_a_flit():
    """No other beat of that flit follows to tell of it: the one that is being made does."""
    half, steps = bench(4).find("packer", "state", "q"), bench(4).find("packer", "steps", "state", "q")
    turned = bench(4).loop.packer.steps.state.d.shape()["turned"].offset
    found, struck = [], []

    def look(ctx, loop):
        # The number of the next is one-hot.
        found.append((ctx.get(half.signal) & 0x3FF).bit_length() - 1)
        return "nothing"

    def strike(ctx, loop):
        struck.append(ctx.get(half.signal) & 1)
        ctx.set(steps.signal, ctx.get(steps.signal) ^ struck[-1] << turned)
        return "a bit of how far a part is turned"

    bench(4).run(random.Random(0), look, at=30, cycles=100, replays=())
    last = 30 + -found[0] % 10
    for seed in range(6):
        outcome = bench(4).run(random.Random(seed), strike, at=last, cycles=110, replays=())
        assert outcome.egress == bool(struck[-1]), outcome.where
    assert sum(struck) > 1


@pytest.mark.req("DL-179", "DL-181", "DL-182")
@pytest.mark.parametrize("path", DATA, ids=".".join)
def test_data(path):
    rng = random.Random(".".join(path))
    for _ in range(40):
        # While TL flits are offered: afterwards there is nothing in these places that is still to come out.
        at = rng.randrange(24, 35)
        outcome = bench().run(rng, strike_at(rng, bench().find(*path)), replays=(), at=at)
        assert not getattr(outcome, "egress" if DATA[path] == "ingress" else "ingress"), outcome.where
        if getattr(outcome, DATA[path]):
            return
    pytest.fail("no upset was found")


@pytest.mark.req("DL-179", "DL-182")
@pytest.mark.parametrize("bit", [0, 300, 511, 512, 575])
def test_flit_that_is_replayed(bit):
    """An upset in TxReplay behind the first transmission spoils the replay, and nothing before."""

    def strike(ctx, loop):
        # Row 3 belongs to the first flit, which has just gone; the bench asks for a replay of everything held now.
        assert ctx.get(loop.held) == 1
        place = bench().find("transmit", "buffer", "storage")
        ctx.set(place.rows[3], ctx.get(place.rows[3]) ^ 1 << bit)
        return f"row 3 bit {bit}"

    outcome = bench().run(random.Random(bit), strike, at=25)
    assert outcome.egress and not outcome.ingress


@pytest.mark.req("DL-179", "DL-182")
@pytest.mark.parametrize("field", ["data", "parity", "message", "error", "control_parity"])
def test_bits_of_a_tl_flit_on_its_way_from_the_tl(field):
    """A bit that flips on the wires from the TL; the bench sets the next TL flit anew."""

    def strike(ctx, loop):
        flit = getattr(loop.tx_flit.p, field)
        ctx.set(flit, ctx.get(flit) ^ 1)
        return field

    rng = random.Random(field)
    outcomes = [bench().run(rng, strike, at=at) for at in (24, 25, 26)]
    assert any(outcome.egress for outcome in outcomes) and not any(outcome.ingress for outcome in outcomes)


@pytest.mark.req("DL-179", "DL-181", "DL-182")
def test_random_upsets():
    """Any bit that the blocks remember, at any time: found, or without effect."""
    rng = random.Random(2)
    outcomes = [bench().run(rng, strike_at(rng, rng.choice(bench().places))) for _ in range(16)]
    assert any(outcome.egress for outcome in outcomes) and any(outcome.ingress for outcome in outcomes)


@pytest.mark.req("DL-179", "DL-181", "DL-182")
def test_random_upsets_in_steps():
    """Of what the steps themselves remember, bytes on their way as well."""
    rng = random.Random(5)
    assert not bench(4).run(rng, lambda ctx, loop: "nothing").egress
    places = [place for place in bench(4).places if place.path[0] in ("packer", "unpacker")]
    outcomes = [bench(4).run(rng, strike_at(rng, rng.choice(places))) for _ in range(10)]
    assert any(outcome.egress for outcome in outcomes) and any(outcome.ingress for outcome in outcomes)
