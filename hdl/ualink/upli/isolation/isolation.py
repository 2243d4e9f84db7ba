"""Isolation Mode of an Accelerator's Originator (UALink_200 §3.1.3, §3.1.4.3)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.checks import check_integer
from ualink.lib.select import select_one
from ualink.upli.calendar import check_ports
from ualink.upli.isolation.answer import VendorAnswer, as_num_beats_says
from ualink.upli.isolation.history import LIMIT_BITS, TAG_BITS, TIME_BITS
from ualink.upli.isolation.port import IsolationPort, RequesterSignature

__all__ = ["CAUSE_LAYOUT", "Isolation", "IsolationControlSignature", "IsolationStatusSignature"]

CAUSE_LAYOUT = data.StructLayout({"time_out": 1, "isolate": 1, "command": 1})
"""What has led to Isolation since it was left: a watchdog, a Write Response with status ISOLATE, firmware."""


class IsolationControlSignature(wiring.Signature):
    """What firmware tells ``Isolation``; reset value 0 each.

    Members
    -------
    limit : 31 bits, cycles that a Request may be outstanding; 0: for ever.
    enter : 1 bit, begin Isolation. clear : 1 bit, leave it; an event in the same cycle wins.
    """

    def __init__(self):
        super().__init__({"limit": Out(LIMIT_BITS), "enter": Out(1), "clear": Out(1)})


class IsolationStatusSignature(wiring.Signature):
    """``Isolation`` as firmware sees it; reset value 0 each.

    Members
    -------
    isolated : level, no Request goes out, no Response comes in.
    cause : ``CAUSE_LAYOUT``; 0 from ``clear`` on.
    event : 1 bit, Isolation begins in the next cycle.
    tag, port : 11 and 2 bits, of the Request whose watchdog was over its limit last.
    strays : 8 bits, beats of Responses that no Request was outstanding for, outside of Isolation; at most 255.
    """

    def __init__(self):
        super().__init__(
            {
                "isolated": Out(1),
                "cause": Out(CAUSE_LAYOUT),
                "event": Out(1),
                "tag": Out(TAG_BITS),
                "port": Out(2),
                "strays": Out(8),
            }
        )


class Isolation(wiring.Component):
    """The history of an Accelerator's Originator with its watchdogs, and what it does when the fabric is lost.

    Isolation is for all ports. It begins in the cycle after an event, in Drop Mode of the Originator or outside of it,
    and goes on until firmware clears it. ``drop`` puts the ``Originator`` behind into Drop Mode meanwhile: Requests are
    dropped, received beats too, transfers that had begun are finished, and credits are accepted and returned.
    ``IsolationPort`` answers.

    After ``clear`` no Request is taken until every outstanding one has had its dummy and until what the agent had
    received has been dropped, so that no Response meets a later Request with its tag: ``received`` + 8 cycles or more.

    Parameters
    ----------
    ports : 1, 2 or 4.
    tags : ReqTags of each port are below, 2 to 2,048.
    received : beats of one port that the ``Originator`` may have received and not offered yet.
    vendor : which Response a Vendor Defined Command asks for.

    Members
    -------
    device, agent : ``RequesterSignature``, of each port: to the Originator Devices, and to the ``Originator``.
    drop : level, from a register, to ``Originator.drop``; reset value 0.
    control, status : to firmware.
    """

    def __init__(self, ports: int, tags: int, received: int, *, vendor: VendorAnswer = as_num_beats_says):
        check_integer("received", received, 1)
        self._settle = received + 8
        self._ports = tuple(IsolationPort(tags, vendor) for _ in range(check_ports("isolation", ports)))
        super().__init__(
            {
                "device": In(RequesterSignature()).array(ports),
                "agent": Out(RequesterSignature()).array(ports),
                "drop": Out(1),
                "control": In(IsolationControlSignature()),
                "status": Out(IsolationStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control, status, ports = self.control, self.status, self._ports
        isolated, leaving, settle = Signal(), Signal(), Signal(range(self._settle + 1))
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        for number, port in enumerate(ports):
            m.submodules[f"port_{number}"] = port
            connect(m, flipped(self.device[number]), port.device)
            connect(m, port.agent, flipped(self.agent[number]))
            m.d.comb += [port.now.eq(now), port.limit.eq(control.limit)]
            m.d.comb += [port.isolated.eq(isolated), port.closed.eq(leaving)]

        events = Signal(CAUSE_LAYOUT)
        expired = Cat(port.expired for port in ports)
        m.d.comb += [
            events.time_out.eq(expired.any() & ~isolated),
            events.isolate.eq(Cat(port.isolate for port in ports).any()),
            events.command.eq(control.enter),
            status.event.eq(events.as_value().any() & ~isolated),
            status.isolated.eq(isolated),
            self.drop.eq(isolated),
        ]
        answered = Signal()
        m.d.comb += answered.eq(leaving & (settle == 0) & Cat(port.idle for port in ports).all())
        with m.If(events.as_value().any()):
            m.d.sync += [isolated.eq(1), leaving.eq(0), settle.eq(self._settle)]
            m.d.sync += status.cause.eq(status.cause.as_value() | events.as_value())
        with m.Else():
            m.d.sync += settle.eq(Mux(settle == 0, 0, settle - 1))
            with m.If(control.clear):
                m.d.sync += [leaving.eq(isolated), status.cause.eq(0)]
            with m.Elif(answered):
                m.d.sync += [isolated.eq(0), leaving.eq(0)]
        first = [bit & ~expired[:n].any() if n else bit for n, bit in enumerate(expired)]
        with m.If(events.time_out):
            m.d.sync += [
                status.tag.eq(select_one(first, [port.tag for port in ports])),
                status.port.eq(sum((n * bit for n, bit in enumerate(first)), start=0)),
            ]
        strays = Signal(9)
        m.d.comb += strays.eq(status.strays + sum((bit for port in ports for bit in port.stray), start=0))
        m.d.sync += status.strays.eq(Mux(strays[8], 255, strays))
        return m
