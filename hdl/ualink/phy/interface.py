"""What crosses between DL and reconciliation sublayer: 64-byte beats, ten to a DL flit (UALink_200 §6.3.6, §7.2); and
between reconciliation sublayer and PCS: words of 64B/66B blocks (UALink_200 §7.3.4), eight a word if not told."""

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT

__all__ = [
    "BEATS_PER_FLIT",
    "BLOCKS_LAYOUT",
    "RX_BEAT_LAYOUT",
    "TX_BEAT_LAYOUT",
    "BlocksSignature",
    "RSSignature",
    "SlotStatus",
    "TxKind",
    "blocks_layout",
    "rx_word_layout",
    "tx_word_layout",
]

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


def tx_word_layout(blocks_per_word: int) -> data.StructLayout:
    """As ``TX_BEAT_LAYOUT``, with the bytes of as many blocks; ``first`` and ``last`` are on the first and the last
    word of a flit slot."""
    return data.StructLayout({"data": 64 * blocks_per_word, "port": 2, "first": 1, "last": 1, "kind": TxKind})


def rx_word_layout(blocks_per_word: int) -> data.StructLayout:
    """As ``RX_BEAT_LAYOUT``, with the bytes of as many blocks; ``first`` and ``last`` are on the first and the last
    word of a slot."""
    return data.StructLayout({"data": 64 * blocks_per_word, "port": 2, "first": 1, "last": 1, "status": SlotStatus})


TX_BEAT_LAYOUT = tx_word_layout(BLOCKS_PER_BEAT)
"""64 bytes in wire order, byte n in bits 8n+7..8n; ``first`` and ``last`` frame the ten beats of a flit slot and
``kind`` is constant over them."""

RX_BEAT_LAYOUT = rx_word_layout(BLOCKS_PER_BEAT)
"""As ``TX_BEAT_LAYOUT``; ``status`` is valid with ``last``, ``data`` has meaning only in GOOD slots. A CONTROL slot may
be one beat alone, and a slot without its ``last`` is none: the next ``first`` stands in its place. Two ``last`` are
eight beats or more apart."""


class RSSignature(wiring.Signature):
    """The DL's view of the reconciliation sublayer.

    Attributes
    ----------
    tx : stream of ``TX_BEAT_LAYOUT``. The DL offers a beat in every cycle; the RS takes none (``ready`` low) where it
        inserts alignment markers or adapts rates. While a fault is shown it takes what there is, and loses it. From
        a beat taken to the next one there are 8 / ``blocks_per_word`` cycles or more.
    rx : stream of ``RX_BEAT_LAYOUT``, ``ready`` is always 1; in a cycle without ``valid`` the RS has no beat. From a
        beat to the next one there are 8 / ``blocks_per_word`` cycles or more.
    local_fault, remote_fault : 4 bit each, bit n for port n: the link fault that the RS answers in the slot which it
        is sending (UALink_200 §7.2.6).
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


def blocks_layout(blocks_per_word: int) -> data.StructLayout:
    """So many 64B/66B blocks of one port as of ``ualink.phy.blocks``, ``blocks[0]`` sent first."""
    return data.StructLayout({"blocks": data.ArrayLayout(BLOCK_BITS, blocks_per_word), "port": 2})


BLOCKS_LAYOUT = blocks_layout(BLOCKS_PER_BEAT)
"""Eight blocks a word."""


class BlocksSignature(wiring.Signature):
    """The RS's view of the PCS: the 64B/66B interface of UALink_200 §7.3.4.

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8: how wide it is.
    always_ready : ``rx.ready`` is the constant 1; otherwise it is a signal that is driven with 1, as a port of a module
        must be.

    Attributes
    ----------
    tx : stream of ``blocks_layout``. The RS offers a word in every cycle of a port; 80 blocks from the first word on
        are a flit slot, and a Start flit begins with eight blocks of type 0x78. The PCS keeps ``ready`` low while it
        has no room.
    rx : stream of ``blocks_layout``, ``ready`` is always 1; in a cycle without ``valid`` there is nothing. A flit may
        begin at any block. Without alignment the PCS gives Local Fault ordered sets; the blocks with which an AM flit
        begins are ``ALIGNMENT_BLOCK``; what could not be decoded has sync header 00 or 11.
    """

    def __init__(self, blocks_per_word: int = BLOCKS_PER_BEAT, *, always_ready: bool = True):
        layout = blocks_layout(blocks_per_word)
        super().__init__(
            {
                "tx": Out(stream.Signature(layout)),
                "rx": In(stream.Signature(layout, always_ready=always_ready)),
            }
        )
