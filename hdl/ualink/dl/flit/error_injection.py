"""Errors on demand, to try at the bench what a link does with them (UALink_200 §6.7)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ErrorInjection", "InjectionPoint"]


class InjectionPoint(enum.Enum, shape=4):
    """What is done once; other codes do nothing.

    SENT_CRC: invert the CRC of the next DL flit sent. The partner counts a CRC error and asks for a replay.
    SENT_BIT: flip one bit of the next DL flit sent, behind the CRC generator; the partner does the same.
    EGRESS_DATA: flip a data bit of the next TL flit taken, but not its parity: egress containment on this side.
    EGRESS_CONTROL: flip its control parity: egress containment on this side.
    RECEIVED_CRC: the next DL flit received counts as one with bad CRC; this side asks for a replay.
    INGRESS_DATA: flip a data bit of the next TL flit unpacked, but not its parity: ingress containment on this side.
    INGRESS_CONTROL: report a parity fault of the receiving control path: ingress containment on this side.
    REPLAY_REQUEST: ask for a replay of the payload flit that comes next though nothing is missing. A partner that has
        sent that flit replays from there on. One that has nothing on the way, as on an idle link, counts the three
        Replay Requests as commands ignored (UALink_200 §6.6.6.3).
    """

    SENT_CRC = 0
    SENT_BIT = 1
    EGRESS_DATA = 2
    EGRESS_CONTROL = 3
    RECEIVED_CRC = 4
    INGRESS_DATA = 5
    INGRESS_CONTROL = 6
    REPLAY_REQUEST = 7


class ErrorInjection(wiring.Component):
    """Arms one injection point until it has struck once. While ``enable`` is low all points are 0.

    SENT_CRC and SENT_BIT change what is on offer in a stream, so they begin between two flit slots only.

    Members
    -------
    enable : injection is allowed; taking it away disarms.
    select : ``InjectionPoint``.
    trigger : arms ``select`` when it rises; before the point has struck another rise arms anew.
    sent_crc … replay_request : one level per point: inject there, in the stages of ``ualink.dl.flit.strike`` or in what
        it is named after.
    crc_slot_end, crc_struck : the last beat of a slot goes to the CRC generator; and it was that of a DL flit.
    wire_slot_end, wire_struck : the last beat of a slot goes to the wire; the first one of a DL flit does.
    flit_taken, flit_received : a TL flit is taken from the TL; the unpacker gives one out.
    slot_received : a received DL flit is judged.
    """

    def __init__(self):
        points = [point.name.lower() for point in InjectionPoint]
        events = (
            "crc_slot_end",
            "crc_struck",
            "wire_slot_end",
            "wire_struck",
            "flit_taken",
            "flit_received",
            "slot_received",
        )
        super().__init__(
            {"enable": In(1), "select": In(4), "trigger": In(1)}
            | {name: Out(1) for name in points}
            | {name: In(1) for name in events}
        )

    def elaborate(self, platform):
        m = Module()
        triggered = Signal()
        armed = Signal()
        # One bit per point, so that each stands in its path right out of a register.
        begun = Signal(len(InjectionPoint))
        point = Signal(4)
        # Per point: what lets it begin, and what ends it.
        rules = {
            InjectionPoint.SENT_CRC: (self.crc_slot_end, self.crc_struck),
            InjectionPoint.SENT_BIT: (self.wire_slot_end, self.wire_struck),
            InjectionPoint.EGRESS_DATA: (1, self.flit_taken),
            InjectionPoint.EGRESS_CONTROL: (1, self.flit_taken),
            InjectionPoint.RECEIVED_CRC: (1, self.slot_received),
            InjectionPoint.INGRESS_DATA: (1, self.flit_received),
            InjectionPoint.INGRESS_CONTROL: (1, 1),
            InjectionPoint.REPLAY_REQUEST: (1, 1),
        }
        # Made anew in every cycle, so that never two points strike.
        m.d.sync += [triggered.eq(self.trigger), begun.eq(0)]
        with m.If(~self.enable):
            m.d.sync += armed.eq(0)
        with m.Elif(self.trigger & ~triggered):
            m.d.sync += [armed.eq(1), point.eq(self.select)]
        with m.Elif(armed), m.Switch(point):
            for key, (begins, ends) in rules.items():
                with m.Case(key):
                    with m.If(begun[key.value] & ends):
                        m.d.sync += armed.eq(0)
                    with m.Elif(begun[key.value] | begins):
                        m.d.sync += begun[key.value].eq(1)
            with m.Default():
                m.d.sync += armed.eq(0)
        for key in rules:
            m.d.comb += getattr(self, key.name.lower()).eq(begun[key.value] & self.enable)
        return m
