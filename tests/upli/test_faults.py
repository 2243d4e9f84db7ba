"""Flipped bits between the agents: each is reported in its class, data comes out poisoned, and traffic goes on."""

import pytest

from ualink.config import Credits, UPLIConfig
from ualink.upli.channels import CHANNEL_LAYOUTS, UPLISignature
from upli_pair import POISON, Pair, Traffic, arrives_as, field, members, simulate

CONFIG = UPLIConfig(req=Credits(pool=8), orig_data=Credits(pool=8), rd_rsp=Credits(pool=8), wr_rsp=Credits(pool=8))
RECEIVER = {"req": "completer", "orig_data": "completer", "rd_rsp": "originator", "wr_rsp": "originator"}

# Control fields and parities whose flip moves no credit and no port, so that traffic goes on undisturbed.
HARMLESS = {
    "req": ("addr", "tag", "len", "attr", "meta_data", "src_phys_acc_id", "dst_phys_acc_id", "addr_parity", "parity"),
    "orig_data": ("fields_parity", "error"),
    "rd_rsp": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "data_error", "parity"),
    "wr_rsp": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "parity"),
}
DATA = {"orig_data": ("data", "data_parity", "byte_en", "byte_en_parity"), "rd_rsp": ("data", "data_parity")}


def inject(path, bit, when, *, go_on=False):
    """Flip one bit of ``path`` in one cycle in which ``when(ctx, pair)``; the errors of both agents right after it and,
    with ``go_on``, when all beats have arrived."""
    pair = Pair(CONFIG, 1, [path])
    traffic = Traffic(pair, CONFIG, f"{path}", judge=False, offer=0.9, take=0.9)
    seen = {}

    async def bench(ctx):
        await traffic.run(ctx, 15)
        assert not ctx.get(pair.originator.errors.as_value() | pair.completer.errors.as_value())
        while True:
            traffic.drive(ctx)
            hit = when(ctx, pair)
            ctx.set(pair.faults[path], 1 << bit if hit else 0)
            await traffic.finish(ctx)
            if hit:
                break
        ctx.set(pair.faults[path], 0)
        for side in ("originator", "completer"):
            agent = getattr(pair, side)
            seen[side] = {
                (kind, name)
                for kind in ("data", "control", "protocol")
                for name in CHANNEL_LAYOUTS
                if ctx.get(agent.errors[kind][name])
            }
            sums = tuple(ctx.get(s) for s in (agent.data_error, agent.control_error, agent.protocol_error))
            kinds = {kind for kind, _ in seen[side]}
            assert sums == tuple(kind in kinds for kind in ("data", "control", "protocol"))
        if not go_on:
            return
        await traffic.run(ctx, 10)
        await traffic.run(ctx, 25, more=False)
        seen["after"] = {
            side: bool(ctx.get(getattr(pair, side).errors.as_value())) for side in ("originator", "completer")
        }

    simulate(pair, bench)
    return seen, traffic


def beat_of(channel):
    return lambda ctx, pair: ctx.get(getattr(pair.upli, channel).vld)


@pytest.mark.req("RAS-034", "RAS-038", "UPLI-172", "UPLI-173", "UPLI-245", "UPLI-276", "UPLI-294")
@pytest.mark.parametrize(("channel", "name"), [(c, name) for c, names in HARMLESS.items() for name in names])
def test_control_error(channel, name):
    """Reported once and for good by the receiver of the channel; every beat still arrives, later ones untouched."""
    seen, traffic = inject((channel, name), 0, beat_of(channel), go_on=True)
    other = {"originator": "completer", "completer": "originator"}[RECEIVER[channel]]
    assert seen[RECEIVER[channel]] == {("control", channel)}
    assert seen[other] == set()
    assert seen["after"] == {RECEIVER[channel]: True, other: False}
    assert not any(traffic.pending.values())
    wrong = 0
    for key, sent in traffic.accepted.items():
        assert len(traffic.received[key]) == len(sent)
        wrong += sum(arrives_as(key[0], beat) != arrived for beat, arrived in zip(sent, traffic.received[key]))
    assert wrong <= 1


@pytest.mark.req("RAS-035", "RAS-076", "RAS-077", "RAS-078", "UPLI-256", "UPLI-258", "UPLI-297", "UPLI-237")
@pytest.mark.parametrize("bit", [0, 7, 40])
@pytest.mark.parametrize(("channel", "name"), [(c, name) for c, names in DATA.items() for name in names])
def test_data_error(channel, name, bit):
    """The one beat comes out poisoned, whichever of data, enables or their parity was hit; nothing else changes."""
    width = dict((path, len(signal)) for path, signal in members(UPLISignature().create()))[channel, name]
    seen, traffic = inject((channel, name), bit % width, beat_of(channel), go_on=True)
    assert seen[RECEIVER[channel]] == {("data", channel)}
    assert not any(traffic.pending.values())
    hit = 0
    for (channel_of, port), sent in traffic.accepted.items():
        received = traffic.received[channel_of, port]
        assert len(received) == len(sent)
        for before, after in zip(sent, received):
            if arrives_as(channel_of, before) != after:
                hit += 1
                assert channel_of == channel and field(channel, after, POISON[channel]) == 1
                layout = CHANNEL_LAYOUTS[channel]
                for name in {POISON[channel], "data", "byte_en"} & set(layout.members):
                    place = layout[name]
                    clear = ~((1 << place.width) - 1 << place.offset)
                    before, after = before & clear, after & clear
                assert before == after
    assert hit <= 1


@pytest.mark.req("UPLI-171", "UPLI-243", "UPLI-275", "UPLI-291", "RAS-019", "RAS-020")
@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_valid_parity(channel, idle):
    seen, _ = inject((channel, "vld_parity"), 0, lambda ctx, pair: ctx.get(getattr(pair.upli, channel).vld) != idle)
    assert seen[RECEIVER[channel]] == {("control", channel)}


@pytest.mark.req("UPLI-174", "UPLI-246", "UPLI-277", "UPLI-295", "RAS-026", "RAS-034")
@pytest.mark.parametrize("signal", ["vld", "vld_parity"])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_credit_valid_parity(channel, signal):
    """Reported in any cycle by the sender of the channel."""
    seen, _ = inject((channel, "credit", signal), 0, lambda ctx, pair: True)
    sender = {"originator": "completer", "completer": "originator"}[RECEIVER[channel]]
    assert seen[sender] == {("control", channel)}


@pytest.mark.req("UPLI-175", "UPLI-247", "UPLI-278", "UPLI-296", "RAS-027", "RAS-034")
@pytest.mark.parametrize("signal", [("pool",), ("port_vc", 0), ("port_num", 3), ("parity",)])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_credit_parity(channel, signal):
    """Reported with a return of any port only."""
    sender = {"originator": "completer", "completer": "originator"}[RECEIVER[channel]]

    def returns(ctx, pair):
        return bool(ctx.get(getattr(pair.upli, channel).credit.vld))

    seen, _ = inject((channel, "credit", *signal), 0, returns)
    assert seen[sender] == {("control", channel)}
    seen, _ = inject((channel, "credit", *signal), 0, lambda ctx, pair: not returns(ctx, pair))
    assert seen[sender] == set()


@pytest.mark.req("RST-016", "RST-017", "UPLI-083")
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
