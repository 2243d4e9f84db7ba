"""Why a link does not carry anything, in words."""

from typing import NamedTuple

from ualink.dl.interface import LinkState

from .scenario import Link
from .wire import Wire

__all__ = ["LinkEndState", "fault_of"]

TELLING_SHARE = 0.1
"""From this share of lost slots or damaged flits on, the wire is what keeps a link down."""


class LinkEndState(NamedTuple):
    """What one end of a link shows: channel 0 is online, the code of its ``LinkState``, and ``chosen``: the stations of
    both ends use the ports of the pod."""

    online: bool
    state: int
    chosen: bool = True


def fault_of(wire: Wire, link: Link, cycle: int, receiver: LinkEndState, links_up: int | None) -> str:
    """What is wrong, in ``cycle``, with the direction over ``wire`` of a link that is not online at both ends.

    ``links_up`` is when all links had come up, None if they never had. A wire that loses or damages much is named with
    the key of the scenario that makes it so; of a good one the round trip and the state of the ``receiver`` are told.
    """
    if links_up is None:
        head = f"never came up in {cycle:,} cycles"
    else:
        head = f"went down after cycle {links_up:,} and is not up in cycle {cycle:,}"
    if not receiver.chosen:
        cause = "firmware has not chosen the ports of its stations"
    elif wire.cut:
        cause = "its cable is cut"
    elif wire.lost_slots > TELLING_SHARE * wire.slots:
        burst = f", burst {link.burst}" if link.burst > 1 else ""
        cause = f"{wire.lost_slots:,} of {wire.slots:,} flit slots were lost (drop_rate {link.drop_rate:g}{burst})"
    elif wire.errored_flits > TELLING_SHARE * wire.data_flits:
        damaged = f"{wire.errored_flits:,} of {wire.data_flits:,} flits had bit errors"
        cause = f"{damaged} (bit_error_rate {link.bit_error_rate:g})"
    else:
        state = "online" if receiver.online else f"in DL state {LinkState(receiver.state).name}"
        cause = f"its wire is good; a round trip takes {2 * link.latency_cycles:,} cycles, its receiver is {state}"
    return f"{head}: {cause}"
