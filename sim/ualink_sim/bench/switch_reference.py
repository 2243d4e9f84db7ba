"""What other ways to switch would do with the same traffic: one queue at each input, and a maximum matching.

Items take one cycle; both are computed without hardware, from random numbers.
"""

from collections import deque
from random import Random

import numpy as np

from .rows import Unavailable
from .switch_source import BURST, HOT_SHARE, Destinations

__all__ = ["fifo_throughput", "matching_latency"]

SEED = 1
CYCLES = 20_000
SETTLE = 2_000


def fifo_throughput(ports: int, *, cycles: int = CYCLES) -> float:
    """Items in a cycle at each egress port: uniform traffic, always waiting, one queue at each ingress port.

    Each egress port takes one of those that are first in their queues and want it, at random. The more ports, the
    nearer is it to 2 - sqrt(2).
    """
    random = np.random.default_rng(SEED)
    wanted = random.integers(ports, size=ports)
    moved = 0
    for cycle in range(SETTLE + cycles):
        order = random.permutation(ports)
        _, first = np.unique(wanted[order], return_index=True)
        winners = order[first]
        wanted[winners] = random.integers(ports, size=len(winners))
        if cycle >= SETTLE:
            moved += len(winners)
    return moved / cycles / ports


def matching_latency(
    ports: int, load: float, destinations: Destinations = Destinations.UNIFORM, *, cycles: int = CYCLES
) -> float:
    """Cycles that an item waits: a queue for each pair of ports, a maximum matching in each cycle.

    ``load`` is the chance of an item in each cycle and at each ingress port. The queues are endless; of the maximum
    matchings that there are, any is taken.
    """
    try:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching
    except ImportError:
        raise Unavailable("scipy is not installed, which finds maximum matchings") from None
    random = Random(SEED)
    chosen = [(ingress + (destinations is Destinations.ALL_TO_ALL)) % ports for ingress in range(ports)]
    queues: list[list[deque[int]]] = [[deque() for _ in range(ports)] for _ in range(ports)]
    waiting = np.zeros((ports, ports), dtype=np.int8)
    total = items = 0
    for cycle in range(SETTLE + cycles):
        for ingress in range(ports):
            if random.random() < load:
                egress = _destination(random, destinations, ingress, chosen)
                queues[ingress][egress].append(cycle)
                waiting[ingress, egress] = 1
        # The matching prefers low numbers; in another order each cycle it prefers nobody.
        rows, columns = random.sample(range(ports), ports), random.sample(range(ports), ports)
        shuffled = csr_array(waiting[np.ix_(rows, columns)])
        for row, column in enumerate(maximum_bipartite_matching(shuffled, perm_type="column")):
            if column < 0:
                continue
            ingress, egress = rows[row], columns[column]
            arrived = queues[ingress][egress].popleft()
            waiting[ingress, egress] = bool(queues[ingress][egress])
            if cycle >= SETTLE:
                total += cycle - arrived
                items += 1
    return total / items


def _destination(random: Random, destinations: Destinations, ingress: int, chosen: list[int]) -> int:
    """Where the next item of ``ingress`` goes, as in ``ItemSource``; ``chosen`` has what is kept of each."""
    ports = len(chosen)
    if destinations is Destinations.UNIFORM:
        return random.randrange(ports)
    if destinations is Destinations.PERMUTATION:
        return (ingress + 1) % ports
    if destinations is Destinations.HOT_SPOT:
        return random.randrange(ports) if random.randrange(HOT_SHARE) else 0
    if destinations is Destinations.INCAST:
        return 0
    if destinations is Destinations.BURSTY:
        if not random.randrange(BURST):
            chosen[ingress] = random.randrange(ports)
        return chosen[ingress]
    egress, chosen[ingress] = chosen[ingress], (chosen[ingress] + 1) % ports
    return egress
