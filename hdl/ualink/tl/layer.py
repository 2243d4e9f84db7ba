"""The transaction layer of one port: transmitter and receiver (UALink_200 §5)."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import tl_flit_signature
from ualink.upli.channels import beat_stream

from .receive import Receive
from .receive_error import ReceiveError
from .transmit import Transmit

__all__ = ["TransactionLayer"]


class TransactionLayer(wiring.Component):
    """Carries the beats of two UPLI interfaces over one link; latencies are those of ``Transmit`` and ``Receive``.

    While ``online`` is low no beat is accepted and no flit offered; both directions restart with empty queues, zero
    credits and a new initial credit release when it rises (UALink_200 §5.8, ruling D18).

    Attributes
    ----------
    online : channel 0 of the link is online.
    tx_req, tx_orig_data, tx_rd_rsp, tx_wr_rsp : beats to send over the link.
    rx_req, rx_orig_data, rx_rd_rsp, rx_wr_rsp : beats that came over it.
    tx_flit, rx_flit : flits to and from the DL.
    credits_ready : both initial credit releases are complete.
    transmit_error : sticky until the link goes down, the partner returned more credits than it had given.
    receive_error_valid, receive_error : level, the first fatal error of the receiver since ``online`` rose.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "online": In(1),
                "tx_req": In(beat_stream("req")),
                "tx_orig_data": In(beat_stream("orig_data")),
                "tx_rd_rsp": In(beat_stream("rd_rsp")),
                "tx_wr_rsp": In(beat_stream("wr_rsp")),
                "tx_flit": Out(tl_flit_signature()),
                "rx_flit": In(tl_flit_signature(always_ready=True)),
                "rx_req": Out(beat_stream("req")),
                "rx_orig_data": Out(beat_stream("orig_data")),
                "rx_rd_rsp": Out(beat_stream("rd_rsp")),
                "rx_wr_rsp": Out(beat_stream("wr_rsp")),
                "credits_ready": Out(1),
                "transmit_error": Out(1),
                "receive_error_valid": Out(1),
                "receive_error": Out(ReceiveError),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit = transmit = Transmit(self.config)
        m.submodules.receive = receive = Receive(self.config)
        for name in ("tx_req", "tx_orig_data", "tx_rd_rsp", "tx_wr_rsp"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(transmit, name))
        for name in ("rx_req", "rx_orig_data", "rx_rd_rsp", "rx_wr_rsp"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(receive, name))
        wiring.connect(m, wiring.flipped(self.tx_flit), transmit.tx_flit)
        wiring.connect(m, wiring.flipped(self.rx_flit), receive.rx_flit)
        wiring.connect(m, receive.status, transmit.status)
        m.d.comb += [
            transmit.online.eq(self.online),
            receive.online.eq(self.online),
            self.credits_ready.eq(transmit.credits_ready),
            self.transmit_error.eq(transmit.protocol_error),
            self.receive_error_valid.eq(receive.error_valid),
            self.receive_error.eq(receive.error),
        ]
        return m
