"""What the two UPLI agents have in common: connection, senders, receivers and the errors that they saw."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.upli.calendar import check_ports
from ualink.upli.channels import UPLISignature, beat_stream
from ualink.upli.connect import Connect
from ualink.upli.receiver import Receiver
from ualink.upli.sender import Sender
from ualink.upli.slots import PortStreams
from ualink.upli.status import ERRORS_LAYOUT, ErrorStatus

__all__ = ["Agent"]


class Agent(wiring.Component):
    """One side of a UPLI interface; ``Originator`` and ``Completer`` add what they do not share.

    ``_accept(m, offers, available, to_come)`` says which offered beats are accepted in this slot (``to_come`` is of
    the slot's port), ``_check(m, vld, violation, protocol)`` reports broken rules between received beats by channel.

    Parameters
    ----------
    config : UPLIConfig.
    ports : 1, 2 or 4.
    own, peer : ``"orig"`` and ``"comp"`` or the other way round: whose ClkReq and ClkAck this side drives.
    sends : the channels that this side sends; it receives the other two.
    """

    CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")

    def __init__(self, config: UPLIConfig, ports: int, *, own: str, peer: str, sends: tuple[str, ...]):
        self.config = config
        self.ports = check_ports("agent", ports)
        self._own = own
        self._peer = peer
        self.sends = sends
        self.receives = tuple(channel for channel in self.CHANNELS if channel not in sends)
        super().__init__(
            {
                "upli": (Out if own == "orig" else In)(UPLISignature()),
                "slot": In(2),
                "connect": In(1, init=1),
                **{
                    channel: (In if channel in sends else Out)(beat_stream(channel)).array(ports)
                    for channel in self.CHANNELS
                },
                "connected": Out(1),
                "data_error": Out(1),
                "control_error": Out(1),
                "protocol_error": Out(1),
                "errors": Out(ERRORS_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        upli, own, peer = self.upli, self._own, self._peer
        m.submodules.connect = connect = Connect()
        m.d.comb += [
            connect.start.eq(self.connect),
            getattr(upli, f"{own}_clk_req").eq(connect.clk_req),
            connect.peer_clk_ack.eq(getattr(upli, f"{peer}_clk_ack")),
            connect.peer_clk_req.eq(getattr(upli, f"{peer}_clk_req")),
            getattr(upli, f"{own}_clk_ack").eq(connect.clk_ack),
            self.connected.eq(connect.connected),
        ]
        m.submodules.status = status = ErrorStatus()
        seen = status.seen
        m.d.comb += [
            seen.handshake.eq(connect.protocol_error),
            self.errors.eq(status.errors),
            self.data_error.eq(status.errors.data.as_value().any()),
            self.control_error.eq(status.errors.control.as_value().any()),
            self.protocol_error.eq(status.errors.protocol.as_value().any() | status.errors.handshake),
        ]

        senders = {name: Sender(name, self.config, self.ports) for name in self.sends}
        offers = {}
        for name, sender in senders.items():
            m.submodules[name] = sender
            wiring.connect(m, wiring.flipped(getattr(upli, name)), sender.upli)
            offers[name] = PortStreams(m, self.slot, getattr(self, name), name)
            m.d.comb += [
                sender.connected.eq(connect.connected),
                sender.listen.eq(connect.inbound_open),
                sender.slot.eq(self.slot if self.ports > 1 else 0),
                sender.beat.eq(offers[name].payload),
                sender.send.eq(offers[name].accept),
                seen.control[name].eq(sender.control_error),
                seen.protocol[name].eq(sender.protocol_error),
            ]
        # Beats that the transfer under way on each port has still to send: its credits are in hand.
        to_come = Array(Signal(2, name=f"port{port}_to_come") for port in range(self.ports))
        port = self.slot[:1] if self.ports == 2 else self.slot if self.ports == 4 else 0
        self._accept(m, offers, {name: sender.available for name, sender in senders.items()}, to_come[port])

        vld, violation = {}, {}
        for name in self.receives:
            m.submodules[name] = receiver = Receiver(name, getattr(self.config, name), self.ports)
            wiring.connect(m, wiring.flipped(getattr(upli, name)), receiver.upli)
            for inner, outer in zip(receiver.beats, getattr(self, name)):
                wiring.connect(m, inner, wiring.flipped(outer))
            vld[name] = connect.inbound_open & getattr(upli, name).vld
            violation[name] = receiver.protocol_error
            m.d.comb += [
                receiver.open.eq(connect.outbound_open),
                receiver.listen.eq(connect.inbound_open),
                seen.data[name].eq(receiver.data_error),
                seen.control[name].eq(receiver.control_error),
            ]
        self._check(m, vld, violation, seen.protocol)
        return m
