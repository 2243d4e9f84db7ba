"""Two register blocks on one bus, in a station of two ports; their UART buffers are joined, the rest is the bench's."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.csr import BusSignature
from ualink.csr_windows import RegisterWindows
from ualink.dl.register_block import DLRegisterBlock
from ualink.dl.registers import DLConfigSignature, DLStatusSignature
from ualink.lib.queue import Queue

CONFIG = DLConfig(uart_tx_dwords=6, uart_rx_dwords=5)
PORTS = 2


class FirmwareTop(wiring.Component):
    """``here`` names the port that a cycle belongs to; ``flush`` empties all buffers; UART levels come from these."""

    def __init__(self):
        self._blocks = [DLRegisterBlock(CONFIG) for _ in range(PORTS)]
        self._address_bits = self._blocks[0].registers.address_bits
        super().__init__(
            {
                "bus": In(BusSignature(self._address_bits + 1)),
                "here": Out(1),
                "flush": In(1),
                "config": Out(DLConfigSignature(CONFIG)).array(PORTS),
                "status": In(DLStatusSignature()).array(PORTS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = RegisterWindows(self._address_bits, PORTS)
        wiring.connect(m, wiring.flipped(self.bus), windows.bus)
        here = Signal()
        m.d.sync += here.eq(~here)
        m.d.comb += self.here.eq(here)
        tx = [Queue(32, CONFIG.uart_tx_dwords) for _ in range(PORTS)]
        rx = [Queue(32, CONFIG.uart_rx_dwords) for _ in range(PORTS)]
        for number, block in enumerate(self._blocks):
            m.submodules[f"block{number}"] = block
            m.submodules[f"tx{number}"] = ResetInserter(self.flush)(tx[number])
            m.submodules[f"rx{number}"] = ResetInserter(self.flush)(rx[number])
            wiring.connect(m, windows.windows[number], block.bus)
            wiring.connect(m, block.dl_config, wiring.flipped(self.config[number]))
            wiring.connect(m, tx[number].output, rx[1 - number].input)
            own = here == number
            m.d.comb += [
                block.here.eq(own),
                tx[number].input.valid.eq(block.uart_tx.valid & own),
                tx[number].input.payload.eq(block.uart_tx.payload),
                block.uart_tx.ready.eq(tx[number].input.ready),
                block.uart_rx.valid.eq(rx[number].output.valid),
                block.uart_rx.payload.eq(rx[number].output.payload),
                rx[number].output.ready.eq(block.uart_rx.ready & own),
            ]
            levels = {"uart_tx_level": tx[number].level, "uart_rx_level": rx[number].level}
            for name in DLStatusSignature().members:
                shown = levels.get(name, getattr(self.status[number], name))
                m.d.comb += getattr(block.dl_status, name).eq(shown)
        return m
