"""Two data links on two wires, with traffic, damage and counters in hardware."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.config import DLConfig
from ualink.dl.layer import DataLink
from ualink.lib.parity import byte_parity

from .link_checker import Checker, flit_data
from .link_wire import HEADER_BIT, LONGEST_WIRE, Wire

__all__ = ["LinkTop"]


class EndSignature(wiring.Signature):
    """One end of the link.

    Members
    -------
    offer : give the data link one TL flit after the other.
    strike : as of the ``Wire`` towards the other end.
    online : channel 0 is online.
    delivered, mismatches, longest_gap : as of the ``Checker``.
    taken, sent, ended, given : in this cycle: a TL flit enters the data link; a beat with TL bytes leaves it; the last
        beat of a slot enters it; a TL flit leaves it.
    """

    def __init__(self):
        flags = ("online", "taken", "sent", "ended", "given")
        super().__init__(
            {
                "offer": Out(1),
                "strike": Out(1),
                **{name: In(1) for name in flags},
                "delivered": In(32),
                "mismatches": In(32),
                "longest_gap": In(16),
            }
        )


class LinkTop(wiring.Component):
    """Both ends of one link.

    Members
    -------
    latency, error_rate : of both wires.
    clear : as of ``Checker``.
    messages : both ends send UART dwords without end.
    ends : the two ends.
    """

    def __init__(self, config: DLConfig):
        self._config = config
        super().__init__(
            {
                "latency": In(range(LONGEST_WIRE + 1)),
                "error_rate": In(32),
                "clear": In(1),
                "messages": In(1),
                "ends": In(EndSignature()).array(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        links = [DataLink(self._config) for _ in range(2)]
        wires = [Wire(number + 1) for number in range(2)]
        for number, (link, end) in enumerate(zip(links, self.ends)):
            wire, incoming = wires[number], wires[1 - number]
            m.submodules[f"link_{number}"] = link
            m.submodules[f"wire_{number}"] = wire
            m.submodules[f"checker_{number}"] = checker = Checker()
            connect(m, link.tx, wire.tx)
            connect(m, incoming.rx, link.rx)
            connect(m, link.rx_flit, checker.flit)
            self._source(m, link, end)
            beat = link.tx.p
            m.d.comb += [
                wire.latency.eq(self.latency),
                wire.error_rate.eq(self.error_rate),
                wire.strike.eq(end.strike),
                link.remote_fault.eq(incoming.remote_fault[0]),
                link.config.enable.eq(1),
                link.config.channel_4_online.eq(self.messages),
                link.uart_tx.valid.eq(self.messages),
                link.uart_rx.ready.eq(1),
                checker.clear.eq(self.clear),
                end.online.eq(link.online),
                end.delivered.eq(checker.delivered),
                end.mismatches.eq(checker.mismatches),
                end.longest_gap.eq(checker.longest_gap),
                # What is left of the last beat is flit header and CRC.
                end.sent.eq(link.tx.valid & Mux(beat.last, beat.data[:HEADER_BIT].any(), beat.data.any())),
                end.ended.eq(link.rx.valid & link.rx.p.last),
                end.given.eq(link.rx_flit.valid),
            ]
        return m

    def _source(self, m, link, end):
        number = Signal(32)
        words = flit_data(number)
        m.d.comb += [
            link.tx_flit.valid.eq(end.offer),
            link.tx_flit.p.data.eq(words),
            link.tx_flit.p.parity.eq(byte_parity(words)),
            end.taken.eq(link.tx_flit.valid & link.tx_flit.ready),
        ]
        with m.If(end.taken):
            m.d.sync += number.eq(number + 1)
