"""What lies between two transaction layers: a delay alone, or two data links and their wires."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import DLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.dl.layer import DataLink

from .link_wire import LONGEST_WIRE, Wire

__all__ = ["FlitWire", "LinkWire", "MediumSignature"]


class MediumSignature(wiring.Signature):
    """Seen from the transaction layers.

    Members
    -------
    tx, rx : flits of end n into the medium, and what end n gets out of it.
    online : end n may send.
    latency : cycles of each direction of the wire, 1 to 127; constant.
    """

    def __init__(self):
        super().__init__(
            {
                "tx": Out(tl_flit_signature()).array(2),
                "rx": In(tl_flit_signature(always_ready=True)).array(2),
                "online": In(1).array(2),
                "latency": Out(range(LONGEST_WIRE + 1)),
            }
        )


class FlitWire(wiring.Component):
    """Takes a flit in every cycle, gives it to the other end ``latency`` cycles later; online a cycle after reset."""

    def __init__(self):
        super().__init__(MediumSignature().flip())

    def elaborate(self, platform):
        m = Module()
        entry = data.StructLayout({"valid": 1, "flit": TL_FLIT_LAYOUT})
        place = Signal(range(LONGEST_WIRE + 1))
        up = Signal()
        m.d.sync += [place.eq(place + 1), up.eq(1)]
        for end in range(2):
            m.submodules[f"line_{end}"] = line = memory.Memory(shape=entry, depth=LONGEST_WIRE + 1, init=[])
            write, read = line.write_port(), line.read_port(domain="comb")
            tx, rx = self.tx[end], self.rx[1 - end]
            m.d.comb += [
                self.online[end].eq(up),
                tx.ready.eq(1),
                write.en.eq(1),
                write.addr.eq(place),
                write.data.valid.eq(tx.valid),
                write.data.flit.eq(tx.p),
                read.addr.eq(place - self.latency),
                rx.valid.eq(read.data.valid),
                rx.p.eq(read.data.flit),
            ]
        return m


class LinkWire(wiring.Component):
    """A data link at each end, and wires without damage between them."""

    def __init__(self):
        super().__init__(MediumSignature().flip())

    def elaborate(self, platform):
        m = Module()
        links = [DataLink(DLConfig()) for _ in range(2)]
        wires = [Wire(number + 1) for number in range(2)]
        for end, (link, wire) in enumerate(zip(links, wires)):
            m.submodules[f"link_{end}"] = link
            m.submodules[f"wire_{end}"] = wire
            connect(m, flipped(self.tx[end]), link.tx_flit)
            connect(m, link.rx_flit, flipped(self.rx[end]))
            connect(m, link.tx, wire.tx)
            connect(m, wires[1 - end].rx, link.rx)
            m.d.comb += [
                wire.latency.eq(self.latency),
                link.remote_fault.eq(wires[1 - end].remote_fault[0]),
                link.config.enable.eq(1),
                link.uart_rx.ready.eq(1),
                self.online[end].eq(link.online),
            ]
        return m
