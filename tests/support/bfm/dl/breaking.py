"""How the rules of the link checker get broken: ``CASES`` gathers what the modules beside this one register."""

import pytest

from support.bfm.dl.fake_link import header_of
from ualink_sim.model.dl.endpoint import LOST

CASES = []
UP = 60
"""The link is up, and everything is quiet but for the load that a case asks for."""


def breaks(rule, **setting):
    """Register ``act(link)``: what is done to the link before its first slot so that ``rule`` breaks.

    ``setting``: ``load`` (TL flits per flit time both ways) and options of ``FakeLink``.
    """

    def register(function):
        CASES.append(pytest.param(rule, function, setting, id=f"{rule}-{function.__name__}"))
        return function

    return register


def at(link, time, action):
    """Let ``action()`` happen before the slot of ``time``."""
    step = link.step

    def stepping(slots=1):
        for _ in range(slots):
            if link.time == time:
                action()
            step()

    link.step = stepping


def once(link, change):
    """From UP on: the first slot for which ``change(slot, header)`` gives another goes out as that."""
    done = []

    def hand(link, slot):
        if link.time < UP or done or not isinstance(slot, bytes):
            return slot
        other = change(slot, header_of(slot))
        if other is None:
            return slot
        done.append(link.time)
        return other

    link.hand = hand


def always(link, change, since=UP):
    """Every flit from ``since`` on for which ``change(slot, header)`` gives another goes out as that."""

    def hand(link, slot):
        if link.time < since or not isinstance(slot, bytes):
            return slot
        return change(slot, header_of(slot)) or slot

    link.hand = hand


def raw(link, *dwords, more=False, time=UP):
    """The device sends these dwords as messages; with ``more`` nothing comes between them."""
    last = len(dwords) - 1
    at(link, time, lambda: link.device.raw_messages.extend((d, more and n < last) for n, d in enumerate(dwords)))


def lose_one(link, number=3):
    """One flit towards the device is lost."""

    def hand(link, slot):
        return LOST if link.time == UP + number else slot

    link.partner_hand = hand


def lose_one_behind(link, number=3):
    """One flit of the device is lost on its way to the partner, behind the checker."""
    at(link, UP + number, lambda: link.to_partner.__setitem__(-1, LOST))
