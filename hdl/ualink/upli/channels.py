"""The UPLI channels as typed interfaces (UALink_200 §2.7, Tables 2-1, 2-2, 2-8, 2-11, 2-14).

Names are the standard's, with the channel prefix turned into a path: ReqSrcPhysAccID is ``req.src_phys_acc_id``,
RdRspCreditPort2Num is ``rd_rsp.credit.port_num[2]``. ``*_LAYOUT`` is what one beat tells apart from valid, port, pool
and parity: the payload of the streams on the inner side of a UPLI agent.
"""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "CHANNEL_LAYOUTS",
    "CODED_LAYOUTS",
    "CODE_LAYOUTS",
    "ORIG_DATA_LAYOUT",
    "PROTECTED_BITS",
    "RD_RSP_LAYOUT",
    "REQ_LAYOUT",
    "WR_RSP_LAYOUT",
    "CreditReturnSignature",
    "OrigDataSignature",
    "RdRspSignature",
    "ReqSignature",
    "UPLISignature",
    "WrRspSignature",
    "beat_stream",
]

MAX_PORTS = 4
"""Ports that the signals of an interface provide for, whatever the bifurcation (UALink_200 §2.5)."""

REQ_LAYOUT = data.StructLayout(
    {
        "asi": 2,
        "auth_tag": 64,
        "src_phys_acc_id": 10,
        "dst_phys_acc_id": 10,
        "tag": 11,
        "num_beats": 2,
        "addr": 57,
        "cmd": 6,
        "len": 6,
        "attr": 8,
        "meta_data": 8,
        "vc": 2,
    }
)
"""One Request beat; ``num_beats`` and ``len`` are counts minus one, ``addr`` is in bytes."""

ORIG_DATA_LAYOUT = data.StructLayout(
    {
        "data": 512,
        "byte_en": 64,
        "offset": 2,
        "last": 1,
        "error": 1,
        "vc": 2,
    }
)
"""One Originator Data beat; lane n of ``data`` is bits 8n+7..8n and has enable bit n."""

RD_RSP_LAYOUT = data.StructLayout(
    {
        "auth_tag": 64,
        "src_phys_acc_id": 10,
        "dst_phys_acc_id": 10,
        "tag": 11,
        "num_beats": 2,
        "data": 512,
        "status": 4,
        "offset": 2,
        "last": 1,
        "data_error": 1,
        "vc": 2,
    }
)
"""One Read Response beat; ``num_beats`` is beats minus one in multi-beat mode, 0 in single-beat mode."""

WR_RSP_LAYOUT = data.StructLayout(
    {
        "auth_tag": 64,
        "src_phys_acc_id": 10,
        "dst_phys_acc_id": 10,
        "tag": 11,
        "status": 4,
        "vc": 2,
    }
)
"""One Write Response beat."""

CHANNEL_LAYOUTS = {"req": REQ_LAYOUT, "orig_data": ORIG_DATA_LAYOUT, "rd_rsp": RD_RSP_LAYOUT, "wr_rsp": WR_RSP_LAYOUT}


PROTECTED_BITS = {"data": 64, "byte_en": 64}
"""Fields with bits of the code for themselves, one for each so many bits: what is wrong of them is a Data Error
(UALink_200 §3.1.2)."""


def _code_layout(layout):
    own = {name: -(-field.width // PROTECTED_BITS[name]) for name, field in layout if name in PROTECTED_BITS}
    return data.StructLayout({"control": 1, **own})


CODE_LAYOUTS = {channel: _code_layout(layout) for channel, layout in CHANNEL_LAYOUTS.items()}
"""The code of a beat inside a device, even parity: ``control`` (1 bit) over all fields but ``data`` and ``byte_en``,
with ASI, AuthTag and VC; ``data`` (8 bits) one over each 64 bits; ``byte_en`` (1 bit)."""

CODED_LAYOUTS = {
    channel: data.StructLayout({**{name: field.shape for name, field in layout}, "code": CODE_LAYOUTS[channel]})
    for channel, layout in CHANNEL_LAYOUTS.items()
}
"""A beat with its code, behind the fields that the channel tells."""


class CreditReturnSignature(wiring.Signature):
    """Credit return of one channel, seen from the receiver of that channel, which drives it (UALink_200 §2.6).

    Attributes
    ----------
    init_done : 4 bit, bit n: the initial release of port n is complete; low after reset.
    vld : 4 bit, bit n: credits of port n are returned in this cycle.
    pool : 4 bit, bit n: 1 = Pool credits, 0 = credits of ``port_vc[n]``.
    port_vc : 2 bit each, the VC of the beat that spent the credit.
    port_num : 2 bit each, number of credits minus one.
    vld_parity, parity : even parity over ``vld``; even parity over ``pool``, ``port_vc`` and ``port_num``.
    """

    def __init__(self):
        super().__init__(
            {
                "init_done": Out(4),
                "vld": Out(4),
                "pool": Out(4),
                "port_vc": Out(2).array(MAX_PORTS),
                "port_num": Out(2).array(MAX_PORTS),
                "vld_parity": Out(1),
                "parity": Out(1),
            }
        )


def _channel(layout, parities):
    return {
        "vld": Out(1),
        "port_id": Out(2),
        "pool": Out(1),
        **{name: Out(field.shape) for name, field in layout},
        "vld_parity": Out(1),
        **{name: Out(width) for name, width in parities.items()},
        "credit": In(CreditReturnSignature()),
    }


class ReqSignature(wiring.Signature):
    """Request channel seen from its sender (UALink_200 §2.7.4, Table 2-2)."""

    def __init__(self):
        super().__init__(_channel(REQ_LAYOUT, {"addr_parity": 1, "parity": 1}))


class OrigDataSignature(wiring.Signature):
    """Originator Data channel seen from its sender (UALink_200 §2.7.7, Table 2-14)."""

    def __init__(self):
        super().__init__(_channel(ORIG_DATA_LAYOUT, {"data_parity": 8, "byte_en_parity": 1, "fields_parity": 1}))


class RdRspSignature(wiring.Signature):
    """Read Response/Data channel seen from its sender (UALink_200 §2.7.5, Table 2-8)."""

    def __init__(self):
        super().__init__(_channel(RD_RSP_LAYOUT, {"data_parity": 8, "parity": 1}))


class WrRspSignature(wiring.Signature):
    """Write Response channel seen from its sender (UALink_200 §2.7.6, Table 2-11)."""

    def __init__(self):
        super().__init__(_channel(WR_RSP_LAYOUT, {"parity": 1}))


class UPLISignature(wiring.Signature):
    """A whole UPLI interface seen from the UPLI Originator; UPLIClk and UPLIReset_N are the clock domain's.

    Attributes
    ----------
    req, orig_data : the Originator's channels; rd_rsp, wr_rsp : the Completer's channels.
    orig_clk_req, comp_clk_ack, comp_clk_req, orig_clk_ack : connection handshake (UALink_200 §4.3); low after reset.
    """

    def __init__(self):
        super().__init__(
            {
                "req": Out(ReqSignature()),
                "orig_data": Out(OrigDataSignature()),
                "rd_rsp": In(RdRspSignature()),
                "wr_rsp": In(WrRspSignature()),
                "orig_clk_req": Out(1),
                "comp_clk_ack": In(1),
                "comp_clk_req": In(1),
                "orig_clk_ack": Out(1),
            }
        )


def beat_stream(channel: str, *, coded: bool = False, **kwargs) -> stream.Signature:
    """Stream of beats of ``channel`` (``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``) inside a device,
    ``coded`` with the code of each."""
    return stream.Signature((CODED_LAYOUTS if coded else CHANNEL_LAYOUTS)[channel], **kwargs)
