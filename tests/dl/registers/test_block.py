"""The registers of a data link: everything firmware sets and sees, in the cycles of the port only."""

import re

import pytest
from amaranth.hdl import Value

from support.dl.register_bench import MAP, PORTS, Bench
from ualink.config import DLConfig
from ualink.dl.interface import LinkState
from ualink.dl.registers.firmware import COUNTERS, STATUS_PULSES
from ualink.dl.registers.map import EVENTS, dl_registers


@pytest.mark.req("DL-138", "DL-142")
def test_reset_values_are_those_of_the_standard():
    bench = Bench()

    async def story(ctx):
        config = bench.config
        assert await bench.firmware.get(ctx, "replay_control.rx_replay_limit") == 50 == ctx.get(config.rx_replay_limit)
        assert await bench.firmware.get(ctx, "tx_ack_time_out.flit_times") == 40_000 == ctx.get(config.tx_ack_time_out)
        assert await bench.firmware.get(ctx, "pacing.pace") == 31_250 == ctx.get(config.pace)
        assert not ctx.get(config.enable) and not ctx.get(config.channel_4_online)
        for path, _, value in config.signature.flatten(config):
            assert ctx.get(Value.cast(value)) == Value.cast(value).init, path
        for register in MAP:
            if register.readable and register.name not in ("uart_rx", "link_status", "partner_rate"):
                word, error = await bench.firmware.read(ctx, register.offset)
                assert not error
                reset = sum(f.reset << f.low for f in register.fields if f.access != "ro")
                assert word == reset, register.name

    bench.run(story)


@pytest.mark.req("DL-138", "DL-142")
@pytest.mark.parametrize(
    ("register", "values", "members"),
    [
        ("link_control", {"enable": 1}, {"enable": 1, "channel_0_online": 0, "may_request_channels": 0}),
        ("link_control", {"channel_4_online": 1}, {"channel_4_online": 1, "enable": 0}),
        (
            "replay_control",
            {"rx_replay_limit": 200, "codeword_group": 2},
            {"rx_replay_limit": 200, "codeword_group": 2},
        ),
        ("tx_ack_time_out", {"flit_times": 156_250}, {"tx_ack_time_out": 156_250}),
        ("channel_time_out", {"flit_times": 0xFF_FFFF}, {"channel_time_out": 0xFF_FFFF}),
        ("local_device", {"id": 0x3FF, "type": 1, "valid": 1}, {"local_device": {"id": 0x3FF, "type": 1, "valid": 1}}),
        ("local_port", {"number": 0x2A5, "valid": 1}, {"local_port": {"number": 0x2A5, "valid": 1}}),
        ("pacing", {"pace": 3_125}, {"pace": 3_125}),
        ("announce_rate", {"rate": 20_000}, {"rate": 20_000, "announce_rate": 0}),
        ("uart_reset", {"all_streams": 1}, {"uart_reset_all": 1, "uart_reset": 0}),
        ("inject", {"enable": 1, "select": 7}, {"inject_enable": 1, "inject_select": 7, "inject": 0}),
    ],
)
def test_settings_reach_the_data_link(register, values, members):
    bench = Bench()

    async def story(ctx):
        assert await bench.firmware.put(ctx, register, **values) == 0
        await ctx.tick().repeat(2)
        for name, value in members.items():
            member = getattr(bench.config, name)
            for part, expected in value.items() if isinstance(value, dict) else [(None, value)]:
                assert ctx.get(getattr(member, part) if part else member) == expected, name
        for field, value in values.items():
            assert await bench.firmware.get(ctx, f"{register}.{field}") == value

    bench.run(story)


@pytest.mark.parametrize(
    ("register", "values", "member"),
    [
        *(("replay_control", {"rx_replay_limit": 50, "codeword_group": n}, "codeword_group") for n in (0, 3, 5, 6, 7)),
        *(("replay_control", {"rx_replay_limit": n, "codeword_group": 1}, "rx_replay_limit") for n in (0, 1, 16)),
        *(("pacing", {"pace": n}, "pace") for n in (0, 3_124, 31_251, 0xFFFF)),
        *(("announce_rate", {"rate": n, "start": 1}, "rate") for n in (0, 3_124, 31_251)),
        *(("local_device", {"type": n, "valid": 1}, "local_device") for n in (2, 3)),
        *(("inject", {"select": n, "enable": 1}, "inject_select") for n in (8, 15)),
    ],
)
def test_unsafe_settings_are_refused(register, values, member):
    bench = Bench(ports=4)

    async def story(ctx):
        before = ctx.get(getattr(bench.config, member))
        assert await bench.firmware.put(ctx, register, **values) == 1
        assert await bench.firmware.get(ctx, "events.config_error") == 1
        await ctx.tick().repeat(12)
        assert ctx.get(getattr(bench.config, member)) == before
        assert not ctx.get(bench.config.announce_rate)
        assert await bench.firmware.put(ctx, "events", config_error=1) == 0
        assert await bench.firmware.get(ctx, "events.config_error") == 0

    bench.run(story)


def test_state_of_the_link_is_shown():
    bench = Bench()
    status = bench.status
    shown = {
        "link_status.online": ("online", 1),
        "link_status.online_4": ("online_4", 1),
        "link_status.rx_replay": ("rx_replay", 1),
        "link_status.tx_replay": ("tx_replay", 1),
        "link_status.held": ("held", 0xA5),
        "partner_rate.rate": ("partner_rate", 3_125),
        "ask_device.answered": ("device_answered", 1),
        "ask_port.answered": ("port_answered", 1),
        "announce_rate.answered": ("rate_answered", 1),
        "uart_reset.resetting": ("uart_resetting", 1),
    }

    async def story(ctx):
        for place, (member, value) in shown.items():
            other = 31_250 if member == "partner_rate" else 0
            assert await bench.firmware.get(ctx, place) == other
            ctx.set(getattr(status, member), value)
            assert await bench.firmware.get(ctx, place) == value
            ctx.set(getattr(status, member), other)
        for state in LinkState:
            ctx.set(status.link_state, state)
            code = await bench.firmware.get(ctx, "link_status.link_state")
            assert ("".join(n for n, c in MAP["link_status"]["link_state"].values if c == code)) == state.name.lower()
        ctx.set(status.partner_device, {"id": 0x155, "type": 1, "valid": 1})
        ctx.set(status.partner_port, {"number": 0xABC, "valid": 1})
        # As in the messages of Tables 6-5 and 6-6.
        assert await bench.firmware.read(ctx, MAP["partner_device"].offset) == (0x155 << 16 | 1 << 29 | 1 << 31, 0)
        assert await bench.firmware.read(ctx, MAP["partner_port"].offset) == (0xABC << 16 | 1 << 31, 0)

    bench.run(story)


@pytest.mark.parametrize("ports", PORTS)
def test_pulses_count_in_cycles_of_the_port_only(ports):
    assert {*STATUS_PULSES} == {*EVENTS} - {"config_error"}
    bench = Bench(ports)

    async def story(ctx):
        for name in STATUS_PULSES:
            await bench.look(ctx)
            ctx.set(getattr(bench.status, name), 1)
            if ports > 1:
                await ctx.tick().repeat(ports - 1)
                ctx.set(getattr(bench.status, name), 0)
                assert await bench.firmware.read(ctx, MAP["events"].offset) == (0, 0)
                await ctx.tick().repeat(ports - 1)
                ctx.set(getattr(bench.status, name), 1)
            await bench.look(ctx)
            ctx.set(getattr(bench.status, name), 0)
            assert await bench.firmware.read(ctx, MAP["events"].offset) == (1 << MAP["events"][name].low, 0)
            assert await bench.firmware.put(ctx, "events", **{name: 1}) == 0
            assert await bench.firmware.read(ctx, MAP["events"].offset) == (0, 0)

    bench.run(story)


def level_of_requests(bench, names, levels):
    """A story that notes each level in the cycles of the port, until ``levels`` gets the key "end"."""

    async def watch(ctx):
        while "end" not in levels:
            members = [getattr(bench.config, name) for name in names]
            _, _, here, *values = await ctx.tick().sample(bench.block.here, *members)
            for name, value in zip(names, values):
                levels[name] = levels.get(name, "") + (str(value) if here else "")

    return watch


ANSWERED = {"ask_device": "device_answered", "ask_port": "port_answered", "announce_rate": "rate_answered"}


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("request_name", ANSWERED)
def test_request_is_up_until_its_answer(ports, request_name):
    bench = Bench(ports)
    levels: dict[str, str] = {}
    answered = getattr(bench.status, ANSWERED[request_name])
    fields = {"start": 1} | ({"rate": 9_000} if request_name == "announce_rate" else {})

    async def story(ctx):
        for number in range(3):
            assert await bench.firmware.put(ctx, request_name, **fields) == 0
            # The answer to the last request shows until the data link has seen this one.
            while not ctx.get(getattr(bench.config, request_name)):
                await ctx.tick()
            await bench.look(ctx)
            ctx.set(answered, 0)
            await ctx.tick().repeat(5 + 3 * number)
            assert await bench.firmware.get(ctx, f"{request_name}.start") == 1
            while not ctx.get(bench.block.here):
                await ctx.tick()
            ctx.set(answered, 1)
            await bench.look(ctx)
            assert await bench.firmware.get(ctx, f"{request_name}.start") == 0
        # No answer comes: firmware gives up and asks again.
        await bench.firmware.put(ctx, request_name, **fields)
        await ctx.tick().repeat(3 * ports)
        ctx.set(answered, 0)
        await bench.firmware.put(ctx, request_name, **(fields | {"start": 0}))
        await bench.firmware.put(ctx, request_name, **fields)
        await ctx.tick().repeat(4 * ports)
        levels["end"] = ""

    bench.run(story, level_of_requests(bench, [request_name], levels))
    assert re.fullmatch("(0+1+){5}", levels[request_name]), levels


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("others", ["none", "ends as it is seen", "ends one cycle late"])
def test_uart_reset_is_done_when_it_ends(ports, others):
    """A reset by the partner may end about when the data link first sees the request for the own one."""
    bench = Bench(ports)

    async def story(ctx):
        resetting = bench.status.uart_resetting
        ctx.set(resetting, others != "none")
        await bench.look(ctx)
        await bench.firmware.put(ctx, "uart_reset", start=1)
        while not ctx.get(bench.config.uart_reset):
            await ctx.tick()
        ctx.set(resetting, others == "ends one cycle late")
        await bench.look(ctx)
        ctx.set(resetting, others == "ends as it is seen")
        await bench.look(ctx)
        ctx.set(resetting, 1)
        for _ in range(3):
            await bench.look(ctx)
            assert await bench.firmware.get(ctx, "uart_reset.start") == 1
        ctx.set(resetting, 0)
        await bench.look(ctx)
        await bench.look(ctx)
        assert await bench.firmware.get(ctx, "uart_reset.start") == 0
        assert not ctx.get(bench.config.uart_reset)

    bench.run(story)


@pytest.mark.parametrize("ports", PORTS)
def test_injection_lasts_one_cycle_of_the_port(ports):
    bench = Bench(ports)
    levels: dict[str, str] = {}

    async def story(ctx):
        for _ in range(3):
            await bench.firmware.put(ctx, "inject", start=1)
            while await bench.firmware.get(ctx, "inject.start"):
                pass
        await ctx.tick().repeat(3 * ports)
        levels["end"] = ""

    bench.run(story, level_of_requests(bench, ["inject"], levels))
    assert re.fullmatch("0+10+10+10+", levels["inject"])


@pytest.mark.parametrize("ports", PORTS)
def test_uart_buffers(ports):
    """Firmware fills the Tx buffer and one word more, sees how full it is, and reads what the partner sent."""
    bench = Bench(ports)
    firmware = bench.firmware
    words = [0x1000 + n for n in range(9)]

    async def story(ctx):
        errors = [await firmware.put(ctx, "uart_tx", data=word) for word in words]
        assert errors == [0] * 5 + [1] * 4
        assert await firmware.get(ctx, "uart_levels.tx") == 5
        assert [await firmware.get(ctx, f"uart_depths.{way}") for way in ("tx", "rx")] == [128, 128]
        for word in words[:5]:
            await ctx.tick().repeat(2 * ports)
            assert ctx.get(bench.sent.output.valid) and ctx.get(bench.sent.output.payload) == word
            ctx.set(bench.sent.output.ready, 1)
            await ctx.tick()
            ctx.set(bench.sent.output.ready, 0)
        assert await firmware.get(ctx, "uart_levels.tx") == 0
        assert await firmware.read(ctx, MAP["uart_rx"].offset) == (0, 1)
        for word in words[:3]:
            ctx.set(bench.partner.payload, word)
            ctx.set(bench.partner.valid, 1)
            await ctx.tick().until(bench.partner.ready)
            ctx.set(bench.partner.valid, 0)
        await ctx.tick()
        assert await firmware.get(ctx, "uart_levels.rx") == 3
        for word in words[:3]:
            assert await firmware.read(ctx, MAP["uart_rx"].offset) == (word, 0)
        assert await firmware.read(ctx, MAP["uart_rx"].offset) == (0, 1)

    bench.run(story)


@pytest.mark.parametrize("ports", [2, 4])
@pytest.mark.parametrize("wait", range(4))
def test_late_levels_are_never_wrong(ports, wait):
    """Whenever firmware looks, the levels are what went in and what came out."""
    bench = Bench(ports, depth=8, late=True)
    firmware = bench.firmware

    async def story(ctx):
        for level in range(1, 9):
            assert await firmware.put(ctx, "uart_tx", data=level) == 0
            if wait:
                await ctx.tick().repeat(wait)
            assert await firmware.get(ctx, "uart_levels.tx") == level
            ctx.set(bench.partner.payload, level)
            ctx.set(bench.partner.valid, 1)
            await ctx.tick().until(bench.partner.ready)
            ctx.set(bench.partner.valid, 0)
        await ctx.tick().repeat(3 * ports)
        for level in range(8, 0, -1):
            assert await firmware.get(ctx, "uart_levels.rx") == level
            assert await firmware.read(ctx, MAP["uart_rx"].offset) == (9 - level, 0)
            if wait:
                await ctx.tick().repeat(wait)
        assert await firmware.get(ctx, "uart_levels.rx") == 0

    bench.run(story)


def test_every_counter_has_a_register():
    bench = Bench()

    async def story(ctx):
        for number, name in enumerate(COUNTERS):
            ctx.set(getattr(bench.status, name), 0xFFFF_0000 + number)
            assert MAP[name].doc.count(" ") > 1
        await bench.firmware.put(ctx, "snapshot", start=1)
        for name in COUNTERS:
            ctx.set(getattr(bench.status, name), 5)
        for number, name in enumerate(COUNTERS):
            assert await bench.firmware.read(ctx, MAP[name].offset) == (0xFFFF_0000 + number, 0)
        await bench.firmware.put(ctx, "snapshot", start=1)
        assert await bench.firmware.get(ctx, f"{COUNTERS[-1]}.count") == 5

    bench.run(story)


def test_every_member_of_both_signatures_has_a_place():
    """A member that nothing in the map sets or shows would be useless."""
    from ualink.dl.registers.block import _SETTINGS, _SHOWN, _places

    set_, shown = ({member.split(".")[0] for member, *_ in _places(table)} for table in (_SETTINGS, _SHOWN))
    assert set_ == {*Bench().config.signature.members}
    elsewhere = {"uart_tx_level", "uart_rx_level", *STATUS_PULSES, *COUNTERS}
    assert shown | elsewhere == {*Bench().status.signature.members}


def test_small_replay_limit_of_a_build_is_legal():
    assert min(dl_registers(DLConfig(rx_replay_limit=8))["replay_control"]["rx_replay_limit"].allowed) == 8
