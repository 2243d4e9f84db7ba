"""The kinds of faults of the campaign, each with what the standard makes of it."""

from support.faults.kinds_below import DATA_LINK, FIRMWARE, TL, WIRE
from support.faults.kinds_upli import UPLI
from support.faults.outcome import Kind

__all__ = ["KINDS"]

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*UPLI, *WIRE, *DATA_LINK, *TL, *FIRMWARE)}
