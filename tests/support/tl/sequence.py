"""Drives a half-flit sequence with Control half-flits and data; the model's automaton says what each flit must be."""

from collections import deque
from dataclasses import dataclass, field

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from support.tl.flits import tl_flit_good
from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, SourceRateLimit
from ualink.tl.pack.half_flit_sequence import HalfFlitSequence
from ualink_sim.model.tl.fields import encode_control_half_flit
from ualink_sim.model.tl.rate_limit import RateLimit
from ualink_sim.model.tl.sequence import Issue, TransmitSequence, message_half_flit


@dataclass(frozen=True)
class Offer:
    """A Control half-flit of ``issues``, or a Message half-flit; without ``offered`` it is not worth one."""

    issues: tuple[Issue, ...] = ()
    message: bytes | None = None
    offered: bool = True

    @property
    def requests(self):
        return sum(issue.field.is_request for issue in self.issues)

    @property
    def responses(self):
        return sum(issue.field.is_response for issue in self.issues)

    @property
    def half_flits(self):
        """The data half-flits that it owes, as (32 bytes, message bit)."""
        halves = []
        for issue in sorted(self.issues, key=lambda issue: issue.sector):
            for beat in range(issue.field.data_beats()):
                for low in (64 * beat, 64 * beat + 32):
                    poisoned = beat in issue.poisoned
                    halves.append((message_half_flit(0x20), 1) if poisoned else (issue.data[low : low + 32], 0))
            if issue.byte_enables:
                halves.append((issue.byte_enables, 0))
        return halves

    @property
    def tags(self):
        issues = sorted(self.issues, key=lambda issue: issue.sector)
        return [issue.tag for issue in issues if issue.field.is_request or issue.field.is_response]

    def counts(self, authentication):
        """The members of ``counts``."""

        def owe(issues):
            return sum(2 * issue.field.data_beats() + bool(issue.byte_enables) for issue in issues)

        answers = [issue for issue in self.issues if not issue.field.is_request]
        return {
            "message": self.message is not None,
            "requests": self.requests,
            "responses": self.responses,
            "request_half_flits": owe(issue for issue in self.issues if issue.field.is_request),
            "response_half_flits": [owe(answers[:4]), owe(answers[4:])],
            "some": len(self.half_flits) > 0,
            "two": len(self.half_flits) == 2,
            "tagged": authentication and bool(self.tags),
        }

    @property
    def content(self):
        """The members of ``content``."""
        issues = sorted(self.issues, key=lambda issue: issue.sector)
        lower = self.message or encode_control_half_flit([(issue.sector, issue.field) for issue in issues])
        return {
            "data": int.from_bytes(lower, "little"),
            "message": self.message is not None,
            "tags": sum(tag << 64 * n for n, tag in enumerate(self.tags[:4])),
            "code": int.from_bytes(lower, "little").bit_count() + (self.message is not None) & 1,
            "tags_code": sum(tag.bit_count() for tag in self.tags[:4]) & 1,
        }


NOISE = {"data": (1 << 256) - 5, "message": 1, "tags": (1 << 256) - 3}
"""Content that must not be looked at."""


class LimitedSequence(wiring.Component):
    """The sequence with both rate limits, connected as in the transmitter."""

    def __init__(self):
        self.sequence = HalfFlitSequence()
        allowances = {"request_allowance": Out(range(5)), "response_allowance": Out(range(9)), "unused": In(1)}
        super().__init__(allowances)

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequence = sequence = self.sequence
        m.submodules.request_limit = request_limit = SourceRateLimit(REQUEST_LIMIT)
        m.submodules.response_limit = response_limit = SourceRateLimit(RESPONSE_LIMIT)
        for limit, issued in (
            (request_limit, sequence.counts.requests),
            (response_limit, sequence.counts.responses),
        ):
            m.d.comb += [
                limit.taken.eq(sequence.pack),
                limit.issued.eq(Cat(issued > n for n in range(limit.limit))),
                limit.between.eq(sequence.between),
                limit.flit.eq(sequence.flit_between),
            ]
        m.d.comb += [
            self.request_allowance.eq(sum(request_limit.allowance)),
            self.response_allowance.eq(sum(response_limit.allowance)),
        ]
        return m


@dataclass
class Taken:
    """An offer that was taken, and what the sequence had said of it: its flit, swap or not, the allowances."""

    offer: Offer
    cycle: int
    flit: int
    swap: bool
    allowances: tuple[int, int]


@dataclass
class Run:
    """Flits as (cycle in ``tx_flit``, 64 bytes, message bits) in the order taken, and the offers taken."""

    flits: list = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)


class Reference:
    """What every flit must be, from the offers in the order in which they were taken."""

    def __init__(self, authentication):
        self.sequence = TransmitSequence(authentication)
        self.limits = RateLimit(REQUEST_LIMIT), RateLimit(RESPONSE_LIMIT)
        self.number = 0

    def flit(self, waiting):
        """The next flit, with fields from the oldest of ``waiting`` if it has a control slot."""
        entry = None
        if self.sequence.control_slot:
            entry = waiting.popleft()
            assert entry.flit == self.number, "it left in another flit than was said"
            assert entry.swap == self.sequence.swap
            assert entry.allowances == tuple(limit.allowance for limit in self.limits)
        self.number += 1
        offer = entry.offer if entry else Offer()
        for limit, count in zip(self.limits, (offer.requests, offer.responses)):
            limit.flit(count)
        return self.sequence.send(offer.issues, lower_message=offer.message)


def run(choose, cycles, *, authentication=False, ready=lambda: True, visible=lambda: 2):
    """Let ``choose(taken, swap_next, allowances)`` give the ``Offer`` of every cycle; check each flit taken.

    ``taken`` is the list of what was taken so far. ``ready`` tells whether the DL takes a flit, ``visible`` how many
    half-flits of those owed are there.
    """
    dut = LimitedSequence()
    sequence, result = dut.sequence, Run()
    reference = Reference(authentication)
    waiting, owed = deque(), deque()

    async def bench(ctx):
        entered, held = 0, False
        for cycle in range(cycles):
            ctx.set(sequence.tx_flit.ready, ready())
            there = min(len(owed), visible())
            ctx.set(sequence.available, there)
            for slot, (data, message) in zip(sequence.window, list(owed)[:there]):
                bits = int.from_bytes(data, "little")
                ctx.set(slot, {"data": bits, "message": message, "code": (bits.bit_count() + message) & 1})
            said = tuple(ctx.get(s) for s in (sequence.swap_next, sequence.between))
            allowances = ctx.get(dut.request_allowance), ctx.get(dut.response_allowance)
            offer = choose(result.taken, said[0], allowances)
            ctx.set(sequence.offered, offer.offered)
            ctx.set(sequence.counts, offer.counts(authentication))
            # Content is there from the cycle after it was taken until it leaves, and no longer.
            ctx.set(sequence.content, result.taken[-1].offer.content if held else NOISE)
            assert said == tuple(ctx.get(s) for s in (sequence.swap_next, sequence.between))
            control, take = ctx.get(sequence.control), ctx.get(Mux(sequence.go, sequence.wanted, 0))
            assert take <= there
            flit = control or ctx.get(sequence.flit_between)
            for _ in range(take):
                owed.popleft()
            if ctx.get(sequence.pack):
                assert flit or not (said[1] or held), "it was taken before the flit in front of its own had left"
                waiting.append(Taken(offer, cycle, entered + flit, bool(said[0]), allowances))
                result.taken.append(waiting[-1])
                owed.extend(offer.half_flits)
            held = ctx.get(sequence.pack) or (held and not control)
            entered += flit
            if ctx.get(sequence.tx_flit.valid) and ctx.get(sequence.tx_flit.ready):
                payload = ctx.get(sequence.tx_flit.payload)
                assert tl_flit_good(payload) and not payload.error
                got = payload.data.to_bytes(64, "little"), payload.message
                expected = reference.flit(waiting)
                assert got == expected, f"flit {reference.number - 1}"
                result.flits.append((cycle, *got))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return result
