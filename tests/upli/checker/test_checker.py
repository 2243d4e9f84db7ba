"""What the checker keeps, and what it leaves out when it cannot know."""

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.upli.script import Script, run
from support.upli.violations import SCRIPTS
from support.upli.violations.common import answer, asked, beat, read, write
from ualink.config import CheckerConfig, ConfigError
from ualink.upli.checker.checker import UPLIChecker
from ualink.upli.checker.rules import RULES, TAG_RULES

CIPHER = [
    *("req_reserved", "req_address", "req_boundary", "req_full", "req_atomic"),
    *("orig_data_full", "orig_data_range", "orig_data_element", "orig_data_null"),
    *(rule.name for rule in TAG_RULES),
]
NUMBERS = {rule.name: number for number, rule in enumerate(RULES)}


@pytest.mark.parametrize("name", CIPHER)
def test_of_cipher_text_no_address_data_or_tag_is_judged(name):
    script = SCRIPTS[name](name)
    assert run(UPLIChecker(CheckerConfig(ports=script.ports)), script, encrypted=1)[::2] == ([], 0)


@pytest.mark.parametrize("name", ["req_command", "orig_data_offset", "rd_rsp_gap", "req_slot", "wr_rsp_credit"])
def test_of_cipher_text_the_rest_is_judged(name):
    script = SCRIPTS[name](name)
    found, _, _ = run(UPLIChecker(CheckerConfig(ports=script.ports)), script, encrypted=1)
    assert found == script.bad


@pytest.mark.req("UPLI-159", "UPLI-160", "UPLI-163")
def test_command_and_message_type_say_what_address_and_length_are():
    """Of a Read or Write the first byte and doublewords minus one; of a message nothing unless its type, which is in
    MetaData, says so; of a vendor's anything."""
    anything = {"addr": 0x1FF, "len": 63, "asi": 3, "attr": 0xFF}
    message = {"cmd": 0x2A, "src_phys_acc_id": 7, "dst_phys_acc_id": 9}
    null = {"offset": 0, "last": 1, "byte_en": 0, "data": 0}
    script = Script().connect()
    script.step(req=read(1, addr=0x1FC, len=0))
    script.step(req=read(2, addr=0x1FC, len=1), bad="req_boundary")
    script.step(req=read(3, addr=0x104, len=62))
    script.step(req=read(4, addr=0x104, len=63), bad="req_boundary")
    script.step(req=write(5, addr=0x100, len=15), orig_data=null)
    script.step(req=write(6, addr=0x100, len=16), orig_data=null, bad="req_num_beats")
    script.step(req=read(7, addr=0x1FF, len=0), bad="req_address")
    script.step(req=read(8, cmd=0x08, **anything))
    script.step(req=message | anything | {"tag": 9, "meta_data": 0xF0}, orig_data=null)
    script.step(req=message | anything | {"tag": 10, "meta_data": 0x00}, orig_data=null, bad="req_reserved")
    script.step(req=message | {"tag": 11, "meta_data": 0x00, "len": 63}, orig_data=null)
    found, _, _ = run(UPLIChecker(CheckerConfig()), script)
    assert found == script.bad


def test_the_first_violation_is_kept_with_its_headers():
    script = Script().connect()
    script.step(req=read(3, addr=0x102, src_phys_acc_id=0x3FF), flips={("wr_rsp", "vld_parity"): 1})
    script.step(req=read(4, num_beats=1))
    found, first, _ = run(UPLIChecker(CheckerConfig()), script)
    at = found[0][0]
    assert sorted(found) == sorted([(at, "req_address"), (at, "wr_rsp_vld_parity"), (at + 1, "req_num_beats")])
    # The lowest number of those that come together.
    assert first.rule == NUMBERS["wr_rsp_vld_parity"] < NUMBERS["req_address"]
    assert (first.req.vld, first.req.tag, first.req.addr, first.req.src_phys_acc_id) == (1, 3, 0x102, 0x3FF)
    assert not first.wr_rsp.vld and not first.rd_rsp.vld


def test_clear_makes_place_for_the_next():
    checker = UPLIChecker(CheckerConfig())

    async def bench(ctx):
        ctx.set(checker.upli.wr_rsp.auth_tag, 1)
        await ctx.tick().repeat(4)
        assert ctx.get(checker.first.valid) and ctx.get(checker.first.rule) == NUMBERS["wr_rsp_auth_tag"]
        ctx.set(checker.upli.wr_rsp.auth_tag, 0)
        await ctx.tick().repeat(4)
        assert ctx.get(checker.first.valid) and not ctx.get(Value.cast(checker.violations))
        ctx.set(checker.clear, 1)
        await ctx.tick()
        assert not ctx.get(checker.first.valid)
        ctx.set(checker.upli.req.auth_tag, 1)
        await ctx.tick().repeat(4)
        # What comes with ``clear`` is kept.
        assert ctx.get(checker.first.valid) and ctx.get(checker.first.rule) == NUMBERS["req_auth_tag"]

    simulator = Simulator(checker)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_more_requests_than_it_keeps_end_the_judgement_of_tags():
    script = Script().connect()
    for tag in range(3):
        script.step(req=read(tag))
    script.step(rd_rsp=beat(2))
    script.step(rd_rsp=beat(7))
    assert run(UPLIChecker(CheckerConfig(tracked=2)), script)[::2] == ([], 0)
    found, _, tracking = run(UPLIChecker(CheckerConfig(tracked=3)), script)
    assert [rule for _, rule in found] == ["rd_rsp_tag"] and tracking


def test_a_lost_request_is_followed_by_nothing():
    """Its data and its Response have nothing to be held against."""
    script = Script().connect()
    script.step(req=write(1), orig_data={"last": 1}, flips={("req", "parity"): 1}, bad="req_parity")
    script.step(wr_rsp=answer(1))
    found, _, tracking = run(UPLIChecker(CheckerConfig()), script)
    assert found == script.bad and not tracking


def test_isolate_answers_no_tag_and_is_credited():
    script = Script().connect()
    asked(script, write(1))
    script.step(wr_rsp={"status": 15, "tag": 0x55, "vc": 1, "pool": 0})
    script.step(wr_rsp=answer(1), returns={("wr_rsp", 0): (0, 1, 1)})
    found, _, tracking = run(UPLIChecker(CheckerConfig()), script)
    assert not found and tracking


@pytest.mark.parametrize(
    "values", [{"ports": 3}, {"tracked": -1}, {"tracked": 2049}, {"counter_bits": 2}, {"isolate": 2}]
)
def test_bad_values_are_refused(values):
    with pytest.raises(ConfigError, match=f"upli_checker.{next(iter(values))}"):
        CheckerConfig(**values)
