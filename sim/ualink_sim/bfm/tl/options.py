"""What a partner, a checker or a traffic generator must know of one end of a link."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from ...model.tl.byte_enables import BYTE_ENABLE_SLOTS
from ...model.tl.credits import BUCKETS, CLASSES, Account
from ...model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    ControlField,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ..common.arguments import check_number

__all__ = ["NATURAL_LIMITS", "TLOptions", "limit_of"]

NATURAL_LIMITS = {
    "uncompressed_requests": 2,
    "compressed_requests": 4,
    "uncompressed_responses": 4,
    "compressed_responses": 8,
    "flow_control": 8,
}
"""Most fields of each kind that a Control half-flit has room for (UALink_200 §5.1.1)."""

_LIMITS = {
    UncompressedRequest: "uncompressed_requests",
    CompressedRequest: "compressed_requests",
    UncompressedResponse: "uncompressed_responses",
    CompressedReadResponse: "compressed_responses",
    CompressedResponse: "compressed_responses",
    FlowControl: "flow_control",
}


def limit_of(control: ControlField) -> str:
    """The key of ``NATURAL_LIMITS`` that counts ``control``."""
    return _LIMITS[type(control)]


def _some_of_everything() -> dict[Account, int]:
    return {(kind, bucket): 16 if kind.endswith("data") else 8 for kind in CLASSES for bucket in BUCKETS}


@dataclass(frozen=True, kw_only=True)
class TLOptions:
    """One end of a link; ``partner()`` gives the other end of the same link.

    Attributes
    ----------
    device : "accelerator" or "switch"; decides which ID is the row of the Address Caches (UALink_200 §5.5).
    tx_rows, tx_ways : what this end may use of the partner's Rx Address Cache; 0 rows: no cache.
    rx_rows, rx_ways : its own Rx Address Cache.
    authentication : AuthTags half-flits are sent and expected.
    shared_data_buffer : this end announces Shared Data Buffer mode.
    buffers : what this end announces, by class and bucket (None: the Pool).
    limits : backoff modes of this end, most fields of each kind in a Control half-flit.
    uwm_has_byte_enables : ruling D03. byte_enable_slots : ruling D04, "address" or "beat".
    encryption : traffic may be encrypted: Strict Ordering, no Compressed Responses, and a Compressed Request
        may seem to cross 256 bytes (UALink_200 §2.7.9, §9.5.2).
    literal_catch_buffers : this end's catch buffers move with the flits that it receives, and only with these, as §5.7
        and Figure 5-6 have it: what nothing pushes on never arrives.
    push_catch_buffers : this end goes on sending flits until those of the partner would be empty.
    keep_tx_cache : this end's Tx Address Cache outlives a restart of the link, which nothing forbids.
    meta_data_mask : bits of ReqMetaData that must be 0 for a Compressed Request (ruling D02).
    ignore : rules that a checker shall not report.
    """

    device: str = "accelerator"
    tx_rows: int = 1024
    tx_ways: int = 4
    rx_rows: int = 1024
    rx_ways: int = 4
    authentication: bool = False
    shared_data_buffer: bool = False
    buffers: Mapping[Account, int] = field(default_factory=_some_of_everything)
    limits: Mapping[str, int] = field(default_factory=lambda: dict(NATURAL_LIMITS))
    uwm_has_byte_enables: bool = True
    byte_enable_slots: str = "address"
    encryption: bool = False
    literal_catch_buffers: bool = False
    push_catch_buffers: bool = True
    keep_tx_cache: bool = False
    meta_data_mask: int = 0xFC
    ignore: frozenset[str] = frozenset()

    def __post_init__(self):
        if self.device not in ("accelerator", "switch"):
            raise ValueError(f"device is {self.device!r}; it must be 'accelerator' or 'switch'")
        if self.byte_enable_slots not in BYTE_ENABLE_SLOTS:
            raise ValueError(f"byte_enable_slots is {self.byte_enable_slots!r}; it must be one of {BYTE_ENABLE_SLOTS}")
        if not self.buffers.keys() <= {(kind, bucket) for kind in CLASSES for bucket in BUCKETS}:
            raise ValueError(f"buffers has keys other than pairs of {', '.join(CLASSES)} and None or a VC")
        for (kind, bucket), count in self.buffers.items():
            check_number(type(self).__name__, f"buffers[{kind!r}, {bucket}]", count, 0)
        for name in ("tx", "rx"):
            rows, ways = getattr(self, f"{name}_rows"), getattr(self, f"{name}_ways")
            if not 0 <= rows <= 1024 or not 1 <= ways <= 4:
                raise ValueError(f"the {name} cache has {rows} rows of {ways} ways; up to 1024 of 1 to 4 can be")
        if set(self.limits) != set(NATURAL_LIMITS) or min(self.limits.values()) < 1:
            raise ValueError(f"limits are {dict(self.limits)}; each of {', '.join(NATURAL_LIMITS)} must be 1 or more")

    @property
    def strict_ordering(self) -> bool:
        """Whether Read Responses stay in order among themselves, and so do Write Responses.

        They do exactly when traffic is encrypted, with authentication or without it (UALink_200 §2.7.9, ruling A-03 of
        the UPLI chapter).
        """
        return self.encryption

    @property
    def tx_row_member(self) -> str:
        """The ID that is the row of this end's Tx Address Cache."""
        return "dst_acc_id" if self.device == "accelerator" else "src_acc_id"

    @property
    def rx_row_member(self) -> str:
        """The ID that is the row of this end's Rx Address Cache."""
        return "src_acc_id" if self.device == "accelerator" else "dst_acc_id"

    def partner(self, **changes) -> Self:
        """The other end: the other device, caches exchanged, everything else alike but for ``changes``."""
        return replace(
            self,
            device="switch" if self.device == "accelerator" else "accelerator",
            tx_rows=self.rx_rows,
            tx_ways=self.rx_ways,
            rx_rows=self.tx_rows,
            rx_ways=self.tx_ways,
            **changes,
        )
