"""TL and DL of one port: what stands between a station's UPLI agents and the wire of one link."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import StationConfig
from ualink.dl.layer import DataLink
from ualink.lib.forward import show
from ualink.phy.interface import RX_BEAT_LAYOUT, TX_BEAT_LAYOUT
from ualink.tl.layer import TransactionLayer
from ualink.tl.receive_error import ReceiveError
from ualink.upli.channels import beat_stream

__all__ = ["CHANNELS", "Port", "TLStatusSignature"]

CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")


class TLStatusSignature(wiring.Signature):
    """The transaction layer as firmware sees it.

    Members
    -------
    credits_ready : both initial credit releases are complete.
    transmit_error : the partner returned more credits than it had given; sticky until the link goes down.
    receive_error_valid, receive_error : the first fatal error of the receiver since the link came up.
    """

    def __init__(self):
        super().__init__(
            {
                "credits_ready": Out(1),
                "transmit_error": Out(1),
                "receive_error_valid": Out(1),
                "receive_error": Out(ReceiveError),
            }
        )


class Port(wiring.Component):
    """One link's transaction layer on its data link layer.

    Attributes
    ----------
    tx_req, tx_orig_data, tx_rd_rsp, tx_wr_rsp : beats towards the link.
    rx_req, rx_orig_data, rx_rd_rsp, rx_wr_rsp : beats from the link.
    tx, rx : 64-byte beats towards and from the reconciliation sublayer; ``port`` in them is 0 here.
    local_fault, remote_fault : the link-fault state of the reconciliation sublayer.
    dl_uart_tx, dl_uart_rx : dwords that firmware writes and reads.
    dl_config, dl_status, tl_status : configuration and status of the two layers.
    """

    def __init__(self, config: StationConfig):
        self.config = config
        self._tl = TransactionLayer(config.tl)
        self._dl = DataLink(config.port_dl)
        super().__init__(
            {
                **{f"tx_{channel}": In(beat_stream(channel)) for channel in CHANNELS},
                **{f"rx_{channel}": Out(beat_stream(channel)) for channel in CHANNELS},
                "tx": Out(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": In(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "local_fault": In(1),
                "remote_fault": In(1),
                "dl_uart_tx": self._dl.signature.members["uart_tx"],
                "dl_uart_rx": self._dl.signature.members["uart_rx"],
                "dl_config": self._dl.signature.members["config"],
                "dl_status": self._dl.signature.members["status"],
                "tl_status": Out(TLStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.tl = tl = self._tl
        m.submodules.dl = dl = self._dl
        connect(m, tl.tx_flit, dl.tx_flit)
        connect(m, dl.rx_flit, tl.rx_flit)
        m.d.comb += [
            tl.online.eq(dl.online),
            dl.local_fault.eq(self.local_fault),
            dl.remote_fault.eq(self.remote_fault),
        ]
        connect(m, dl.tx, flipped(self.tx))
        connect(m, flipped(self.rx), dl.rx)
        connect(m, flipped(self.dl_uart_tx), dl.uart_tx)
        connect(m, dl.uart_rx, flipped(self.dl_uart_rx))
        connect(m, flipped(self.dl_config), dl.config)
        connect(m, dl.status, flipped(self.dl_status))
        show(m, tl, self.tl_status)
        for channel in CHANNELS:
            connect(m, flipped(getattr(self, f"tx_{channel}")), getattr(tl, f"tx_{channel}"))
            connect(m, getattr(tl, f"rx_{channel}"), flipped(getattr(self, f"rx_{channel}")))
        return m
