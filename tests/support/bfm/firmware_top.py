"""Registers and message blocks of both ends of a link, on one bus; the wire between them carries messages only."""

from amaranth.hdl import EnableInserter, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.csr.table import BusSignature
from ualink.csr.windows import RegisterWindows
from ualink.dl.interface import LinkState
from ualink.dl.message_service import MessageService
from ualink.dl.registers.block import DLRegisterBlock
from ualink.dl.registers.firmware import DLConfigSignature, DLStatusSignature
from ualink.lib.queue import Queue

CONFIG = DLConfig(uart_tx_dwords=6, uart_rx_dwords=5)
ENDS = 2


class FirmwareTop(wiring.Component):
    """Two ports of a station. The first shows its status as it is, the second as it was in its last cycle.

    Members
    -------
    bus : registers of both ends.
    deaf : per end, what it sends is lost.
    sent_valid, sent : per end, a dword that it sends.
    config : per end, what firmware has set.
    status : per end, for whatever neither the message blocks nor the link state show.
    """

    def __init__(self):
        self._blocks = [DLRegisterBlock(CONFIG), DLRegisterBlock(CONFIG, late=True)]
        self._address_bits = self._blocks[0].registers.address_bits
        super().__init__(
            {
                "bus": In(BusSignature(self._address_bits + 1)),
                "deaf": In(ENDS),
                "sent_valid": Out(1).array(ENDS),
                "sent": Out(32).array(ENDS),
                "config": Out(DLConfigSignature(CONFIG)).array(ENDS),
                "status": In(DLStatusSignature()).array(ENDS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = RegisterWindows(self._address_bits, ENDS)
        wiring.connect(m, wiring.flipped(self.bus), windows.bus)
        slot = Signal()
        up = Signal()
        m.d.sync += slot.eq(~slot)
        m.d.comb += up.eq(self.config[0].enable & self.config[1].enable)
        services = [MessageService(CONFIG) for _ in range(ENDS)]
        wires = [Queue(32, 2) for _ in range(ENDS)]
        for end, (block, service, wire) in enumerate(zip(self._blocks, services, wires)):
            here = slot == end
            m.submodules[f"block{end}"] = block
            m.submodules[f"service{end}"] = EnableInserter(here)(service)
            m.submodules[f"wire{end}"] = wire
            wiring.connect(m, windows.windows[end], block.bus)
            wiring.connect(m, block.dl_config, wiring.flipped(self.config[end]))
            arriving = wires[1 - end].output
            m.d.comb += [
                block.here.eq(here),
                service.flush.eq(~up),
                service.slot_end.eq(1),
                service.flit_sent.eq(1),
                wire.input.valid.eq(self.sent_valid[end] & ~self.deaf[end]),
                wire.input.payload.eq(service.message.payload),
                service.message.ready.eq(wire.input.ready),
                self.sent_valid[end].eq(service.message.valid & wire.input.ready & here),
                self.sent[end].eq(service.message.payload),
                service.received.valid.eq(arriving.valid & here),
                service.received.payload.eq(arriving.payload),
                arriving.ready.eq(here),
                service.uart_tx.valid.eq(block.uart_tx.valid),
                service.uart_tx.payload.eq(block.uart_tx.payload),
                block.uart_tx.ready.eq(service.uart_tx.ready),
                block.uart_rx.valid.eq(service.uart_rx.valid),
                block.uart_rx.payload.eq(service.uart_rx.payload),
                service.uart_rx.ready.eq(block.uart_rx.ready),
            ]
            for name in DLConfigSignature(CONFIG).members:
                m.d.comb += getattr(service.config, name).eq(getattr(block.dl_config, name))
            shown = {name: getattr(service.status, name) for name in service.status.signature.members}
            shown["link_state"] = Mux(up, LinkState.UP.value, LinkState.IDLE.value)
            for name in DLStatusSignature().members:
                value = getattr(block.dl_status, name).eq(shown.get(name, getattr(self.status[end], name)))
                with m.If(here if end else 1):
                    m.d["sync" if end else "comb"] += value
        return m
