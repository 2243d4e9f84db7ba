"""Proof that Responses keep moving with the least credits while the partner holds all Requests for ever.

One direction of a link, built of the blocks that give, check and spend its credits, around wires of one cycle. What the
other direction does to it, and all else, is the environment, which does as it likes: it offers Requests and Responses,
keeps the Requests that arrived and their buffers as long as it wants, and takes Responses in the cycle after they came.
"""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, prove
from ualink.config import Credits, TLConfig
from ualink.tl.credit.check import CreditCheck
from ualink.tl.credit.credits import TransmitCredits
from ualink.tl.credit.release import FC_FIELDS, CreditRelease
from ualink.tl.credit.shared_check import SharedCreditCheck
from ualink.tl.format.fields import CREDIT_CLASSES
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

KINDS = ("req", "rsp")
NARROW = {"cmd_counter_bits": 4, "data_counter_bits": 4, "credit_return_delay": 1}
LEAST = TLConfig(**{c: Credits(pool=1 if c.endswith("cmd") else 4) for c in CREDIT_CLASSES}, **NARROW)
PATIENCE = 1
"""Cycles in which urgent credits may wait for a Control half-flit."""
ROUND = 5 + PATIENCE + NARROW["credit_return_delay"]
"""Cycles from one Response to the next: to the partner, its buffers, its FC field, back, and into the counter."""


def shared(**pools):
    """Shared Data Buffer mode with the given data Pools, none of the others."""
    data = {name: Credits(pool=pools.get(name, 0)) for name in ("req_data", "rsp_data")}
    return LEAST.replace(shared_data_buffer=True, req_cmd=Credits(pool=3), **data)


class ProgressBench(wiring.Component):
    """Asserts that a Response waits for its credits for ``ROUND`` cycles at most, and that the partner finds nothing
    wrong with what it is sent if ``checked``."""

    req_valid: In(1)
    req_beats: In(3)
    rsp_valid: In(1)
    rsp_beats: In(3)
    req_cmd_freed: In(1)
    req_data_freed: In(1)
    slot: In(1)
    complete_taken: In(1)

    def __init__(self, config, *, checked=False):
        self.config, self.checked = config, checked
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.credits = credits = TransmitCredits(self.config)
        m.submodules.release = release = CreditRelease(self.config)
        self._return(m, credits, release)
        claims = {"req": credits.request, "rsp": credits.read}
        arrived = {}
        for kind, claim in claims.items():
            beats = getattr(self, f"{kind}_beats")
            arrived[kind] = self._send(m, kind, claim, getattr(self, f"{kind}_valid"), beats)
        if self.checked:
            self._check(m, release, arrived)
        accounts = self._receive(m, release, arrived)
        self._conserve(m, credits, release, accounts)

        waited = Signal(range(ROUND + 2))
        with m.If(claims["rsp"].valid & ~claims["rsp"].granted & credits.peer_init_done):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)
        m.d.comb += Assert(waited <= ROUND)
        return m

    def _return(self, m, credits, release):
        """FC fields and the end of their release, which urgent credits do not wait for longer than ``PATIENCE``."""
        impatient = Signal(range(PATIENCE + 1))
        done = Signal()
        m.d.sync += impatient.eq(Mux(release.urgent & ~self.slot, impatient + 1, 0))
        m.d.comb += [
            Assume((impatient != PATIENCE) | self.slot),
            release.enable.eq(1),
            release.take.eq(Mux(self.slot, release.valid, 0)),
            release.complete_taken.eq(self.complete_taken & release.complete),
            credits.peer_init_done.eq(done),
            credits.peer_shared_data.eq(self.config.shared_data_buffer),
            credits.enable.eq(release.init_sent),
        ]
        m.d.sync += done.eq(done | release.complete_taken)
        self.returning = returning = Signal(CREDIT_UPDATE_LAYOUT)
        m.d.sync += [returning.eq(0), returning.valid.eq(1)]
        m.d.comb += credits.update.eq(returning)
        for credit_class in CREDIT_CLASSES:
            for n in range(FC_FIELDS):
                field = release.fields[n][credit_class]
                with m.If(release.take[n] & (field.count != 0)):
                    m.d.sync += returning[credit_class].pool.eq(field.count)

    def _send(self, m, kind, claim, valid, beats):
        """A field that wants credits wants them until it has them; one cycle later it is there."""
        before, beats_before = Signal(), Signal(3)
        m.d.sync += [before.eq(claim.valid & ~claim.take), beats_before.eq(claim.beats)]
        arriving = Signal(3, name=f"{kind}_arriving")
        arrived = Signal(name=f"{kind}_arrived")
        m.d.comb += [
            Assume((beats >= 1) & (beats <= 4)),
            Assert(~before | ((beats_before >= 1) & (beats_before <= 4))),
            claim.valid.eq(valid | before),
            claim.vc.eq(2),
            claim.beats.eq(Mux(before, beats_before, beats)),
            claim.take.eq(claim.valid & claim.granted),
            Assert(~claim.take | claim.pool),
        ]
        m.d.sync += [arrived.eq(claim.take), arriving.eq(Mux(claim.take, claim.beats, 0))]
        return arrived, arriving

    def _check(self, m, release, arrived):
        """The partner's account finds nothing wrong."""
        config = self.config
        checks = {f"{kind}_cmd": CreditCheck(getattr(config, f"{kind}_cmd")) for kind in KINDS}
        if config.shared_data_buffer:
            m.submodules.data_check = joint = SharedCreditCheck(config.req_data, config.rsp_data)
            accounts = {"req_data": joint.accounts.request, "rsp_data": joint.accounts.response}
            ends = {name: (account.spent, account.release, account.underflow) for name, account in accounts.items()}
        else:
            checks |= {f"{kind}_data": CreditCheck(getattr(config, f"{kind}_data")) for kind in KINDS}
            ends = {}
        for name, check in checks.items():
            m.submodules[f"{name}_check"] = check
            ends[name] = check.spent, check.release[0], check.underflow
        for name, (spent, freed, underflow) in ends.items():
            valid, beats = arrived[name[:3]]
            m.d.comb += [
                spent.valid.eq(valid),
                spent.pool.eq(1),
                spent.vc.eq(2),
                spent.count.eq(beats if name.endswith("data") else 1),
                freed.eq(release.release["rd_rsp_cmd" if name == "rsp_cmd" else name]),
                Assert(~underflow),
            ]

    def _receive(self, m, release, arrived):
        """Requests and their buffers stay as long as the environment likes, Responses leave in the next cycle."""
        accounts = {}
        for name in CREDIT_CLASSES:
            valid, beats = arrived[name[:3]]
            amount = beats if name.endswith("data") else valid
            held = Signal(5 if name.startswith("req") else 3, name=f"{name}_held")
            freed = Signal(3, name=f"{name}_freed")
            if name.startswith("req"):
                wanted = getattr(self, f"{name}_freed")
                m.d.comb += freed.eq(wanted & (held != 0))
            else:
                m.d.comb += freed.eq(held)
            m.d.sync += held.eq(held - freed + amount)
            event = release.release["rd_rsp_cmd" if name == "rsp_cmd" else name]
            m.d.comb += [
                event.valid.eq(freed != 0),
                event.pool.eq(1),
                event.vc.eq(2),
                event.count.eq(freed),
            ]
            accounts[name] = held + amount
        return accounts

    def _conserve(self, m, credits, release, accounts):
        """Every credit is in one place: with the sender, on the way, with its buffer, waiting, or on the way back."""
        kinds = {"req_cmd": ["req_cmd"], "rsp_cmd": ["rsp_cmd"]}
        if self.config.shared_data_buffer:
            kinds["joint"] = ["req_data", "rsp_data"]
            self._share(m, credits, release, accounts["req_data"])
        else:
            kinds |= {"req_data": ["req_data"], "rsp_data": ["rsp_data"]}
        some_wait = Cat(pending.waits for pending in release.pending.values()).any()
        m.d.comb += Assert(~(release.waits | release.presses) | some_wait)
        for bucket, least in release.least.items():
            pending = release.pending[bucket]
            m.d.comb += Assert((release.waits | ~pending.waits) & (release.presses | ~pending.full))
            m.d.comb += [Assert(pending[name] == (pending.count >= count)) for name, count in least.items()]
        done = credits.peer_init_done
        m.d.comb += [Assert(done == release.init_sent), Assert(~credits.protocol_error)]
        for members in kinds.values():
            announced = sum((credits.announced[name].pool for name in members), start=Const(0))
            in_hand = sum((credits.counts[name].pool for name in members), start=Const(0))
            away = sum((accounts[name] for name in members), start=Const(0))
            back = sum((self.returning[name].pool for name in members), start=Const(0))
            back += sum((field[name].count for name in members for field in release.fields), start=Const(0))
            everything = sum(getattr(self.config, name).total for name in members)
            m.d.comb += Assert(in_hand + away + back == everything)
            with m.If(done):
                m.d.comb += Assert(announced == everything)
            with m.Else():
                m.d.comb += [Assert(away == 0), Assert(in_hand == announced)]
        # Nothing is in any other bucket than the Pools.
        for name in CREDIT_CLASSES:
            for counts in (credits.counts[name], credits.announced[name]):
                m.d.comb += [Assert(counts.vc[vc] == 0) for vc in range(4)]

    def _share(self, m, credits, release, held):
        """The Pools become one, of which Requests leave a largest transfer to Responses."""
        done = Signal(3)
        m.d.sync += done.eq(Cat(credits.peer_init_done, done))
        with m.If(done[2]):
            m.d.comb += Assert((credits.counts.rsp_data.pool == 0) & (credits.announced.rsp_data.pool == 0))
        with m.If(done[0]):
            back = self.returning.req_data.pool
            back += sum((field.req_data.count for field in release.fields), start=Const(0))
            everything = self.config.req_data.total + self.config.rsp_data.total
            m.d.comb += Assert(held + back <= everything - 4)


CONFIGS = [
    pytest.param(LEAST, id="one command and four data credits"),
    pytest.param(shared(rsp_data=8), id="shared, no ReqData"),
]


@pytest.mark.req("TL-165", "TL-166", "TL-168", "TL-215", "TL-219")
@pytest.mark.parametrize("config", CONFIGS)
def test_responses_keep_moving_while_requests_are_held(config):
    """By induction: within ``ROUND`` cycles, for ever, and all credits are somewhere."""
    prove(ProgressBench(config), mode="prove", depth=ROUND + 2, engine=BITWUZLA)


@pytest.mark.req("TL-160", "TL-162", "TL-164")
def test_the_partner_finds_nothing_overdrawn():
    prove(ProgressBench(shared(rsp_data=8), checked=True), mode="bmc", depth=ROUND, engine=BITWUZLA)
