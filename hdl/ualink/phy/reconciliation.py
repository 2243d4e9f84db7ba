"""The reconciliation sublayer of all ports of a station (UALink_200 §7.2)."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.config import ConfigError, PhyConfig
from ualink.lib.forward import show
from ualink.lib.interleave import Interleaver
from ualink.lib.ports_used import used_member
from ualink.lib.select import select_one
from ualink.phy.beat_joiner import BeatJoiner
from ualink.phy.beat_splitter import BeatSplitter
from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.interface import RX_BEAT_LAYOUT, TX_BEAT_LAYOUT, BlocksSignature, RSSignature, SlotStatus
from ualink.phy.link_fault import LinkFault
from ualink.phy.port_rate import PortRate
from ualink.phy.rs_receive import RSReceive
from ualink.phy.rs_transmit import RSTransmit

__all__ = ["Reconciliation", "ReconciliationStatusSignature"]


EVENTS = (
    "sent_data",
    "sent_control",
    "sent_marker",
    "starved",
    "received_data",
    "received_bad",
    "received_control",
    "received_marker",
    "fault_change",
)


class ReconciliationStatusSignature(wiring.Signature):
    """The reconciliation sublayer of a port as firmware sees it. Reset values 0.

    Members
    -------
    aligned : 1 bit: an AM flit has come since reset.
    link_fault : 2 bit, ``LinkFault`` as received.
    fault : 2 bit, ``LinkFault`` in force in the flit slot that is being sent.
    sent_data, sent_control, sent_marker : 1 bit, pulse: a DL flit was sent; 1 bit, pulse: a control flit was sent;
        1 bit, pulse: one that begins with a Start sequence was sent.
    starved : 1 bit, pulse: the DL owed a flit.
    received_data, received_bad, received_control : 1 bit, pulse: a slot ended as GOOD; 1 bit, pulse: a slot ended as
        BAD; 1 bit, pulse: a slot ended as CONTROL.
    received_marker, fault_change : 1 bit, pulse: an AM flit begins; 1 bit, pulse: there is another ``link_fault``.
    """

    def __init__(self):
        super().__init__(
            {
                "aligned": Out(1),
                "link_fault": Out(LinkFault),
                "fault": Out(LinkFault),
                **{name: Out(1) for name in EVENTS},
            }
        )


class OnePort(wiring.Component):
    """The reconciliation sublayer of one port: ``RSTransmit`` and ``RSReceive``, whose fault the former answers; with
    fewer than eight blocks a word, what makes words of beats and beats of words."""

    def __init__(self, config: PhyConfig):
        narrow = config.blocks_per_word < BLOCKS_PER_BEAT
        self.splitter = BeatSplitter(config.blocks_per_word) if narrow else None
        self.joiner = BeatJoiner(config.blocks_per_word) if narrow else None
        self.transmit = RSTransmit(config)
        self.receive = RSReceive(config)
        super().__init__(
            {
                "rate": self.transmit.signature.members["rate"],
                "tx": In(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": Out(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "tx_blocks": self.transmit.signature.members["blocks"],
                "rx_blocks": self.receive.signature.members["blocks"],
                "status": Out(ReconciliationStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit = transmit = self.transmit
        m.submodules.receive = receive = self.receive
        to_send, received = transmit.beat, receive.beat
        if self.splitter is not None and self.joiner is not None:
            m.submodules.splitter, m.submodules.joiner = self.splitter, self.joiner
            connect(m, self.splitter.word, transmit.beat)
            connect(m, receive.beat, self.joiner.word)
            to_send, received = self.splitter.beat, self.joiner.beat
        ended = received.valid & received.p.last
        heard = received.p.status
        m.d.comb += [
            transmit.rate.eq(self.rate),
            to_send.valid.eq(self.tx.valid),
            to_send.p.eq(self.tx.p),
            self.tx.ready.eq(to_send.ready),
            self.tx_blocks.valid.eq(transmit.blocks.valid),
            self.tx_blocks.p.eq(transmit.blocks.p),
            transmit.blocks.ready.eq(self.tx_blocks.ready),
            receive.blocks.valid.eq(self.rx_blocks.valid),
            receive.blocks.p.eq(self.rx_blocks.p),
            self.rx.valid.eq(received.valid),
            self.rx.p.eq(received.p),
            transmit.link_fault.eq(receive.link_fault),
            self.status.aligned.eq(receive.aligned),
            self.status.link_fault.eq(receive.link_fault),
            self.status.fault.eq(transmit.fault),
            self.status.sent_data.eq(transmit.sent_data),
            self.status.sent_control.eq(transmit.sent_control),
            self.status.sent_marker.eq(transmit.sent_marker),
            self.status.starved.eq(transmit.starved),
            self.status.received_data.eq(ended & (heard == SlotStatus.GOOD)),
            self.status.received_bad.eq(ended & (heard == SlotStatus.BAD)),
            self.status.received_control.eq(ended & (heard == SlotStatus.CONTROL)),
            self.status.received_marker.eq(receive.marker),
            self.status.fault_change.eq(receive.fault_change),
        ]
        return m


class Reconciliation(wiring.Component):
    """Reconciliation sublayers of one, two or four ports, which take turns cycle by cycle. A port alone has a latency
    of one cycle towards the PCS and four from it; with more ports these are the cycles of the port. With words of
    fewer than eight blocks it is one towards the PCS from the cycle after a beat was taken, and two from the PCS, once
    the last word of a beat has come.

    Parameters
    ----------
    config : of the ports. The rate of each after reset is that of ``config.of_port``; ``ConfigError`` unless
        ``config.rates`` is empty or names the rate of every port, and if several ports are to have words of fewer than
        eight blocks.
    ports : 1, 2 or 4.
    choosable : it does what one for as many ports does as are ``used``. ``config.rate``, 400 or 800, is that of a
        port alone: of two each has half of it, of four a quarter. Status is late for one port as for several.

    Members
    -------
    used : (*) as of ``ports_used``; it changes in reset only, and there is no ``rate``.
    rate : array of ``PortRate``, 2 bit for each port, port 0 lowest: how far its alignment markers are from each other
        (UALink_200 §7.1, §7.2.7). If nothing drives it, ports run at the rates of ``config``. Software changes it while
        the link is down; for the marker under way see ``SlotSchedule``. How many flits go and come is the PCS's pace.
    slot : the port that this cycle belongs to: 0, 1, … ``ports`` - 1, 0, ….
    dl : the data links. ``local_fault`` and ``remote_fault`` of a port hold from one of its cycles to the next, and
        change with the first beat of a flit slot that it sends; Link Interruption is shown as remote fault
        (ruling P-02).
    pcs : the PCS of each port. A word for port p is given and taken in the cycles of p, and one that comes in a cycle
        of another port is none.
    status : one per port. Of several ports it shows how it was in the last cycle of the port, and a pulse lasts from
        one such cycle to the next.

    That marked (*) exists only where ports are ``choosable``.
    """

    def __init__(self, config: PhyConfig, ports: int = 1, *, choosable: bool = False):
        if config.rates and len(config.rates) != ports:
            raise ConfigError(f"phy.rates has {len(config.rates)} rates; there are {ports} ports")
        if ports > 1 and config.blocks_per_word < BLOCKS_PER_BEAT:
            raise ConfigError(
                f"phy.blocks_per_word is {config.blocks_per_word} for {ports} ports; one alone may have fewer than 8"
            )
        self._ports = ports
        self._rate = config.rate
        self._choosable = choosable
        self._port = OnePort(config)
        rates = [PortRate.of(config.of_port(port).rate) for port in range(ports)]
        super().__init__(
            {
                **used_member(choosable),
                **({} if choosable else {"rate": In(data.ArrayLayout(PortRate, ports), init=rates)}),
                "slot": In(2),
                "dl": In(RSSignature()),
                "pcs": Out(BlocksSignature(config.blocks_per_word)),
                "status": Out(ReconciliationStatusSignature()).array(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        port = self._port
        used = self.used if self._choosable else None
        m.submodules.port = Interleaver(self._ports, self.slot, used=used)(port)
        m.d.comb += [
            Value.cast(port.rate).eq(self._rate_now()),
            port.tx.valid.eq(self.dl.tx.valid),
            port.tx.p.eq(self.dl.tx.p),
            self.dl.tx.ready.eq(port.tx.ready),
            self.dl.rx.valid.eq(port.rx.valid),
            self.dl.rx.p.eq(port.rx.p),
            self.dl.rx.p.port.eq(self.slot),
            self.pcs.tx.valid.eq(port.tx_blocks.valid),
            self.pcs.tx.p.eq(port.tx_blocks.p),
            self.pcs.tx.p.port.eq(self.slot),
            port.tx_blocks.ready.eq(self.pcs.tx.ready),
            port.rx_blocks.valid.eq(self.pcs.rx.valid & (self.pcs.rx.p.port == self.slot)),
            port.rx_blocks.p.eq(self.pcs.rx.p),
        ]
        for number in range(self._ports):
            self._show(m, number)
        return m

    def _rate_now(self):
        if self._choosable:
            return select_one(self.used, [Const(PortRate.of(self._rate >> n).value, 2) for n in range(3)])
        return self.rate[self.slot] if self._ports > 1 else self.rate[0]

    def _show(self, m, number):
        """Of several ports all is told in the port's own cycle and kept until its next one."""
        now, shown = self._port.status, self.status[number]
        local = now.fault == LinkFault.LOCAL
        remote = (now.fault == LinkFault.REMOTE) | (now.fault == LinkFault.INTERRUPTION)
        if self._ports == 1:
            show(m, now, shown)
            m.d.comb += [self.dl.local_fault[0].eq(local), self.dl.remote_fault[0].eq(remote)]
            return
        kept = Signal(2, name=f"fault_{number}")
        m.d.comb += Cat(self.dl.local_fault[number], self.dl.remote_fault[number]).eq(kept)
        with m.If(self.slot == number):
            m.d.comb += Cat(self.dl.local_fault[number], self.dl.remote_fault[number]).eq(Cat(local, remote))
            m.d.sync += kept.eq(Cat(local, remote))
            m.d.sync += [getattr(shown, name).eq(getattr(now, name)) for name in shown.signature.members]
