"""Every illegal flit is found by the checker under the name of its rule, alone and at once."""

import re

import pytest

from support.bfm.tl.fake_link import SMALL, FakeLink
from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.illegal import ILLEGAL, IllegalTraffic, NothingBrokenError
from ualink_sim.bfm.tl.legal import LegalTraffic, Weights
from ualink_sim.bfm.tl.options import NATURAL_LIMITS, TLOptions
from ualink_sim.bfm.tl.rules import RULES, TLProtocolError
from ualink_sim.model.tl.fields import Credit, FlowControl, encode_control_half_flit
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, NOP_MESSAGE, message_half_flit

BY_THE_SIGNALS = {"known", "stable"}
"""Rules of the stream, which test_bus.py breaks."""

ACCEPTED = {"spare", "unused_tags", "message_type", "poison_pair", "byte_enables", "backoff", "response_members"}
ACCEPTED |= {"compressed_meta_data", "atomic_beats", "release_twice", "encrypted_response"}
"""Rules that a receiver need not enforce."""

CASES = [
    pytest.param(name, marks=pytest.mark.req(*RULES[case.rule].requirements), id=name.replace(" ", "-"))
    for name, case in ILLEGAL.items()
]
LIMIT = 2000


def illegal_link(name, seed=1, authentication=False):
    """A link whose device breaks one rule."""
    rule = ILLEGAL[name].rule
    options = TLOptions(
        authentication=authentication or ILLEGAL[name].needs_authentication,
        encryption=rule == "encrypted_response",
        tx_rows=8 if rule == "cache_size" else 1024,
        limits=NATURAL_LIMITS | ({"compressed_responses": 2} if rule == "backoff" else {}),
        buffers=SMALL,
    )
    weights = Weights(hold=0.03, resume=0.02)
    device = IllegalTraffic(name, options, seed, weights, start=20)
    return FakeLink(device, LegalTraffic(options.partner(), seed + 100, weights))


@pytest.mark.parametrize("name", CASES)
def test_broken_rule_is_found(name):
    link, case = illegal_link(name), ILLEGAL[name]
    for _ in range(LIMIT):
        link.step()
        if link.ends[0].broken is not None:
            break
    text, section, numbers = RULES[case.rule]
    assert link.found and {error.rule for error in link.found} == {case.rule}
    assert {error.flit for error in link.found} == {link.ends[0].broken}
    assert re.fullmatch(
        rf"flit \d+: {case.rule}: {re.escape(text)} \({section}; {', '.join(numbers)}\)(: .+)?", str(link.found[0])
    )
    # The model's receiver is no more patient than it may be.
    assert bool(link.ends[1].failed) == (case.rule not in ACCEPTED)
    assert not link.others


def test_every_rule_is_broken_somewhere():
    assert {case.rule for case in ILLEGAL.values()} | BY_THE_SIGNALS == set(RULES)


@pytest.mark.req("TL-220", "TL-088")
@pytest.mark.parametrize("name", ["unknown_ftype", "poisoned_control", "nop_not_zero", "too_many_responses"])
def test_receiver_forwards_nothing_after_a_fatal_error(name):
    link = illegal_link(name)
    while link.ends[0].broken is None:
        link.step()
    arrived = len(link.ends[1].received)
    link.step(50)
    assert link.ends[1].failed and len(link.ends[1].received) == arrived


@pytest.mark.parametrize("name", ["overdrawn req_cmd Pool", "unknown_ftype", "five_tags"])
def test_illegal_with_authentication(name):
    link = illegal_link(name, seed=3, authentication=True)
    for _ in range(LIMIT):
        link.step()
        if link.ends[0].broken is not None:
            break
    assert [error.rule for error in link.found] == [ILLEGAL[name].rule]


@pytest.mark.req("TL-155", "TL-166", "TL-168", "TL-169")
@pytest.mark.parametrize("shared, needed", [(False, ["rsp_data"]), (True, [])])
def test_initial_credits_of_one_data_class(shared, needed):
    """All classes but Response data are announced, which is enough with a shared buffer only."""
    found = []
    checker = LinkChecker(on_error=found.append)
    credits = FlowControl(req_cmd=Credit(1), rsp_cmd=Credit(1), req_data=Credit(4))
    checker.sent(encode_control_half_flit([(0, credits)]) + bytes(32), 0)
    checker.sent(message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE, bytes([shared])) + bytes(32), 0b01)
    assert [(error.rule, str(error).split(": ")[-1]) for error in found] == [
        ("initial_credits", kind) for kind in needed
    ]


@pytest.mark.parametrize("name", [name for name in ILLEGAL if re.match("overdrawn ..._data", name)])
def test_data_credits_are_overdrawn_though_there_are_many(name):
    """With the sixteen buffers that a link has unless told otherwise, not only with four."""
    options = TLOptions()
    traffic = IllegalTraffic(name, options, 2, start=20)
    traffic.patience = 3000
    link = FakeLink(traffic, LegalTraffic(options.partner(), 3))
    while link.ends[0].broken is None:
        link.step()
    assert [error.rule for error in link.found] == [ILLEGAL[name].rule]


def test_illegal_traffic_tells_that_it_broke_nothing():
    """Without backoff mode there is none to exceed."""
    traffic = IllegalTraffic("beyond_backoff", start=10)
    traffic.patience = 30
    link = FakeLink(traffic, LegalTraffic(TLOptions().partner()))
    link.step(40)
    with pytest.raises(NothingBrokenError, match=r"'beyond_backoff' has broken nothing in 40 flits, .* after 10"):
        link.ends[0].require_broken()
    with pytest.raises(NothingBrokenError):
        link.step()
    assert not link.found


def test_an_unknown_illegality_is_refused_and_the_known_ones_are_named():
    with pytest.raises(ValueError, match=r"illegality is 'overdrawn'; known are .*'overdrawn req_data VC 1', "):
        IllegalTraffic("overdrawn")


def test_some_rules_need_authentication():
    with pytest.raises(ValueError, match="five_tags needs authentication"):
        IllegalTraffic("five_tags", TLOptions())


def test_first_error_is_raised_unless_they_are_gathered():
    checker = LinkChecker()
    with pytest.raises(TLProtocolError, match=r"flit 1: message_type: .*0x7f") as caught:
        checker.sent(message_half_flit(0x7F) + bytes(32), 0b01)
    assert (caught.value.rule, caught.value.flit, caught.value.requirements) == ("message_type", 1, ("TL-065",))


def test_rules_can_be_ignored():
    checker = LinkChecker(TLOptions(ignore=frozenset({"spare"})))
    checker.sent(message_half_flit(NOP_MESSAGE, b"\1") + bytes(32), 0b01)
    with pytest.raises(TLProtocolError, match="spare"):
        LinkChecker().sent(message_half_flit(NOP_MESSAGE, b"\1") + bytes(32), 0b01)


def test_what_comes_after_a_lost_sequence_is_not_judged():
    found = []
    checker = LinkChecker(on_error=found.append)
    for _ in range(3):
        checker.sent(b"\0" * 31 + b"\xf0" + bytes(32), 0)
    assert [(error.rule, error.flit) for error in found] == [("ftype", 1)]
    checker.reset()
    checker.sent(b"\0" * 31 + b"\xf0" + bytes(32), 0)
    assert [error.flit for error in found] == [1, 4]


def test_a_partner_that_breaks_rules_is_not_held_against_the_device():
    checker = LinkChecker()
    checker.received(b"\0" * 31 + b"\xf0" + bytes(32), 0)
    checker.sent(bytes(64), 0)
    assert checker.flits == 1


@pytest.mark.parametrize("flit, bits", [(bytes(63), 0), (bytes(64), 4)])
def test_what_is_no_flit_is_refused(flit, bits):
    with pytest.raises(ValueError, match="a TL flit has 64 and two"):
        LinkChecker().sent(flit, bits)
