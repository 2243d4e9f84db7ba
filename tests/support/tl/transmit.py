"""Drives a TL transmitter with beats; the executable model plays the partner and checks every flit that it takes."""

import functools
import random
from copy import deepcopy
from dataclasses import dataclass, replace

import pytest
from amaranth.sim import Simulator

from support.tl.flits import tl_flit_good
from support.tl.stimulus import CHANNELS, CLASSES, PLENTY, request_field, response_field
from ualink.tl.transmit.top import Transmit
from ualink_sim.model.tl.compression import AddressCache, compress_response, expand_response
from ualink_sim.model.tl.credits import ReceiveCredits, TransmitCredits, check_flow_control, combine
from ualink_sim.model.tl.fields import FlowControl, encode_control_half_flit
from ualink_sim.model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, RateLimit
from ualink_sim.model.tl.sequence import (
    INITIAL_CREDIT_RELEASE_COMPLETE,
    ControlFields,
    DataHalfFlit,
    Message,
    ProtocolError,
    ReceiveSequence,
    Tags,
)


class Partner:
    """The far end of the link: decodes and checks flits, keeps credits, gives them back.

    ``plain`` is what each of ``fields`` says, a Compressed Request with the address that its cache gives; ``tags`` are
    their authentication tags.
    """

    def __init__(self, buffers, *, shared=False, free_delay=0, rng=None, authentication=False):
        self.buffers = buffers
        self.shared = shared
        self.free_delay = free_delay
        self.rng = rng
        self.authentication = authentication
        self.restart()
        self.fields, self.data, self.flow_control, self.flits = [], {}, [], []
        self.on_offer = None
        self.messages, self.plain, self.tags = [], [], []

    def restart(self):
        """The link went down: sequence, credits and rate limits start anew (ruling D18)."""
        self.sequence = ReceiveSequence(self.authentication)
        self.cache = AddressCache()
        self.receive_credits = ReceiveCredits(self.buffers)
        self.transmit_credits = TransmitCredits()
        self.limits = {"req": RateLimit(REQUEST_LIMIT), "rsp": RateLimit(RESPONSE_LIMIT)}
        self.released = False
        self.to_free = []

    def coming(self):
        """Requests and Responses in the flit on offer."""
        events = deepcopy(self.sequence).receive(*self.on_offer) if self.on_offer else []
        fields = [f for event in events if isinstance(event, ControlFields) for _, f in event.fields]
        return sum(f.is_request or f.is_response for f in fields)

    def flit(self, cycle, data, message):
        """Take a flit, raising an error for any broken rule.

        One that says nothing comes only while a literal catch buffer holds something that it pushes on.
        """
        needed = any(limit.outstanding for limit in self.limits.values()) or bool(self.sequence.owed)
        assert needed or any(data) or message, f"cycle {cycle}: a flit that nobody needs"
        events = self.sequence.receive(data, message)
        fields = []
        for half, is_message in ((data[:32], message & 1), (data[32:], message >> 1)):
            # Only Initial Credit Release Complete says anything after its type.
            assert not is_message or not any(half[1 + (half[0] == INITIAL_CREDIT_RELEASE_COMPLETE) :])
        for event in events:
            assert not isinstance(event, ProtocolError), event
            if isinstance(event, ControlFields):
                fields = event.fields
                # The model makes spare bits 0 and does not look at them.
                assert data[:32] == encode_control_half_flit(fields)
            elif isinstance(event, DataHalfFlit):
                self.data.setdefault(event.owed.serial, []).append(event)
            elif isinstance(event, Tags):
                self.tags += [tag for _, tag in event.tags]
            elif isinstance(event, Message):
                self.messages.append((cycle, event.type, event.payload))
                if event.type == INITIAL_CREDIT_RELEASE_COMPLETE:
                    self.transmit_credits.release_complete(bool(event.payload[0] & 1))
        self.flits.append((cycle, fields, events))
        self.limits["req"].flit(sum(f.is_request for _, f in fields))
        self.limits["rsp"].flit(sum(f.is_response for _, f in fields))
        controls = [f for _, f in fields]
        check_flow_control(controls)
        self.transmit_credits.receive(controls)
        for control in controls:
            if isinstance(control, FlowControl):
                self.flow_control.append((cycle, control))
                continue
            assert self.transmit_credits.release_received and self.released, "traffic before the credits"
            self.receive_credits.receive(control, self.shared)
            self.fields.append((cycle, control))
            self.plain.append(self.cache.receive(control) if control.is_request else expand_response(control))
            self.to_free.append((cycle + (self.rng.randrange(self.free_delay + 1) if self.rng else 0), control))

    def grant(self, cycle, limit=2):
        """Credits of this cycle's received flit, by (class, bucket)."""
        for due, control in list(self.to_free):
            if due <= cycle:
                self.to_free.remove((due, control))
                self.receive_credits.free(control)
        return combine(self.receive_credits.flow_control_fields(limit))


class _Bench:
    """One transmitter and its simulator, compiled once and reset for every run."""

    def __init__(self, config):
        self.dut = Transmit(config)
        self.used = False
        self.simulator = Simulator(self.dut)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self.drive)

    async def drive(self, ctx):
        await self.body(ctx, self.dut)

    def run(self, body):
        self.body = body
        if self.used:
            self.simulator.reset()
        self.used = True
        self.simulator.run()


_bench = functools.cache(_Bench)
TRANSMIT = pytest.mark.xdist_group("tl_transmit")
"""Tests that call ``run`` carry it, so that one worker of a parallel run makes their simulators."""


@dataclass
class Run:
    """What a run gave: the partner, handshakes per channel (cycle, beat number), the last cycle."""

    partner: Partner
    accepted: dict
    cycles: int
    protocol_error: int


def run(
    config,
    stimulus,
    buffers=None,
    *,
    partner=None,
    cycles=4000,
    seed=0,
    grant_probability=1.0,
    releases=None,
    drain=20,
    online=None,
    hold=None,
    stall=None,
    also=0,
    control=None,
    firmware=None,
):
    """Send ``stimulus``; stop when all has arrived and ``drain`` cycles have passed, or after ``cycles``.

    ``releases`` is called as releases(cycle, partner) and gives (name, pool, vc, count) of buffers freed; ``online`` as
    online(cycle), None being always. ``hold(channel, waiting, cycle, partner)`` keeps a beat from being offered.
    ``stall(cycle, partner)`` keeps the DL from taking a flit. ``also`` cycles are run at least. ``control`` has members
    of ``TLControlSignature``, ``firmware(cycle)`` gives some that change.
    """
    rng = random.Random(seed)
    partner = partner or Partner(buffers or PLENTY, rng=rng)
    accepted = {channel: [] for channel in CHANNELS}
    result = Run(partner, accepted, 0, 0)
    waiting = stimulus.beats()
    total = len(stimulus.requests) + len(stimulus.reads) + len(stimulus.writes)

    async def bench(ctx, dut):
        streams = {channel: getattr(dut, f"tx_{channel}") for channel in CHANNELS}
        offered = dict.fromkeys(CHANNELS, False)
        drained = 0
        ctx.set(dut.authentication, partner.authentication)
        for name, value in (control or {}).items():
            ctx.set(getattr(dut.control, name), value)
        for cycle in range(cycles):
            result.cycles = cycle
            for name, value in (firmware(cycle) if firmware else {}).items():
                ctx.set(getattr(dut.control, name), value)
            up = online is None or online(cycle)
            ctx.set(dut.online, up)
            ctx.set(dut.restart, not up)
            offer = ctx.get(dut.tx_flit.payload) if ctx.get(dut.tx_flit.valid) else None
            partner.on_offer = None if offer is None else (offer.data.to_bytes(64, "little"), offer.message)
            for channel, port in streams.items():
                held = hold is not None and waiting[channel] and hold(channel, waiting[channel], cycle, partner)
                if not offered[channel] and waiting[channel] and not held and rng.random() < stimulus.valid:
                    ctx.set(port.payload, waiting[channel][0])
                    offered[channel] = True
                ctx.set(port.valid, offered[channel])
            stalled = stall is not None and stall(cycle, partner)
            ctx.set(dut.tx_flit.ready, rng.random() < stimulus.ready and not stalled)
            if not up:
                partner.restart()
            _drive_status(ctx, dut, partner, cycle, rng, grant_probability, releases)
            for channel, port in streams.items():
                if offered[channel] and ctx.get(port.ready):
                    accepted[channel].append(cycle)
                    waiting[channel].popleft()
                    offered[channel] = False
            if ctx.get(dut.tx_flit.valid) and ctx.get(dut.tx_flit.ready):
                flit = ctx.get(dut.tx_flit.payload)
                assert tl_flit_good(flit) and not flit.error
                partner.flit(cycle, flit.data.to_bytes(64, "little"), flit.message)
            result.protocol_error = ctx.get(dut.protocol_error)
            await ctx.tick()
            done = len(partner.fields) == total and not partner.sequence.owed and not any(waiting.values())
            drained = drained + 1 if done else 0
            if drained > drain and cycle >= also:
                break

    _bench(config).run(bench)
    return result


def _drive_status(ctx, dut, partner, cycle, rng, grant_probability, releases):
    counts = partner.grant(cycle) if cycle >= 2 and rng.random() < grant_probability else {}
    ctx.set(
        dut.status.fc,
        {
            "valid": bool(counts),
            **{
                kind: {"pool": counts.get((kind, None), 0), "vc": [counts.get((kind, vc), 0) for vc in range(4)]}
                for kind in CLASSES
            },
        },
    )
    if counts == {} and cycle >= 2 and not partner.released and not partner.receive_credits.any_pending:
        partner.released = partner.transmit_credits.release_sent = True
    ctx.set(dut.status.peer_init_done, partner.released)
    ctx.set(dut.status.peer_shared_data, partner.released and partner.shared)
    ctx.set(dut.status.buffers_free, 1)
    freed = {}
    if releases:
        for name, pool, vc, count in releases(cycle, partner):
            freed[name] = {"valid": 1, "pool": pool, "vc": vc, "count": count}
    ctx.set(dut.status.release, freed)


def _plain(control):
    """A field without what the link decides for itself."""
    return replace(control, pool=0, **({"cload": 0, "cway": 0} if control.is_request else {}))


def _expanded(beats, compressed):
    """What arrives of a Response, sent as short as it can be if ``compressed``."""
    response = response_field(beats)
    return expand_response(compress_response(response) if compressed else response)


def check(stimulus, partner, compressed=True):
    """Every transfer of ``stimulus`` arrived once, in order, with its data, errors, byte enables and tags."""
    requests = [f for f in partner.plain if f.is_request]
    reads = [f for f in partner.plain if f.is_response and f.is_read]
    writes = [f for f in partner.plain if f.is_response and not f.is_read]
    assert [_plain(f) for f in requests] == [request_field(req) for req, _ in stimulus.requests]
    assert [_plain(f) for f in reads] == [_expanded(beats, compressed) for beats in stimulus.reads]
    assert [_plain(f) for f in writes] == [_expanded(beat, compressed) for beat in stimulus.writes]
    if partner.authentication:
        _check_tags(stimulus, partner)
    orig = [(req, data) for req, data in stimulus.requests if data]
    carried = {True: iter(orig), False: iter([(None, beats) for beats in stimulus.reads])}
    for half_flits in partner.data.values():
        control = half_flits[0].owed.field
        req, beats = next(carried[control.is_request])
        expected = []
        for beat in beats:
            poisoned = bool(beat.get("error", 0) or beat.get("data_error", 0))
            data = 0 if poisoned else beat["data"]
            for low in (0, 256):
                expected.append((data >> low & ((1 << 256) - 1), poisoned))
        if control.is_request and control.has_byte_enables():
            enables = 0
            for n, beat in enumerate(beats):
                enables |= beat["byte_en"] << 64 * (((req["addr"] >> 6) + n) % 4)
            expected.append((enables, False))
        assert [(int.from_bytes(h.data, "little"), h.poisoned) for h in half_flits] == expected
    assert not any(next(rest, None) for rest in carried.values())


def _check_tags(stimulus, partner):
    """Each field has the tag that came with it on UPLI."""
    tags = {
        "request": [req.get("auth_tag", 0) for req, _ in stimulus.requests],
        "read": [beats[0].get("auth_tag", 0) for beats in stimulus.reads],
        "write": [beat.get("auth_tag", 0) for beat in stimulus.writes],
    }
    for (_, control), tag in zip(partner.fields, partner.tags, strict=True):
        kind = "request" if control.is_request else "read" if control.is_read else "write"
        assert tag == tags[kind].pop(0)
