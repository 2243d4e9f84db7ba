"""The TL and firmware sides of the device of the example: all that is particular to it stands here."""

from collections import deque

from amaranth.hdl import Value
from amaranth.lib.wiring import In
from dl_link_partner.data_link_top import DataLinkTop

from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink_sim.bfm.common.agent import BusModel

TLFlit = tuple[bytes, int]


def tl_flit(data: bytes, message: int, error: int = 0) -> int:
    """A TL flit as the device takes it: with the parity of its bytes and of its other fields (UALink_200 §6.7.3)."""
    values = {
        "data": int.from_bytes(data, "little"),
        "message": message,
        "error": error,
        "parity": sum((byte.bit_count() & 1) << n for n, byte in enumerate(data)),
        "control_parity": (message.bit_count() + error) & 1,
    }
    return sum(values[name] << field.offset for name, field in TL_FLIT_LAYOUT if name in values)


def reader(handle):
    """A function that gives the value of a signal, as cheaply as cocotb can."""
    raw = handle._handle.get_signal_val_binstr
    return lambda: int(raw(), 2)


class Feed(deque):
    """What is to go into a stream of the device, oldest first."""

    def __init__(self, dut, name):
        super().__init__()
        self._valid, self._payload = getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__payload")
        self._ready = reader(getattr(dut, f"{name}__ready"))
        self.reset()

    def reset(self):
        """Nothing is on offer."""
        self.clear()
        self._valid.value = 0
        self._shown = None

    def tick(self):
        """One cycle. What is offered moves with the coming edge if the device is ready then."""
        shown = self[0] if self else None
        if shown != self._shown:
            self._valid.value = int(shown is not None)
            if shown is not None:
                self._payload.value = shown
            self._shown = shown
        # A stream's ``ready`` does not depend on its ``valid``: what is ready now is ready at the edge.
        if shown is not None and self._ready():
            self.popleft()


class Device(BusModel):
    """Feeds ``to_send`` and ``uart_to_send`` into the device, gathers ``received`` and ``uart_received``."""

    def __init__(self, dut):
        self.dut = dut
        top = DataLinkTop()
        self._inputs = {
            "__".join(map(str, path)): Value.cast(value).init
            for path, member, value in top.signature.flatten(top)
            if member.flow == In
        }
        self._uart_valid, self._uart_data = reader(dut.uart_rx__valid), reader(dut.uart_rx__payload)
        self._flit_valid, self._flit_data = reader(dut.rx_flit__valid), reader(dut.rx_flit__payload)
        self.to_send = Feed(dut, "tx_flit")
        self.uart_to_send = Feed(dut, "uart_tx")
        self.received: list[TLFlit] = []
        self.uart_received: list[int] = []
        self.reset()

    def reset(self):
        """Inputs at their reset values, nothing under way; firmware reads the UART as soon as it can."""
        for name, value in self._inputs.items():
            getattr(self.dut, name).value = value
        self.dut.uart_rx__ready.value = 1
        self.to_send.reset()
        self.uart_to_send.reset()
        self.received.clear()
        self.uart_received.clear()

    def set(self, **config):
        """Change settings of the data link."""
        for name, value in config.items():
            getattr(self.dut, f"config__{name}").value = value

    def status(self, name):
        """A member of the data link's status."""
        return int(getattr(self.dut, f"status__{name}").value)

    def send(self, data, message=0, error=0):
        """Queue a TL flit."""
        self.to_send.append(tl_flit(data, message, error))

    def tick(self):
        """One cycle."""
        self.to_send.tick()
        self.uart_to_send.tick()
        if self._flit_valid():
            word = self._flit_data()
            self.received.append(((word & (1 << 512) - 1).to_bytes(64, "little"), word >> 512 & 3))
        if self._uart_valid():
            self.uart_received.append(self._uart_data())
