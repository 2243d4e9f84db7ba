"""Does the judge judge? One bit or one record of what the taps wrote is changed; the judge must notice each time."""

import random
from pathlib import Path

import numpy as np
from amaranth.lib import data

from support.tl.soak_judge import judge
from support.tl.soak_rules import Breach, Case
from support.tl.soak_tap import read_tap
from support.tl.soak_top import ENDS, TAPS

__all__ = ["spoil"]

MEMBERS = {
    **{name: tuple(member for member, _ in TAPS[name]) for name in TAPS if name.startswith("rx_")},
    # What is not on the link in all its forms is left out, and so is what belongs to a beat that may be bad.
    "tx_req": ("asi", "src_phys_acc_id", "dst_phys_acc_id", "tag", "addr", "cmd", "len", "attr", "meta_data", "vc"),
    "tx_orig_data": ("error",),
    "tx_rd_rsp": ("data_error",),
    "tx_wr_rsp": ("dst_phys_acc_id", "tag", "status", "vc"),
    "flit": ("data", "message", "parity", "control_parity", "error"),
}
"""Members of which every bit counts, by tap."""

WAYS = ("flip", "flip", "flip", "drop", "double", "exchange")


def spoil(folder: Path, case: Case, count: int, seed: int = 1) -> list[str]:
    """Spoil the taps' files ``count`` times, one after the other; the changes that the judge did not notice."""
    rng = random.Random(seed)
    unnoticed = []
    for _ in range(count):
        name = rng.choice(list(MEMBERS))
        path = folder / f"{name}_{rng.randrange(ENDS)}_0"
        before = path.read_bytes()
        what = _change(rng, path, name)
        try:
            judge(folder, case)
        except Breach:
            pass
        else:
            unnoticed.append(f"{path.name}: {what}")
        path.write_bytes(before)
    return unnoticed


def _change(rng: random.Random, path: Path, name: str) -> str:
    layout = data.Layout.cast(TAPS[name])
    records = read_tap(path, layout)
    words = records.words.copy()
    # Two flits that have nothing to do with each other may as well come the other way round.
    way = rng.choice(WAYS[:-1] if name == "flit" else WAYS)
    rows = np.arange(len(words))
    if way != "flip" and name == "flit":
        # Half-flits without a field come and go; one with a message or a Request does not.
        rows = np.flatnonzero(records.data[:, :4].any(axis=1))
    row = int(rng.choice(rows[:-1].tolist()))
    if way == "flip":
        member = rng.choice(MEMBERS[name])
        field = layout[member]
        bit = field.offset + rng.randrange(field.width)
        words[row, bit // 32] ^= np.uint32(1 << bit % 32)
        what = f"bit {bit - field.offset} of {member}"
    elif way == "drop":
        words, what = np.delete(words, row, axis=0), "dropped"
    elif way == "double":
        words, what = np.insert(words, row, words[row], axis=0), "doubled"
    else:
        # The cycles stay where they are.
        content = words[[row, row + 1], :-1].copy()
        words[[row, row + 1], :-1] = content[::-1]
        what = "exchanged with the next one"
        if (content[0] == content[1]).all():
            words, what = np.delete(words, row, axis=0), "dropped, for the next one is the same"
    path.write_bytes(words.astype("<u4").tobytes())
    return f"record {row} {what}"
