"""Random items that a UPLI could hand to a TL, with all that a TL distinguishes among them."""

import random
from dataclasses import dataclass

from ...model.tl.reassembly import ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse
from ...model.upli.transactions import (
    ALL_LANES,
    BEAT_BYTES,
    OrigDataBeat,
    RdRspBeat,
    ReqCmd,
    Request,
    Status,
    WrRspBeat,
)
from .options import TLOptions
from .transfers import ResponseItem

__all__ = ["COMMANDS", "ItemWeights", "RandomItems"]

COMMANDS = (*ReqCmd, 0x08, 0x0F, 0x2C, 0x2F, 0x3C, 0x3F)
"""Every predefined command, and the first and last Vendor Defined ones of each class."""

ATOMICS = (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR)
WHOLE_BLOCKS = (ReqCmd.READ, ReqCmd.WRITE, ReqCmd.WRITE_FULL)
IDS = ("src_phys_acc_id", "dst_phys_acc_id")
REGION_BITS = 37
BLOCKS_OF_REGION = 1 << 14


@dataclass(frozen=True, kw_only=True)
class ItemWeights:
    """Probabilities of what a random item is like.

    ``compressible`` : a Request meets every condition of compression but the hit. ``poison`` : a beat is corrupt.
    ``okay`` : a Response has status OKAY. ``beats`` : weights of 1 to 4 beats. ``regions``, ``accelerators`` : how many
    regions of 1 MB and how many IDs compressible Requests spread over. ``again`` : the next one goes to the same place.
    """

    compressible: float = 0.6
    poison: float = 0.1
    okay: float = 0.8
    beats: tuple[int, int, int, int] = (6, 2, 1, 2)
    regions: int = 6
    accelerators: int = 2
    again: float = 0.5


class RandomItems:
    """Makes items for an end with ``options``; with ``data`` false only Reads and Write Responses."""

    def __init__(self, rng: random.Random, options: TLOptions, weights: ItemWeights | None = None):
        self._rng = rng
        self._options = options
        self._weights = weights = weights or ItemWeights()
        self.data = True
        self._regions = [rng.getrandbits(REGION_BITS) for _ in range(weights.regions)]
        self._ids = rng.sample(range(max(weights.accelerators, options.tx_rows)), weights.accelerators)
        self._go_elsewhere()

    def _common(self) -> dict[str, int]:
        rng = self._rng
        return {
            "tag": rng.getrandbits(11),
            "vc": rng.getrandbits(2),
            "auth_tag": rng.getrandbits(64) if self._options.authentication else 0,
        }

    def _go_elsewhere(self) -> None:
        self._region = self._rng.choice(self._regions)
        self._near_ids = {name: self._rng.choice(self._ids) for name in IDS}

    def _far_ids(self) -> dict[str, int]:
        return {name: self._rng.getrandbits(10) for name in IDS}

    def _beats(self) -> int:
        return self._rng.choices((1, 2, 3, 4), self._weights.beats)[0]

    def _data(self) -> tuple[bytes, bool]:
        corrupt = self._rng.random() < self._weights.poison
        return bytes(BEAT_BYTES) if corrupt else self._rng.randbytes(BEAT_BYTES), corrupt

    def request(self) -> ReceivedRequest:
        """A Request with its data."""
        rng = self._rng
        near = rng.random() < self._weights.compressible
        beats = self._beats()
        if rng.random() > self._weights.again:
            self._go_elsewhere()
        cmd = int(rng.choice(WHOLE_BLOCKS if near else COMMANDS) if self.data else ReqCmd.READ)
        if cmd in ATOMICS:
            beats = 1
        members = {
            "addr": rng.getrandbits(57) & ~3,
            "len": rng.getrandbits(6),
            "attr": rng.getrandbits(8),
            "meta_data": rng.getrandbits(8),
        }
        if near:
            block = rng.randrange(0, BLOCKS_OF_REGION, 4) + rng.randint(0, 4 - beats)
            members = {
                "addr": self._region << 20 | block << 6,
                "len": 16 * beats - 1,
                "attr": 0xFF if cmd == ReqCmd.READ else 0,
                "meta_data": rng.getrandbits(3) & ~self._options.meta_data_mask,
            }
        request = Request(
            cmd=cmd,
            num_beats=0 if cmd == ReqCmd.READ else beats - 1,
            asi=rng.getrandbits(2),
            **members,
            **self._common(),
            **(self._near_ids if near else self._far_ids()),
        )
        return ReceivedRequest(request, tuple(self._orig_data(request, beats if cmd & 0x20 else 0)))

    def _orig_data(self, request: Request, beats: int) -> list[OrigDataBeat]:
        without = [ReqCmd.WRITE_FULL]
        if not self._options.uwm_has_byte_enables:
            without.append(ReqCmd.UPLI_WRITE_MESSAGE)
        made = []
        for offset in range(beats):
            data, error = self._data()
            enables = ALL_LANES if request.cmd in without else self._rng.getrandbits(BEAT_BYTES)
            made.append(
                OrigDataBeat(
                    data=data, byte_en=enables, offset=offset, last=offset == beats - 1, error=error, vc=request.vc
                )
            )
        return made

    def _response(self) -> dict[str, int]:
        """A Response names its sender only if it is sent uncompressed, which is sure with encryption or when it is not
        OKAY."""
        okay = self._rng.random() < self._weights.okay
        status = Status.OKAY if okay else self._rng.choice([s for s in Status if s is not Status.OKAY])
        ids = self._far_ids()
        if okay and not self._options.encryption:
            ids["src_phys_acc_id"] = 0
        return {"status": int(status)} | self._common() | ids

    def response(self) -> ResponseItem:
        """A Response of either kind."""
        return self.read_response() if self.data and self._rng.random() < 0.5 else self.write_response()

    def read_response(self) -> ReceivedReadResponse:
        """A Read Response: one beat alone, with any offset, or a burst."""
        common, beats = self._response(), self._beats()
        made = []
        for number in range(beats):
            data, error = self._data()
            offset, last = number, number == beats - 1
            if beats == 1:
                offset, last = self._rng.getrandbits(2), self._rng.random() < 0.5
            made.append(RdRspBeat(data=data, data_error=error, offset=offset, last=last, num_beats=beats - 1, **common))
        return ReceivedReadResponse(tuple(made))

    def write_response(self) -> ReceivedWriteResponse:
        """A Write Response, of any status but ISOLATE, which never comes from a link (UALink_200 §3.1.4)."""
        common = self._response()
        if common["status"] == Status.ISOLATE:
            common["status"] = int(Status.DECODE_ERROR)
        return ReceivedWriteResponse(WrRspBeat(**common))
