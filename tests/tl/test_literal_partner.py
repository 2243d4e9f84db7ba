"""A partner whose catch buffers move with flits only, as the text has it, is left with nothing in them."""

import random

import pytest

from support.tl.layer import LAYERS, SMALL, Side, simulate
from support.tl.stimulus import READ, WRITE, WRITE_FULL, Stimulus, read_response, request, write_response
from ualink_sim.model.tl.reassembly import Reassembler
from ualink_sim.model.tl.sequence import ControlFields, ReceiveSequence

pytestmark = LAYERS

READY_AFTER = 40
"""Cycles from the rise of the link in which both initial credit releases are surely complete."""
QUIET_AFTER = 240
"""And cycles in which any of the traffic below has left."""


class LiteralReceiver:
    """What the flits give a receiver that takes §5.7 and Figure 5-6 at their word; ``needless`` counts flits that
    neither say anything nor push anything on."""

    def __init__(self, authentication):
        self.sequence = ReceiveSequence(authentication)
        self.reassembler = Reassembler(literal_catch_buffers=True)
        self.items, self.needless, self.fields = 0, 0, 0

    def take(self, flit):
        data, owed = flit.data.to_bytes(64, "little"), len(self.sequence.owed)
        if not (any(data) or flit.message or owed or self.fields > self.items):
            self.needless += 1
        events = self.sequence.receive(data, flit.message)
        self.fields += sum(
            control.is_request or control.is_response
            for event in events
            if isinstance(event, ControlFields)
            for _, control in event.fields
        )
        self.items += len(self.reassembler.push(events))


def transfers(count, *kinds):
    """``count`` transfers of each of ``kinds``: ReqCmd, "read" or "write" for Responses."""
    rng = random.Random(f"{count} {kinds}")
    stimulus = Stimulus()
    for _ in range(count):
        for kind in kinds:
            if kind == "read":
                stimulus.reads.append(read_response(rng.randint(1, 4), rng=rng))
            elif kind == "write":
                stimulus.writes.append(write_response(rng=rng))
            else:
                stimulus.requests.append(request(kind, beats=rng.randint(1, 4), rng=rng))
    return stimulus


CASES = {
    "a lone Read": transfers(1, READ),
    "a lone Write": transfers(1, WRITE),
    "a lone WriteFull": transfers(1, WRITE_FULL),
    "a lone Write Response": transfers(1, "write"),
    "a lone Read Response": transfers(1, "read"),
    "Reads at once": transfers(7, READ),
    "Write Responses at once": transfers(12, "write"),
    "all of them": transfers(3, READ, WRITE, WRITE_FULL, "read", "write"),
}


@pytest.mark.req("TL-224", "TL-132", "TL-135", "TL-140")
@pytest.mark.parametrize("stall, authentication", [(0.0, 0), (0.5, 1)])
@pytest.mark.parametrize("name", CASES)
def test_everything_leaves_literal_catch_buffers(name, stall, authentication):
    rng = random.Random(name)
    stimulus = CASES[name]
    receiver = LiteralReceiver(authentication)
    flits = []

    async def body(ctx, link):
        sides = [Side(end, rng, 1.0, 1.0) for end in link.ends]
        for side in sides:
            ctx.set(side.end.control.authentication, authentication)
        await ctx.tick()
        for side in sides:
            ctx.set(side.end.online, 1)
        near = sides[0].end.tx_flit
        for cycle in range(READY_AFTER + QUIET_AFTER + 10):
            if cycle == READY_AFTER:
                sides[0].waiting = stimulus.beats()
            ctx.set(link.stall, int(rng.random() < stall))
            for side in sides:
                side.drive(ctx)
            if ctx.get(near.valid) and ctx.get(near.ready):
                receiver.take(ctx.get(near.payload))
                flits.append(cycle)
            for side in sides:
                side.sample(ctx)
            await ctx.tick()

    simulate(body, SMALL, SMALL)
    assert receiver.items == len(stimulus.requests) + len(stimulus.reads) + len(stimulus.writes)
    # Then it falls silent.
    assert receiver.needless == 0
    assert flits[-1] < READY_AFTER + QUIET_AFTER
