"""A device made of the executable model, its partner, and the checker between them: no simulator needed."""

import random
from collections import deque

from ualink_sim.bfm.dl.checker import LinkChecker
from ualink_sim.bfm.dl.options import CheckerOptions
from ualink_sim.model.dl.endpoint import LOST, DLEndpoint
from ualink_sim.model.dl.flit import DLFlit
from ualink_sim.model.dl.header import decode_header
from ualink_sim.model.dl.messages import DeviceId
from ualink_sim.model.dl.replay import ReplayReceiver, ReplayTransmitter

LIMIT = 40
GROUP = 2


def endpoint(idle_flit_times=8, **transmitter):
    """One side of the link."""
    transmitter = {"group_flits": GROUP, **transmitter}
    return DLEndpoint(
        transmitter=ReplayTransmitter(**transmitter), receiver=ReplayReceiver(LIMIT), idle_flit_times=idle_flit_times
    )


def rewrite(slot, *, header=None, change=None, invert_crc=False):
    """A good flit like ``slot`` with another ``header`` (an integer or a header), after ``change(flit)``."""
    flit = DLFlit.decode(slot)
    if header is not None:
        flit.header = header if isinstance(header, int) else header.encode()
    if change is not None:
        change(flit)
    return flit.encode(invert_crc=invert_crc)


def header_of(slot):
    """The header of a flit, None of another slot."""
    return decode_header(DLFlit.decode(slot).header) if isinstance(slot, bytes) else None


class FakeLink:
    """``device`` is watched by ``checker``.

    ``hand(link, slot)`` may put another slot in the place of one that the device sends; ``partner_hand`` likewise for
    the partner, before the device gets it; ``ear(link, slot)`` is what the device makes of what arrives.
    """

    def __init__(
        self, *, delay=2, seed=0, hand=None, partner_hand=None, ear=None, on_error=None, options=None, **transmitter
    ):
        self.rng = random.Random(seed)
        # Flits of the time before must not be taken for new ones: Idle outlasts the round trip.
        idle = max(8, 2 * delay + 4)
        self.device, self.partner = endpoint(idle, **transmitter), endpoint(idle)
        self.device.basic.device = DeviceId(id=3, type=1, valid=1)
        options = {"rx_replay_limit": LIMIT, "codeword_group": GROUP, "request_spacing": 1, **(options or {})}
        how = {} if on_error is None else {"on_error": on_error}
        self.checker = LinkChecker(CheckerOptions(**options), **how)
        self.hand = hand or (lambda link, slot: slot)
        self.partner_hand = partner_hand or (lambda link, slot: slot)
        self.ear = ear or (lambda link, slot: slot)
        self.to_device, self.to_partner = deque([None] * delay), deque([None] * delay)
        self.time = 0
        self.load = 0.0

    def step(self, slots=1):
        """Flit times."""
        for _ in range(slots):
            self.time += 1
            for end in (self.device, self.partner):
                for _ in range(int(self.load + self.rng.random()) if end.online else 0):
                    end.send(self.rng.randbytes(64), self.rng.randrange(4))
            arriving = self.to_device.popleft()
            if arriving is not None:
                self.checker.received(arriving)
            slot = self.hand(self, self.device.slot(self.ear(self, arriving)))
            self.checker.sent(slot)
            self.to_partner.append(slot)
            self.to_device.append(self.partner_hand(self, self.partner.slot(self.to_partner.popleft())))

    def bring_up(self):
        """Until channel 0 is online on both sides."""
        for _ in range(200):
            if self.device.online and self.partner.online:
                return
            self.step()
        raise AssertionError("the link does not come up")


def losing(rate, after=60):
    """A hand that loses flits at random."""

    def hand(link, slot):
        return LOST if link.time > after and isinstance(slot, bytes) and link.rng.random() < rate else slot

    return hand
