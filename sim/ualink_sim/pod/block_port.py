"""What stands between the reconciliation sublayer of a simulated station and the wires: a PCS as the RS knows it."""

from ualink.config import PhyConfig

from ..bfm.upli.bus import reader
from ..model.phy.rs_blocks import MARKER_BLOCKS
from .block_beats import (
    ALIGNMENT_BEAT,
    BEAT_BITS,
    BLOCK_BITS,
    BLOCKS,
    IDLE_BEAT,
    INVALID_BEAT,
    LOCAL_FAULT_BEAT,
    REMOTE_FAULT_BEAT,
    START_BEAT,
    blocks_of,
    bytes_of,
    is_data,
)
from .rate_matching import RateMatcher
from .wire import BAD, CUT, DATA, IDLE, REMOTE_FAULT, START, Beat

__all__ = ["BlockPort", "ReceivePCS"]

BEATS = 10
KINDS = {IDLE_BEAT: IDLE, REMOTE_FAULT_BEAT: REMOTE_FAULT, START_BEAT: START}
CONTROL_BEATS = {kind: beat for beat, kind in KINDS.items()}
FOLLOWERS = {DATA: (DATA,), IDLE: (IDLE,), REMOTE_FAULT: (REMOTE_FAULT,), START: (IDLE, REMOTE_FAULT)}
"""Kinds of beats behind one of each kind in a slot."""

_BEAT = (1 << BEAT_BITS) - 1
MILLION = 1_000_000


class ReceivePCS:
    """The blocks that the RS of one port gets for what arrives.

    Until a slot with a marker has come, from reset or from a cut of the cable on, these are Local Fault ordered sets.
    The place of a marker is ``ALIGNMENT`` blocks, even in a slot that was lost; the rest of a slot is as it was sent,
    or has invalid sync headers where it was lost (UALink_200 §7.2.4.6, §7.3.2).

    Parameters
    ----------
    rate : of the port in Gb/s, which fixes how many blocks a marker has.
    matches : rates differ: idles are inserted and deleted.
    """

    def __init__(self, rate: int, matches: bool = False):
        self.aligned = False
        self.matcher = RateMatcher() if matches else None
        self._marker_blocks = MARKER_BLOCKS[rate]
        self._marker_left = 0

    def put(self, beat: Beat | None) -> int | None:
        """What has arrived in this cycle, as eight blocks; None: nothing has."""
        if beat is None:
            return None if self.aligned else LOCAL_FAULT_BEAT
        data, first, _, status, kind = beat
        if kind == CUT:
            self.aligned = False
        elif first:
            self._marker_left = self._marker_blocks if kind == START else 0
            self.aligned = self.aligned or kind == START
        if not self.aligned:
            return LOCAL_FAULT_BEAT
        if status == BAD:
            blocks = INVALID_BEAT
        else:
            blocks = blocks_of(data) if kind == DATA else CONTROL_BEATS[kind]
        if not self._marker_left:
            return blocks
        marker = min(self._marker_left, BLOCKS)
        self._marker_left -= marker
        mask = (1 << BLOCK_BITS * marker) - 1
        return ALIGNMENT_BEAT & mask | blocks & ~mask

    def get(self, blocks: int | None, stands_still: bool) -> int | None:
        """What the RS gets in this cycle, in which ``blocks`` were put; nothing where this end stands still."""
        if self.matcher is None:
            return blocks
        if not self.aligned:
            self.matcher.restart()
            return None if stands_still else LOCAL_FAULT_BEAT
        if blocks is not None:
            self.matcher.put(blocks)
        return None if stands_still else self.matcher.get()


class BlockPort:
    """Handles of one station's block streams towards the PCS; takes and gives what ``BeatPort`` does.

    A station whose clock is slower by ``slower_ppm`` than the simulated one neither sends nor receives in some cycles.
    None: all clocks of the pod are the same, and no PCS matches rates.
    """

    def __init__(self, dut, prefix: str, config: PhyConfig, ports: int, slower_ppm: float | None = None):
        self._prefix = prefix
        self._tx_valid, self._tx_payload = (
            reader(getattr(dut, f"{prefix}__tx__{name}"), prefix) for name in ("valid", "payload")
        )
        self._tx_ready = getattr(dut, f"{prefix}__tx__ready")
        self._rx_valid = getattr(dut, f"{prefix}__rx__valid")
        self._rx_payload = getattr(dut, f"{prefix}__rx__payload")
        self._tx_ready.value = 1
        self._rx_valid.value = 0
        self._rx_payload.value = 0
        self.pcs = [ReceivePCS(config.rate, slower_ppm is not None) for _ in range(ports)]
        self._sent = [(0, IDLE)] * ports
        self._ready, self._receiving = True, False
        self._slower, self._late, self._standing = slower_ppm or 0.0, 0.0, 0

    def transmitted(self) -> tuple[int, int, int, bool, bool] | None:
        """The beat of this cycle as (port, data, kind, first, last)."""
        ready = not self._standing
        if ready != self._ready:
            self._ready = ready
            self._tx_ready.value = int(ready)
        if not ready or not self._tx_valid():
            return None
        word = self._tx_payload()
        port, blocks = word >> BEAT_BITS, word & _BEAT
        number, before = self._sent[port]
        kind = DATA if is_data(blocks) else KINDS.get(blocks)
        if kind is None or (number and kind not in FOLLOWERS[before]):
            raise AssertionError(f"{self._prefix} sends what is no slot: beat {number} of port {port} is {blocks:#x}")
        self._sent[port] = (number + 1) % BEATS, kind
        return port, bytes_of(blocks) if kind == DATA else 0, kind, number == 0, number == BEATS - 1

    def receive(self, port: int, beat: Beat | None) -> None:
        """Present what the PCS makes of the ``beat`` that has arrived for ``port`` in the coming cycle."""
        pcs = self.pcs[port]
        blocks = pcs.get(pcs.put(beat), self._standing > 0)
        if blocks is not None:
            self._rx_payload.value = blocks | port << BEAT_BITS
        if self._receiving != (blocks is not None):
            self._receiving = blocks is not None
            self._rx_valid.value = int(self._receiving)
        if self._slower:
            self._fall_behind()

    def matched(self, port: int) -> tuple[int, int]:
        """Blocks that were inserted, and deleted, in what ``port`` has received."""
        matcher = self.pcs[port].matcher
        return (matcher.inserted, matcher.deleted) if matcher else (0, 0)

    def _fall_behind(self) -> None:
        """A slower station stands still for a cycle of each of its ports now and then."""
        ports = len(self.pcs)
        self._standing -= self._standing > 0
        self._late += self._slower
        if self._late >= MILLION * ports:
            self._late -= MILLION * ports
            self._standing = ports
