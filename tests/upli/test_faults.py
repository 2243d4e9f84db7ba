"""Flipped bits between the agents: each is reported in its class, data come out poisoned, a bad beat not at all."""

import pytest

from support.upli.pair import POISON, Pair, Traffic, arrives_as, field, members, simulate
from ualink.config import Credits, UPLIConfig
from ualink.upli.channels import CHANNEL_LAYOUTS, UPLISignature

CONFIG = UPLIConfig(req=Credits(pool=8), orig_data=Credits(pool=8), rd_rsp=Credits(pool=8), wr_rsp=Credits(pool=8))
RECEIVER = {"req": "completer", "orig_data": "completer", "rd_rsp": "originator", "wr_rsp": "originator"}
SENDER = {"req": "originator", "orig_data": "originator", "rd_rsp": "completer", "wr_rsp": "completer"}

# Control fields and parities of each channel.
HARMLESS = {
    "req": ("addr", "tag", "len", "attr", "meta_data", "src_phys_acc_id", "dst_phys_acc_id", "addr_parity", "parity"),
    "orig_data": ("fields_parity", "error"),
    "rd_rsp": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "data_error", "parity"),
    "wr_rsp": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "parity"),
}
DATA = {"orig_data": ("data", "data_parity", "byte_en", "byte_en_parity"), "rd_rsp": ("data", "data_parity")}


def inject(cases, *, go_on=False):
    """For each of ``cases`` (path, bit, when), after a reset each: flip one bit of ``path`` in one cycle in which
    ``when(ctx, pair)``. Gives per case the errors of both agents two cycles later, as (class, channel), and, with
    ``go_on``, what was sent and what had arrived when all was quiet."""
    pair = Pair(CONFIG, 1, {path: None for path, _, _ in cases})
    traffic = Traffic(pair, CONFIG, f"{cases[0][0]}", judge=False, offer=0.9, take=0.9)
    results = []

    async def bench(ctx):
        for path, bit, when in cases:
            await traffic.run(ctx, 15)
            assert not ctx.get(pair.originator.errors.as_value() | pair.completer.errors.as_value())
            hit = False
            while not hit:
                traffic.drive(ctx)
                hit = when(ctx, pair)
                ctx.set(pair.faults[path], 1 << bit if hit else 0)
                await traffic.finish(ctx)
            ctx.set(pair.faults[path], 0)
            # It is judged in the next cycle.
            await traffic.run(ctx, 1)
            result = {side: _errors(ctx, getattr(pair, side)) for side in ("originator", "completer")}
            if go_on:
                await traffic.run(ctx, 10)
                await traffic.run(ctx, 25, more=False)
                assert not any(traffic.pending.values())
                for side in ("originator", "completer"):
                    assert bool(ctx.get(getattr(pair, side).errors.as_value())) == bool(result[side])
            results.append((result, traffic.accepted, traffic.received))
            await traffic.reset(ctx)

    simulate(pair, bench)
    return results


def _errors(ctx, agent):
    kinds = ("data", "control", "protocol")
    errors = {(kind, name) for kind in kinds for name in CHANNEL_LAYOUTS if ctx.get(agent.errors[kind][name])}
    sums = ctx.get(agent.data_error), ctx.get(agent.control_error), ctx.get(agent.protocol_error)
    assert sums == tuple(kind in {kind for kind, _ in errors} for kind in kinds)
    return errors


def beat_of(channel):
    return lambda ctx, pair: ctx.get(getattr(pair.upli, channel).vld)


@pytest.mark.req("RAS-034", "RAS-038", "UPLI-172", "UPLI-173", "UPLI-245", "UPLI-276", "UPLI-294", "RAS-083")
@pytest.mark.parametrize("channel", HARMLESS)
def test_control_error(channel):
    """Kept by the receiver of the channel; the beat is dropped, with its transfer, and no other beat changes."""
    cases = [((channel, name), 0, beat_of(channel)) for name in HARMLESS[channel]]
    for result, accepted, received in inject(cases, go_on=True):
        assert result == {RECEIVER[channel]: {("control", channel)}, SENDER[channel]: set()}
        for key, sent in accepted.items():
            expected = [arrives_as(key[0], beat) for beat in sent]
            arrived = [beat for beat in received[key] if beat in expected]
            assert all(_filled(key[0], beat) for beat in received[key] if beat not in expected)
            missing = [n for n, beat in enumerate(expected) if beat not in arrived]
            assert [beat for n, beat in enumerate(expected) if n not in missing] == arrived
            related = {"req": ("req", "orig_data"), "orig_data": ("req", "orig_data")}.get(channel, (channel,))
            assert len(missing) <= (4 if key[0] in related else 0)
            assert missing or key[0] != channel, "the bad beat came through"
            # What is missing stood together.
            assert missing == list(range(*([missing[0], missing[-1] + 1] if missing else [0])))


def _filled(channel, beat):
    """Whether ``beat`` stands for one that was dropped in the middle of its transfer."""
    enables = channel == "orig_data" and field(channel, beat, "byte_en")
    return channel in POISON and field(channel, beat, POISON[channel]) and not enables


@pytest.mark.req("RAS-035", "RAS-076", "RAS-077", "RAS-078", "UPLI-256", "UPLI-258", "UPLI-297", "UPLI-237")
@pytest.mark.parametrize("channel", DATA)
def test_data_error(channel):
    """The one beat comes out poisoned, whichever of data, enables or their parity was hit; nothing else changes."""
    widths = {path: len(signal) for path, signal in members(UPLISignature().create())}
    paths = [(channel, name) for name in DATA[channel]]
    cases = [(path, bit % widths[path], beat_of(channel)) for path in paths for bit in (0, 7, 63)]
    layout = CHANNEL_LAYOUTS[channel]
    for result, accepted, received in inject(cases, go_on=True):
        assert result == {RECEIVER[channel]: {("data", channel)}, SENDER[channel]: set()}
        hit = 0
        for key, sent in accepted.items():
            assert len(received[key]) == len(sent)
            for beat, arrived in zip(sent, received[key]):
                expected = arrives_as(key[0], beat)
                if expected == arrived:
                    continue
                hit += 1
                assert key[0] == channel and field(channel, arrived, POISON[channel]) == 1
                for name in {POISON[channel], "data", "byte_en"} & set(layout.members):
                    clear = ~((1 << layout[name].width) - 1 << layout[name].offset)
                    expected, arrived = expected & clear, arrived & clear
                assert expected == arrived
        assert hit <= 1


@pytest.mark.req("UPLI-171", "UPLI-243", "UPLI-275", "UPLI-291", "RAS-019", "RAS-020")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_valid_parity(channel):
    """Reported with a beat and without."""
    path, beat = (channel, "vld_parity"), beat_of(channel)
    for result, *_ in inject([(path, 0, beat), (path, 0, lambda ctx, pair: not beat(ctx, pair))]):
        assert result[RECEIVER[channel]] == {("control", channel)}


@pytest.mark.req("UPLI-174", "UPLI-175", "UPLI-246", "UPLI-247", "UPLI-277", "UPLI-278", "UPLI-295", "UPLI-296")
@pytest.mark.req("RAS-026", "RAS-027", "RAS-034")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_credit_parity(channel):
    """By the sender of the channel: over the valids in any cycle, over the fields with a return of any port only."""

    def returns(ctx, pair):
        return bool(ctx.get(getattr(pair.upli, channel).credit.vld))

    cases = [((channel, "credit", name), 0, lambda ctx, pair: True) for name in ("vld", "vld_parity")]
    for signal in (("pool",), ("port_vc", 0), ("port_num", 3), ("parity",)):
        path = (channel, "credit", *signal)
        cases += [(path, 0, returns), (path, 0, lambda ctx, pair: not returns(ctx, pair))]
    expected = [True, True, *(True, False) * 4]
    for (result, *_), reported in zip(inject(cases), expected):
        assert result[SENDER[channel]] == ({("control", channel)} if reported else set())


@pytest.mark.req("RST-016", "RST-017", "UPLI-083", "UPLI-133", "RAS-022")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_fields_without_a_beat_are_ignored(channel):
    """Whatever the fields and their parity are without a valid beat, nothing is reported and nothing arrives."""
    paths = [
        (channel, name)
        for name, member in UPLISignature().members[channel].signature.members.items()
        if not member.is_signature and name not in ("vld", "vld_parity")
    ]
    pair = Pair(CONFIG, 2, paths)
    traffic = Traffic(pair, CONFIG, channel, offer=0.3)

    async def bench(ctx):
        for _ in range(80):
            traffic.drive(ctx)
            idle = not ctx.get(getattr(pair.upli, channel).vld)
            for path in paths:
                ctx.set(pair.faults[path], traffic.bits(576) if idle else 0)
            await traffic.finish(ctx)
        assert sum(map(len, traffic.received.values())) > 30
        traffic.check_order(complete=False)
        assert not ctx.get(pair.originator.errors.as_value() | pair.completer.errors.as_value())

    simulate(pair, bench)
