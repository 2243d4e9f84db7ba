"""Every parity group, bit by bit, against the tables of the standard."""

import random

import pytest
from amaranth.hdl import Module, Signal, Value

from support.upli.pair import simulate
from support.upli.wire import PARITY, ones
from ualink.upli.channels import CHANNEL_LAYOUTS, CreditReturnSignature
from ualink.upli.parity import beat_parity, control_mismatch, credit_mismatch, credit_parity, data_mismatch
from ualink.upli.sender import CHANNEL_SIGNATURES

UNCOVERED = {"asi", "auth_tag", "pool"}
"""Fields that no parity of this revision covers (ruling A-12 of UPLI)."""


def settle(check, drive):
    """Run ``check(ctx, values)`` on combinational ``drive``: name to expression."""
    m = Module()
    values = {name: Signal(len(Value.cast(expression)), name=name) for name, expression in drive.items()}
    for name, expression in drive.items():
        m.d.comb += values[name].eq(expression)

    async def bench(ctx):
        check(ctx, values)

    simulate(m, bench, clock=False)


@pytest.mark.req("UPLI-172", "UPLI-173", "UPLI-244", "UPLI-245", "UPLI-276", "UPLI-291", "UPLI-292", "UPLI-293")
@pytest.mark.req("UPLI-294", "RAS-017", "RAS-018", "RAS-023", "RAS-024", "RAS-031", "RAS-032", "RAS-033")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_cover(channel):
    """Each single bit of a field turns exactly the parity bits that cover it."""
    interface = CHANNEL_SIGNATURES[channel]().create()
    rng = random.Random(channel)
    fields = {"port_id": 2, "pool": 1, **{name: place.width for name, place in CHANNEL_LAYOUTS[channel]}}
    counted = dict.fromkeys(PARITY[channel], 0)

    def check(ctx, values):
        for name, width in fields.items():
            ctx.set(getattr(interface, name), rng.getrandbits(width))
        for name, width in fields.items():
            signal = getattr(interface, name)
            for bit in range(width) if name != "data" else rng.sample(range(width), 48):
                before = {parity: ctx.get(value) for parity, value in values.items()}
                ctx.set(signal, ctx.get(signal) ^ 1 << bit)
                turned = {parity: ctx.get(value) ^ before[parity] for parity, value in values.items()}
                expected = dict.fromkeys(values, 0)
                for parity, (cover, _) in PARITY[channel].items():
                    if name in cover.split():
                        expected[parity] = 1
                        counted[parity] += 1
                if name == "data":
                    expected["data_parity"] = 1 << bit // 64
                assert turned == expected, (name, bit)
                assert any(expected.values()) != (name in UNCOVERED)
        assert counted == {parity: bits for parity, (_, bits) in PARITY[channel].items()}
        for parity, (cover, _) in PARITY[channel].items():
            total = sum(ones(ctx.get(getattr(interface, name))) for name in cover.split())
            assert (total + ctx.get(values[parity])) % 2 == 0

    settle(check, beat_parity(channel, interface))


def test_printed_vectors():
    """Small vectors worked by hand."""
    orig_data = CHANNEL_SIGNATURES["orig_data"]().create()
    credit = CreditReturnSignature().create()

    def check(ctx, values):
        ctx.set(orig_data.byte_en, 0xFFFF)
        assert ctx.get(values["byte_en_parity"]) == 0
        ctx.set(orig_data.byte_en, 0x7500000000000000)
        assert ctx.get(values["byte_en_parity"]) == 1
        ctx.set(orig_data.data, 1)
        assert ctx.get(values["data_parity"]) == 0b00000001
        ctx.set(credit.vld, 0b0111)
        assert ctx.get(values["vld_parity"]) == 1
        ctx.set(credit.pool, 0b0001)
        ctx.set(credit.port_vc[0], 2)
        ctx.set(credit.port_num[0], 3)
        assert ctx.get(values["parity"]) == 0

    settle(check, {**beat_parity("orig_data", orig_data), **credit_parity(credit)})


@pytest.mark.req("UPLI-171", "UPLI-243", "UPLI-275", "UPLI-291", "RAS-020", "RAS-021", "RAS-035")
@pytest.mark.req("RST-016", "RST-017")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_mismatch(channel):
    """Wrong parity over the valid counts always, the rest with a beat; data and byte enables make a Data Error."""
    interface = CHANNEL_SIGNATURES[channel]().create()
    rng = random.Random(channel)
    parities = [name for name in interface.signature.members if name.endswith("parity") and name != "vld_parity"]

    def check(ctx, values):
        for vld in (0, 1):
            ctx.set(interface.vld, vld)
            ctx.set(interface.vld_parity, vld)
            for name, place in CHANNEL_LAYOUTS[channel]:
                ctx.set(getattr(interface, name), rng.getrandbits(place.width))
            for name in parities:
                ctx.set(getattr(interface, name), ctx.get(values[name]))
            assert not ctx.get(values["control"]) and not ctx.get(values["data"])
            ctx.set(interface.vld_parity, 1 - vld)
            assert ctx.get(values["control"])
            ctx.set(interface.vld_parity, vld)
            for name in parities:
                signal = getattr(interface, name)
                for bit in range(len(signal)):
                    ctx.set(signal, ctx.get(signal) ^ 1 << bit)
                    is_data = name in ("data_parity", "byte_en_parity")
                    assert ctx.get(values["control"]) == (bool(vld) and not is_data), name
                    if vld:
                        assert ctx.get(values["data"]) == is_data, name
                    ctx.set(signal, ctx.get(signal) ^ 1 << bit)

    drive = {"control": control_mismatch(channel, interface), "data": data_mismatch(channel, interface)}
    settle(check, {**beat_parity(channel, interface), **drive})


@pytest.mark.req("UPLI-174", "UPLI-175", "UPLI-246", "UPLI-247", "UPLI-277", "UPLI-278", "UPLI-295", "UPLI-296")
@pytest.mark.req("RAS-025", "RAS-026", "RAS-027")
def test_credit_mismatch():
    """Each bit of a credit return is covered by its parity; the fields count only with a valid return of any port."""
    credit = CreditReturnSignature().create()
    rng = random.Random(0)

    def check(ctx, values):
        for vld in range(16):
            ctx.set(credit.vld, vld)
            fields = [credit.pool, *credit.port_vc, *credit.port_num]
            for signal in fields:
                ctx.set(signal, rng.getrandbits(len(signal)))
            ctx.set(credit.vld_parity, ones(vld) % 2)
            ctx.set(credit.parity, sum(ones(ctx.get(signal)) for signal in fields) % 2)
            assert not ctx.get(values["wrong"])
            ctx.set(credit.vld_parity, 1 - ones(vld) % 2)
            assert ctx.get(values["wrong"])
            ctx.set(credit.vld_parity, ones(vld) % 2)
            for signal in fields:
                for bit in range(len(signal)):
                    ctx.set(signal, ctx.get(signal) ^ 1 << bit)
                    assert ctx.get(values["wrong"]) == (vld != 0)
                    ctx.set(signal, ctx.get(signal) ^ 1 << bit)
            ctx.set(credit.init_done, rng.getrandbits(4))
            assert not ctx.get(values["wrong"])

    settle(check, {"wrong": credit_mismatch(credit)})
