"""What the two UPLI agents have in common: connection, senders, receivers and the errors that they saw."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.lib.ports_used import copy_of, used_member
from ualink.lib.ring import Ring
from ualink.upli.burst import BurstCheck
from ualink.upli.calendar import CalendarCheck, check_ports
from ualink.upli.channels import UPLISignature, beat_stream
from ualink.upli.connect import Connect
from ualink.upli.departure import Departure
from ualink.upli.receiver import Receiver
from ualink.upli.sender import Sender
from ualink.upli.status import ERRORS_LAYOUT, ErrorStatus

__all__ = ["Agent"]

ITEM_CHANNELS = ("req", "rd_rsp", "wr_rsp")
"""The channels whose transfers are items; OrigData belong to their Request."""


class Agent(wiring.Component):
    """One side of a UPLI interface; ``Originator`` and ``Completer`` add what they do not share.

    ``_accept(m, departures, sends, available, to_come, to_drop)`` says which beats leave in this slot, and which of
    them are sent; ``to_come`` and ``to_drop`` are rings. ``_admit(m, receivers, protocol)`` says what becomes of the
    received beats, and reports the rules broken between them by channel. Both tell of the items that they drop, in
    ``self._drops`` by channel.

    While ``drop`` is high the agent is in Drop Mode (UALink_200 §3.1.3): no transfer of any port begins, in or out.
    Beats to send are dropped, whole transfers at a time; received beats are dropped and
    their credits go home. Transfers that had begun are finished, and credits are accepted and returned.

    Parameters
    ----------
    config : UPLIConfig.
    ports : 1, 2 or 4.
    own : ``"orig"`` or ``"comp"``: whose ClkReq, ClkAck and channels this side drives; it receives the other two.
    choosable : it does what an agent for as many ports does as are used, but that it takes a beat to send of several
        ports in any cycle in which there is a place for it; there is ``used``, as of ``ports_used``, which changes in
        its reset only, and ``moves``, 1 bit: a beat waits here, or is on the interface.
    coded : beats have a code, as of ``beat_stream``: from the check of UPLI parity on, and until it is made.
    """

    CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")

    def __init__(
        self,
        config: UPLIConfig,
        ports: int,
        *,
        own: str,
        choosable: bool = False,
        coded: bool = False,
    ):
        self.config = config
        self.ports = check_ports("agent", ports, choosable)
        self.choosable, self.coded = choosable, coded
        self._own = own
        self._peer = "comp" if own == "orig" else "orig"
        self.sends = sends = self.CHANNELS[:2] if own == "orig" else self.CHANNELS[2:]
        self.receives = tuple(channel for channel in self.CHANNELS if channel not in sends)
        super().__init__(
            {
                "upli": (Out if own == "orig" else In)(UPLISignature()),
                **used_member(choosable),
                **({"moves": Out(1)} if choosable else {}),
                "slot": In(2),
                "connect": In(1, init=1),
                **{
                    channel: (In if channel in sends else Out)(beat_stream(channel, coded=coded)).array(ports)
                    for channel in self.CHANNELS
                },
                "drop": In(1),
                "clear_errors": In(1),
                "connected": Out(1),
                **{f"{kind}_{what}": Out(1) for what in ("error", "event") for kind in ("data", "control", "protocol")},
                "dropped": Out(data.StructLayout(dict.fromkeys(ITEM_CHANNELS, 1))).array(ports),
                "errors": Out(ERRORS_LAYOUT),
                "events": Out(ERRORS_LAYOUT),
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
            status.clear.eq(self.clear_errors),
            self.errors.eq(status.errors),
            self.events.eq(status.events),
        ]
        for what, told in (("error", status.errors), ("event", status.events)):
            m.d.comb += [
                getattr(self, f"data_{what}").eq(told.data.as_value().any()),
                getattr(self, f"control_{what}").eq(told.control.as_value().any()),
                getattr(self, f"protocol_{what}").eq(told.protocol.as_value().any() | told.handshake),
            ]

        kind = {"choosable": self.choosable, "coded": self.coded}
        senders = {name: Sender(name, self.config, self.ports, **kind) for name in self.sends}
        departures = {name: Departure(name, self.ports, **kind) for name in self.sends}
        sends = {name: Signal(name=f"{name}_send") for name in self.sends}
        for name, sender in senders.items():
            m.submodules[name] = sender
            wiring.connect(m, wiring.flipped(getattr(upli, name)), sender.upli)
            m.submodules[f"{name}_departure"] = departure = departures[name]
            for outer, inner in zip(getattr(self, name), departure.beats):
                wiring.connect(m, wiring.flipped(outer), inner)
            m.d.comb += [
                departure.slot.eq(self.slot),
                sender.connected.eq(connect.connected),
                sender.listen.eq(connect.inbound_open),
                sender.slot.eq(self.slot if self.ports > 1 else 0),
                sender.beat.eq(departure.beat),
                sender.hold.eq(departure.hold),
                sender.vc.eq(departure.due.vc),
                sender.send.eq(sends[name]),
                seen.control[name].eq(sender.control_error | (departure.upset if self.coded else 0)),
                seen.protocol[name].eq(sender.protocol_error),
            ]
            if "auth_tag" in departure.signature.members:
                m.d.comb += sender.auth_tag.eq(departure.auth_tag)
            if "kept_tag" in departure.signature.members:
                m.d.comb += sender.kept_tag.eq(departure.kept_tag)
        # Beats still to come, per port: of the transfer that is being sent, whose credits are in hand, and of one that
        # is being dropped.
        used = copy_of(m, self.used) if self.choosable else None
        to_come = Ring(m, Signal(2, name="to_come"), self.ports, used=used)
        to_drop = Ring(m, Signal(range(5), name="to_drop"), self.ports, used=used)
        available = {name: sender.available for name, sender in senders.items()}
        self._drops = {name: Signal(name=f"{name}_drop") for name in ITEM_CHANNELS}
        self._accept(m, departures, sends, available, to_come, to_drop)

        receivers = {}
        for name in self.receives:
            receivers[name] = receiver = Receiver(name, self.config, self.ports, **kind)
            m.submodules[name] = receiver
            wiring.connect(m, wiring.flipped(getattr(upli, name)), receiver.upli)
            for inner, outer in zip(receiver.beats, getattr(self, name)):
                wiring.connect(m, inner, wiring.flipped(outer))
            m.d.comb += [
                receiver.open.eq(connect.outbound_open),
                receiver.listen.eq(connect.inbound_open),
                seen.data[name].eq(receiver.data_error),
                seen.control[name].eq(receiver.control_error | receiver.upset),
            ]
        self._admit(m, receivers, seen.protocol)
        for name, drop in self._drops.items():
            of_port = self.slot if name in self.sends else receivers[name].slot
            for number, dropped in enumerate(self.dropped):
                m.d.sync += dropped[name].eq(drop & (of_port == number if self.ports > 1 else 1))
        if self.choosable:
            self._tell_used(m, (*senders.values(), *departures.values(), *receivers.values()))
            leave = [departure.waits for departure in departures.values()]
            arrive = [stream.valid for name in self.receives for stream in getattr(self, name)]
            on_pins = [getattr(upli, name).vld for name in self.CHANNELS]
            m.d.comb += self.moves.eq(
                Cat(leave, arrive, on_pins, (receiver.good for receiver in receivers.values())).any()
            )
        return m

    def _calendar(self, m, name, first, *others):
        """A ``CalendarCheck``, submodule ``name`` of ``m``, of the receivers of a group, whose ``first`` sets the
        phase."""
        m.submodules[name] = calendar = CalendarCheck(self.ports, choosable=self.choosable)
        if self.choosable:
            self._tell_used(m, (calendar,))
        m.d.comb += [
            calendar.vld.eq(first.good),
            calendar.in_slot.eq(first.in_slot),
            calendar.coming_id.eq(first.upli.port_id),
        ]
        for receiver in (first, *others):
            m.d.comb += [receiver.slot.eq(calendar.slot), receiver.following.eq(calendar.following)]
        return calendar

    def _burst(self, m, name):
        """A ``BurstCheck``, submodule ``name`` of ``m``."""
        m.submodules[name] = burst = BurstCheck(self.ports, choosable=self.choosable)
        if self.choosable:
            self._tell_used(m, (burst,))
        return burst

    def _tell_used(self, m, blocks):
        m.d.comb += [block.used.eq(copy_of(m, self.used)) for block in blocks]
