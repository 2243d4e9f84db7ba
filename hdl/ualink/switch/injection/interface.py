"""What firmware asks of the injection at a station of a switch."""

from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ITEM_LAYOUT", "InjectionSignature", "ItemKind", "StrikePoint", "Towards"]


class ItemKind(enum.Enum, shape=2):
    """Kind of an item that is injected."""

    REQUEST = 0
    READ_RESPONSE = 1
    WRITE_RESPONSE = 2


class Towards(enum.Enum, shape=1):
    """Which way it goes: as if the link had brought it, or as if the core had forwarded it."""

    CORE = 0
    LINK = 1


class StrikePoint(enum.Enum, shape=3):
    """The beat between a station and the core whose UPLI parity is spoilt, by where it goes and its channel.

    Of Requests and Write Responses it is the control parity: a Control Error at who receives the beat, which is an
    agent of the core on the way there, one of the station on the way to the link. Of data it is that of the lowest
    64 bits: a Data Error, and the beat is poisoned.
    """

    CORE_REQ = 0
    CORE_ORIG_DATA = 1
    CORE_RD_RSP = 2
    CORE_WR_RSP = 3
    LINK_REQ = 4
    LINK_ORIG_DATA = 5
    LINK_RD_RSP = 6
    LINK_WR_RSP = 7


ITEM_LAYOUT = data.StructLayout(
    {
        "src_phys_acc_id": 10,
        "dst_phys_acc_id": 10,
        "tag": 11,
        "vc": 2,
        "status": 4,
        "num_beats": 2,
        "cmd": 6,
        "len": 6,
        "attr": 8,
        "meta_data": 8,
        "asi": 2,
        "addr": 57,
        "auth_tag": 64,
        "data": 32,
        "error": 1,
    }
)
"""Fields of the item, each for the kinds that have it. ``data`` fills the one beat of data, if there is one, again and
again; ``error`` poisons it. ``num_beats`` counts for Requests without data only: otherwise it is 0, one beat."""


class InjectionSignature(wiring.Signature):
    """The injection at a station, seen from firmware; 1 bit each where nothing is said.

    Members
    -------
    enable : reset value 0: firmware wants injection.
    allowed : the secure firmware lets it. Without both nothing is injected, by the data links of the station neither.
    inject : level: inject ``item`` once; what has been offered goes even if it falls.
    injected : pulse: the item has gone.
    kind, towards, port : ``ItemKind``; ``Towards``; 2 bits, by which port of the station.
    item : ``ITEM_LAYOUT``; stays as it is, with the three above, from ``inject`` to ``injected``.
    strike : level: spoil the parity of the next beat at ``point``.
    struck : pulse: that beat has gone.
    point : ``StrikePoint``.
    """

    def __init__(self):
        super().__init__(
            {
                "enable": Out(1),
                "allowed": In(1),
                "inject": Out(1),
                "injected": In(1),
                "kind": Out(ItemKind),
                "towards": Out(Towards),
                "port": Out(2),
                "item": Out(ITEM_LAYOUT),
                "strike": Out(1),
                "struck": In(1),
                "point": Out(StrikePoint),
            }
        )
