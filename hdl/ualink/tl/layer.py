"""The transaction layer of one port: transmitter and receiver (UALink_200 §5)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import tl_flit_signature
from ualink.upli.channels import beat_stream

from .control import TLControlSignature, TLStatusSignature
from .receive.top import Receive
from .session.drop_gate import DropGate
from .session.drop_mode import DropMode
from .session.session import Session
from .transmit.top import Transmit

__all__ = ["TransactionLayer"]


class TransactionLayer(wiring.Component):
    """Carries the beats of two UPLI interfaces over one link; latencies are those of ``Transmit`` and ``Receive``.

    Before ``online`` first rises no beat is accepted and no flit offered. When it falls, that is a Link Down, and leads
    into Drop Mode, as errors at the UPLI agents do (UALink_200 §3.1.3): beats from UPLI are accepted, so that their
    UPLI credits go home, and dropped; no flit is offered or heeded. When management has cleared Drop Mode, the next
    session ends it: both directions restart with empty queues, zero credits and a new initial credit release
    (UALink_200 §5.8, ruling D18).

    Parameters
    ----------
    config : TLConfig.
    coded : beats come and go with a code, as of ``beat_stream``.

    Attributes
    ----------
    online : channel 0 of the link is online.
    control_error, protocol_error : pulse: a UPLI agent of this TL met an error of that class.
    other_down : pulse: all ports are to enter Drop Mode because of the link of another one.
    all_ports_down : pulse: the link went down, and takes all ports of the TL with it: this end is an accelerator
        (UALink_200 §3.1.4).
    control, status : what firmware decides and sees.
    tx_req, tx_orig_data, tx_rd_rsp, tx_wr_rsp : beats to send over the link.
    rx_req, rx_orig_data, rx_rd_rsp, rx_wr_rsp : beats that came over it.
    tx_flit, rx_flit : flits to and from the DL.
    error : level: this session cannot go on, the link has to go down, or has to stay so while Drop Mode lasts.
    """

    def __init__(self, config: TLConfig, *, coded: bool = False):
        self.config, self._coded = config, coded
        super().__init__(
            {
                "online": In(1),
                "control_error": In(1),
                "protocol_error": In(1),
                "other_down": In(1),
                "all_ports_down": Out(1),
                "control": In(TLControlSignature()),
                "status": Out(TLStatusSignature()),
                "tx_req": In(beat_stream("req", coded=coded)),
                "tx_orig_data": In(beat_stream("orig_data", coded=coded)),
                "tx_rd_rsp": In(beat_stream("rd_rsp", coded=coded)),
                "tx_wr_rsp": In(beat_stream("wr_rsp", coded=coded)),
                "tx_flit": Out(tl_flit_signature()),
                "rx_flit": In(tl_flit_signature(always_ready=True)),
                "rx_req": Out(beat_stream("req", coded=coded)),
                "rx_orig_data": Out(beat_stream("orig_data", coded=coded)),
                "rx_rd_rsp": Out(beat_stream("rd_rsp", coded=coded)),
                "rx_wr_rsp": Out(beat_stream("wr_rsp", coded=coded)),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, control, status = self.config, self.control, self.status
        m.submodules.transmit = transmit = Transmit(config, coded=self._coded)
        m.submodules.receive = receive = Receive(config, coded=self._coded)
        m.submodules.drop_mode = drop_mode = DropMode()
        m.submodules.session = session = Session()
        m.submodules.drop_gate = gate = DropGate(coded=self._coded)

        is_switch = control.is_switch if config.device == "either" else config.device == "switch"
        m.d.comb += [
            drop_mode.control_error.eq(self.control_error),
            drop_mode.protocol_error.eq(self.protocol_error),
            drop_mode.other_down.eq(self.other_down),
            drop_mode.command.eq(control.enter_drop),
            self.all_ports_down.eq(drop_mode.fell & ~is_switch),
            drop_mode.online.eq(self.online),
            drop_mode.clear.eq(control.clear_drop),
            session.link_up.eq(drop_mode.up),
            session.drop.eq(drop_mode.dropping),
            gate.dropping.eq(session.dropping),
            transmit.online.eq(session.up),
            transmit.restart.eq(session.restart),
            receive.online.eq(self.online),
            receive.discard.eq(session.restart),
            receive.encryption.eq(control.encryption),
            receive.is_switch.eq(control.is_switch),
            receive.disable_rx_cache.eq(control.disable_rx_cache),
        ]
        if config.authentication:
            # A channel has authentication for all of its traffic or for none (UALink_200 §5.1.1).
            authentication = Signal()
            with m.If(~self.online):
                m.d.sync += authentication.eq(control.authentication)
            m.d.comb += [half.authentication.eq(authentication) for half in (transmit, receive)]
        for name in control.signature.members:
            m.d.comb += getattr(transmit.control, name).eq(getattr(control, name))
        for name in ("req", "orig_data", "rd_rsp", "wr_rsp"):
            wiring.connect(m, wiring.flipped(getattr(self, f"tx_{name}")), getattr(gate, name))
            wiring.connect(m, getattr(gate, f"tx_{name}"), getattr(transmit, f"tx_{name}"))
        for name in ("rx_req", "rx_orig_data", "rx_rd_rsp", "rx_wr_rsp"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(receive, name))
        # A link that has gone down takes no flit, though the session lasts a cycle longer.
        m.d.comb += [
            self.tx_flit.p.eq(transmit.tx_flit.p),
            self.tx_flit.valid.eq(transmit.tx_flit.valid & self.online),
            transmit.tx_flit.ready.eq(self.tx_flit.ready),
        ]
        wiring.connect(m, wiring.flipped(self.rx_flit), receive.rx_flit)
        wiring.connect(m, receive.status, transmit.status)
        m.d.comb += [
            self.error.eq(receive.error_valid | transmit.protocol_error | transmit.cache_error | drop_mode.hold),
            status.credits_ready.eq(transmit.credits_ready),
            status.transmit_error.eq(transmit.protocol_error),
            status.cache_error.eq(transmit.cache_error),
            status.receive_error_valid.eq(receive.error_valid),
            status.receive_error.eq(receive.error),
            status.isolates.eq(receive.isolates),
            status.last_error.eq(receive.last_error),
            status.error_count.eq(receive.error_count),
            status.unknown_messages.eq(receive.unknown_messages),
            status.half_poisoned_beats.eq(receive.half_poisoned_beats),
            status.block_crossings.eq(receive.block_crossings),
            status.dropping.eq(session.dropping),
            status.drop_cause.eq(drop_mode.cause),
        ]
        return m
