"""What a bank has read for an egress port: it comes whether the egress is ready or not, within the room it has told."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import CODED_LAYOUTS

__all__ = ["FOUND_LAYOUT", "RequestArrival", "ResponseArrival"]

FOUND_LAYOUT = data.StructLayout({"wrong": 1, "poison": 1})
"""Of a beat: control, or data were not what its code was made of."""


class RequestArrival(wiring.Signature):
    """Requests and beats of data as they come out of the buffers, seen from the bank.

    A data-bearing Request and its first beat come in the same cycle, the other beats in the next ones; Requests without
    data come between them or with them.

    Attributes
    ----------
    come, come_data : 1 bit each: ``item``, a coded Request, comes; ``transfer``, a coded beat and ``end``, comes.
    with_data : 1 bit, what ``item`` says of itself.
    wrong, beat_wrong, poison : 1 bit each, of what came in the cycle before: the Request, control of the beat, its
        data were not what their code was made of.
    stray : 1 bit, a register: a beat came that belongs to no Request, and was dropped; 0 from a bank.
    room, data_room : 1 bit each, from registers of the egress: there is room for what is granted in this cycle, and for
        all that comes before it.
    """

    def __init__(self):
        super().__init__(
            {
                "come": Out(1),
                "item": Out(CODED_LAYOUTS["req"]),
                "with_data": Out(1),
                "wrong": Out(1),
                "come_data": Out(1),
                "transfer": Out(transfer_layout("orig_data")),
                "beat_wrong": Out(1),
                "stray": Out(1),
                "poison": Out(1),
                "room": In(1),
                "data_room": In(1),
            }
        )


class ResponseArrival(wiring.Signature):
    """Beats of responses as they come out of the buffers, seen from the bank.

    The beats of a transfer come in successive cycles.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.

    Attributes
    ----------
    come : 1 bit: ``beat``, a coded one of ``channel``, comes; ``first``: it is the first of its transfer.
    wrong, poison : 1 bit each, of what came in the cycle before: control of the beat, its data were not what their
        code was made of.
    room : 1 bit, from a register of the egress: there is room for the transfer that is granted in this cycle, and for
        all that comes before it.
    """

    def __init__(self, channel: str):
        self.channel = channel
        super().__init__(
            {
                "come": Out(1),
                "beat": Out(CODED_LAYOUTS[channel]),
                "first": Out(1),
                "wrong": Out(1),
                "poison": Out(1),
                "room": In(1),
            }
        )
