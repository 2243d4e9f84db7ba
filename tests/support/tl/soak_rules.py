"""Rules that a stream of flits must keep whatever it carries: sequence, limits, parity, credits."""

from dataclasses import dataclass, field

import numpy as np

from support.tl.soak_tap import Records
from ualink.config import TLConfig
from ualink_sim.model.tl.batch import Stream, excess, outstanding, spent
from ualink_sim.model.tl.credits import BUCKETS, CLASSES
from ualink_sim.model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE

__all__ = ["Breach", "Case", "Session", "check_credits", "check_flits", "demand", "equal"]

KINDS = {
    "uncompressed_requests": (1,),
    "compressed_requests": (3,),
    "uncompressed_responses": (2,),
    "compressed_responses": (4, 5),
}
_PARITY = np.array([bin(byte).count("1") & 1 for byte in range(256)], dtype=np.uint8)


class Breach(AssertionError):
    """A rule is broken or a difference found."""


def demand(holds, what: str) -> None:
    """Breach unless ``holds``."""
    if not holds:
        raise Breach(what)


def equal(got, wanted, what: str) -> None:
    """Breach unless both arrays are the same in every row."""
    got, wanted = np.asarray(got).astype(np.uint64), np.asarray(wanted).astype(np.uint64)
    demand(got.shape == wanted.shape, f"{what}: {got.shape} instead of {wanted.shape}")
    wrong = (got != wanted).reshape(len(got), -1).any(axis=1) if len(got) else np.zeros(0, dtype=bool)
    if wrong.any():
        row = int(wrong.argmax())
        raise Breach(f"{what} {row} of {len(got)}: {got[row]} instead of {wanted[row]}")


@dataclass
class Case:
    """What the judge has to know of a run."""

    configs: tuple[TLConfig, TLConfig]
    latency: int
    authentication: bool = False
    limits: dict[str, int] = field(default_factory=dict)
    tx_cache: bool = True
    compress_responses: bool = True
    coupled: bool = False


@dataclass
class Session:
    """One life of the link in one direction: what ``near`` accepted, the flits that reached ``far``, what that gave."""

    accepted: dict[str, Records]
    flits: Records
    given: dict[str, Records]
    stream: Stream


def _check_catch_buffers(session: Session, last: bool) -> None:
    """Whoever takes §5.7 at its word can catch all fields and gets them all; no flit comes that helps nobody."""
    flits = session.flits
    kept = np.zeros(len(flits), dtype=np.int64)
    for fields, limit in ((session.stream.requests, REQUEST_LIMIT), (session.stream.responses, RESPONSE_LIMIT)):
        counts = np.bincount(fields.row, minlength=len(flits))
        first = excess(counts, limit)
        demand(first is None, f"flit {first} is above the source rate limit of {limit}")
        kept += outstanding(counts)
    demand(not last or not kept[-1:].any(), f"{kept[-1:]} fields are stranded in catch buffers")
    empty = np.flatnonzero(~flits.data.any(axis=1) & (flits.message == 0))
    needless = empty[(empty == 0) | (kept[empty - 1] == 0)]
    demand(not len(needless), f"flit {needless[:1]} says nothing and pushes nothing on")


def check_flits(case: Case, near: int, session: Session, last: bool) -> None:
    """Parity, sequence, source rate limits, limits of a Control half-flit, compression, one count for each account."""
    flits, stream = session.flits, session.stream
    demand(stream.error is None, f"flit {stream.error}")
    demand(not stream.half_poisoned, "a beat is poisoned by half")
    data = np.ascontiguousarray(flits.data).view(np.uint8)
    parity = np.packbits(_PARITY[data], axis=1, bitorder="little").view("<u8")[:, 0]
    equal(flits.parity, parity, "parity of flit")
    control = _PARITY[flits.message] ^ flits.error.astype(np.uint8)
    equal(flits.control_parity, control, "control parity of flit")
    demand(not flits.error.any(), "a flit is marked as corrupt")
    _check_catch_buffers(session, last)
    requests, responses = stream.requests, stream.responses
    ftype = np.concatenate([requests.ftype, responses.ftype])
    row = np.concatenate([requests.row, responses.row])
    for name, most in case.limits.items():
        if name == "flow_control":
            counts = np.bincount(stream.credit_fields, minlength=len(flits))
        else:
            counts = np.bincount(row[np.isin(ftype, KINDS[name])], minlength=len(flits))
        over = np.flatnonzero(counts > most)
        demand(not len(over), f"flit {over[:1]} has {counts[over[:1]]} {name}, the limit is {most}")
    demand(stream.repeated is None, f"flit {stream.repeated} returns credits of one bucket twice")
    if not (case.tx_cache and case.configs[near].tx_cache.rows):
        demand(not (requests.ftype == 3).any() and not requests.cload.any(), "the Tx Address Cache is used")
    if not case.compress_responses:
        demand((responses.ftype == 2).all(), "a Response is compressed")
    words = np.ascontiguousarray(flits.data).view("<u4")[responses.row, responses.sector]
    demand(not (words & np.where(responses.ftype == 2, 0xFFFF, 1)).any(), "a SPARE bit is not 0")
    sent = np.bincount(row, minlength=len(flits))[stream.tagged]
    unused = np.arange(4) >= sent[:, None]
    demand(not (flits.data[stream.tagged][:, 4:] * unused).any(), "an unused tag is not 0")
    # ReqMetaData[7:2] must be 0 (ruling D02); all other conditions show when the Request is rebuilt.
    short = requests.ftype == 3
    demand(not (requests.meta_data[short] & 0xFC).any(), "METADATA of a Compressed Request has bit 2 set")


def check_credits(case: Case, near: int, session: Session, opposite: Session, last: bool) -> None:
    """Nothing before both initial releases, nothing without credit; what was announced comes back, and no more."""
    start = []
    for way, end in ((session, near), (opposite, 1 - near)):
        places = way.stream.messages
        content = np.ascontiguousarray(way.flits.data).reshape(-1, 2, 4)[places // 2, places % 2]
        kinds = content[:, 0]
        demand((kinds & np.uint64(0xFF) == INITIAL_CREDIT_RELEASE_COMPLETE).all(), "unknown message")
        demand(len(kinds) <= 1, "two initial releases")
        demand(len(kinds) == 1 or not last, "no initial release")
        shared = case.configs[end].shared_data_buffer
        demand((kinds >> np.uint64(8) == shared).all(), "wrong flag of Shared Data Buffer mode")
        demand(not content[:, 1:].any(), "payload of a message that is not 0")
        start.append(int(places[0]) // 2 if len(places) else len(way.flits))
    sent = [spent(fields) for fields in (session.stream.requests, session.stream.responses)]
    back = opposite.stream.returned
    arrivals = opposite.flits.cycle[back.row]
    leaves = np.concatenate([session.flits.cycle[costs.row] for costs in sent]) - case.latency
    accounts = np.concatenate([costs.account for costs in sent])
    counts = np.concatenate([costs.count for costs in sent])
    if len(leaves):
        rows = np.concatenate([costs.row for costs in sent])
        demand(rows.min() > start[0], "a field before the own initial release")
        complete = start[1] < len(opposite.flits)
        demand(complete and leaves.min() > opposite.flits.cycle[start[1]], "a field before the partner's release")

    partner = case.configs[1 - near]
    initial = back.row < start[1]
    for account in range(len(CLASSES) * len(BUCKETS)):
        kind, bucket = CLASSES[account // len(BUCKETS)], account % len(BUCKETS)
        total = (getattr(partner, kind).pool, *getattr(partner, kind).vc)[bucket]
        name = f"{kind} credits of {'Pool' if bucket == 0 else f'VC {bucket - 1}'}"
        announced = back.count[initial & (back.account == account)].sum()
        demand(announced == total or start[1] == len(opposite.flits), f"{announced} {name} announced, not {total}")
        group = [account]
        if partner.shared_data_buffer and bucket == 0 and kind.endswith("data"):
            if kind == "rsp_data":
                continue
            group.append(account + len(BUCKETS))
            total += partner.rsp_data.pool
        # What comes in a cycle can be spent in the next.
        gained, lost = np.isin(back.account, group), np.isin(accounts, group)
        times = np.concatenate([2 * arrivals[gained] + 1, 2 * leaves[lost]])
        order = np.argsort(times, kind="stable")
        held = np.cumsum(np.concatenate([back.count[gained], -counts[lost]])[order])
        demand(not len(held) or held.min() >= 0, f"{name} overdrawn")
        demand(not len(held) or held.max() <= total, f"more {name} returned than spent")
        demand(not last or (held[-1] if len(held) else 0) == total, f"not all {name} came back")
