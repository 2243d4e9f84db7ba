"""What crosses between DL and reconciliation sublayer: 64-byte beats, ten to a DL flit (UALink_200 §6.3.6, §7.2)."""

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BEATS_PER_FLIT", "RX_BEAT_LAYOUT", "TX_BEAT_LAYOUT", "RSSignature", "SlotStatus", "TxKind"]

BEATS_PER_FLIT = 10


class TxKind(enum.Enum, shape=2):
    """What the DL wants on the wire in this flit slot."""

    DATA = 0
    IDLE = 1
    REMOTE_FAULT = 2


class SlotStatus(enum.Enum, shape=2):
    """What the receiver of a flit slot says of it, valid with its last beat: a data flit that passed FEC; a slot whose
    flit was lost (to the DL a flit with bad CRC); a control flit (Idle or alignment)."""

    GOOD = 0
    BAD = 1
    CONTROL = 2


TX_BEAT_LAYOUT = data.StructLayout({"data": 512, "port": 2, "first": 1, "last": 1, "kind": TxKind})
"""64 bytes in wire order, byte n in bits 8n+7..8n; ``first`` and ``last`` frame the ten beats of a flit slot and
``kind`` is constant over them."""

RX_BEAT_LAYOUT = data.StructLayout({"data": 512, "port": 2, "first": 1, "last": 1, "status": SlotStatus})
"""As ``TX_BEAT_LAYOUT``; ``status`` is valid with ``last``, ``data`` has meaning only in GOOD slots."""


class RSSignature(wiring.Signature):
    """The DL's view of the reconciliation sublayer.

    Attributes
    ----------
    tx : stream of ``TX_BEAT_LAYOUT``. The DL offers a beat in every cycle; the RS takes none (``ready`` low) where it
        inserts alignment markers or adapts rates.
    rx : stream of ``RX_BEAT_LAYOUT``, ``ready`` is always 1; in a cycle without ``valid`` the RS has no beat.
    local_fault, remote_fault : 4 bit each, bit n for port n: the link-fault state of the RS (UALink_200 §7.2).
    """

    def __init__(self):
        super().__init__(
            {
                "tx": Out(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": In(stream.Signature(RX_BEAT_LAYOUT)),
                "local_fault": In(4),
                "remote_fault": In(4),
            }
        )
