"""What passes between the transmitter and the receiver of one transaction layer."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .format.fields import CREDIT_CLASSES, FLOW_CONTROL

__all__ = ["CREDIT_RELEASE_LAYOUT", "CREDIT_UPDATE_LAYOUT", "RELEASE_LAYOUT", "ReceiveStatusSignature"]


def _buckets(credit_class):
    count_bits = FLOW_CONTROL[credit_class].shape["count"].shape
    return data.StructLayout({"pool": count_bits, "vc": data.ArrayLayout(count_bits, 4)})


CREDIT_UPDATE_LAYOUT = data.StructLayout(
    {"valid": 1, **{credit_class: _buckets(credit_class) for credit_class in CREDIT_CLASSES}}
)
"""Credits that the FC fields of one Control half-flit returned, OR-reduced per class and bucket (UALink_200 §5.7);
counts have meaning with ``valid``, at most one update per flit."""

RELEASE_LAYOUT = data.StructLayout({"valid": 1, "pool": 1, "vc": 2, "count": 3})
"""``count`` (1 to 4) receive buffers of one bucket became free in this cycle; ``pool`` and ``vc`` are POOL and VCHAN of
the Request or Response that had taken them."""

CREDIT_RELEASE_LAYOUT = data.StructLayout(
    {name: RELEASE_LAYOUT for name in ("req_cmd", "rd_rsp_cmd", "wr_rsp_cmd", "req_data", "rsp_data")}
)
"""Receive buffers freed in one cycle. Read and Write Responses leave independently, so class RspCmd has two members."""


class ReceiveStatusSignature(wiring.Signature):
    """Seen from the receiver, which drives all but ``init_sent``.

    Attributes
    ----------
    fc : received credit returns, a pulse per flit that has some.
    peer_init_done : level, Initial Credit Release Complete has arrived since the link came online.
    peer_shared_data : level, valid with ``peer_init_done``: the partner announced Shared Data Buffer mode.
    release : buffers freed, to be returned to the partner.
    buffers_free : level, low while a transfer of before the last restart still occupies buffers: nothing may be
        announced to the partner yet. High where nothing drives it.
    init_sent : level, the own Initial Credit Release Complete has been taken by the DL.
    """

    def __init__(self):
        super().__init__(
            {
                "fc": Out(CREDIT_UPDATE_LAYOUT),
                "peer_init_done": Out(1),
                "peer_shared_data": Out(1),
                "release": Out(CREDIT_RELEASE_LAYOUT),
                "buffers_free": Out(1, init=1),
                "init_sent": In(1),
            }
        )
