"""The registers of one data link on firmware's bus."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import DLConfig
from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.dl.registers.firmware import DLConfigSignature, DLStatusSignature
from ualink.dl.registers.map import EVENTS, dl_registers

__all__ = ["DLRegisterBlock"]

# Where each member of the two signatures stands in the map; a tuple where the field has its name.
_SETTINGS = {
    "link_control": ("enable", "channel_0_online", "channel_4_online", "may_request_channels"),
    "replay_control": ("rx_replay_limit", "codeword_group"),
    "local_device": {"local_device.id": "id", "local_device.type": "type", "local_device.valid": "valid"},
    "local_port": {"local_port.number": "number", "local_port.valid": "valid"},
    "tx_ack_time_out": {"tx_ack_time_out": "flit_times"},
    "channel_time_out": {"channel_time_out": "flit_times"},
    "pacing": ("pace",),
    "ask_device": {"ask_device": "start"},
    "ask_port": {"ask_port": "start"},
    "announce_rate": {"announce_rate": "start", "rate": "rate"},
    "uart_reset": {"uart_reset": "start", "uart_reset_all": "all_streams"},
    "inject": {"inject": "start", "inject_enable": "enable", "inject_select": "select"},
}

_SHOWN = {
    "link_status": ("link_state", "online", "online_4", "rx_replay", "tx_replay", "held"),
    "partner_device": {"partner_device.id": "id", "partner_device.type": "type", "partner_device.valid": "valid"},
    "partner_port": {"partner_port.number": "number", "partner_port.valid": "valid"},
    "partner_rate": {"partner_rate": "rate"},
    "ask_device": {"device_answered": "answered"},
    "ask_port": {"port_answered": "answered"},
    "announce_rate": {"rate_answered": "answered"},
    "uart_reset": {"uart_resetting": "resetting"},
}


class DLRegisterBlock(wiring.Component):
    """What firmware sets and sees of one data link, at the addresses of ``dl_registers(config)``.

    The data link may stand still in some cycles: it looks at ``dl_config``, and its pulses count and its streams move,
    in cycles with ``here`` only. Registers are read and written in every cycle; access to the UART buffers waits for
    the next cycle with ``here``.

    A request to the data link (``ask_device`` …) stays up until the answer has come, also while the link is down, so
    that it is made when the link is up again; it is down for at least one cycle with ``here`` before the next.

    Parameters
    ----------
    config : that of the data link.
    late : ``dl_status`` is that of the cycle with ``here`` before, as a station of several ports shows it.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    here : this cycle belongs to the data link.
    pending : the events that are set, as of ``RegisterBlock``.
    dl_config, dl_status : the data link.
    uart_tx, uart_rx : to and from its UART buffers. The last dword written may stand here while the Tx buffer is full.
    """

    def __init__(self, config: DLConfig | None = None, *, late: bool = False):
        config = config or DLConfig()
        self._late = late
        self._block = RegisterBlock(dl_registers(config))
        super().__init__(
            {
                "bus": In(BusSignature(self._block.registers.address_bits)),
                "here": In(1),
                "pending": Out(self._block.registers.event_bits),
                "dl_config": Out(DLConfigSignature(config)),
                "dl_status": In(DLStatusSignature()),
                "uart_tx": Out(stream.Signature(32)),
                "uart_rx": In(stream.Signature(32)),
            }
        )

    @property
    def registers(self):
        """The register map."""
        return self._block.registers

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        status = self.dl_status
        connect(m, flipped(self.bus), block.bus)
        connect(m, block.uart_tx.data, flipped(self.uart_tx))
        connect(m, flipped(self.uart_rx), block.uart_rx.data)
        m.d.comb += [
            block.here.eq(self.here),
            self.pending.eq(block.pending),
            block.uart_levels.tx.eq(status.uart_tx_level + self.uart_tx.valid + self._unseen(m, self.uart_tx)),
            block.uart_levels.rx.eq(status.uart_rx_level - self._unseen(m, self.uart_rx)),
        ]
        for member, register, field in _places(_SETTINGS):
            m.d.comb += _at(self.dl_config, member).eq(getattr(getattr(block, register), field))
        for member, register, field in _places(_SHOWN):
            m.d.comb += getattr(getattr(block, register), field).eq(_at(status, member))
        for register in block.registers:
            if register.snapshot:
                m.d.comb += getattr(block, register.name).count.eq(getattr(status, register.name))
        for name in EVENTS:
            event = block.refused if name == "config_error" else getattr(status, name) & self.here
            m.d.comb += getattr(block.events, name).eq(event)

        def rises(value):
            return value & ~self._before(m, value)

        reset = block.uart_reset.start
        resetting = status.uart_resetting
        m.d.comb += [
            block.ask_device.start_done.eq(rises(status.device_answered)),
            block.ask_port.start_done.eq(rises(status.port_answered)),
            block.announce_rate.start_done.eq(rises(status.rate_answered)),
            # An end that shows when the request has just been seen is that of a reset by the partner.
            block.uart_reset.start_done.eq(
                self._before(m, self._before(m, reset)) & self._before(m, resetting) & ~resetting
            ),
            block.inject.start_done.eq(1),
        ]
        return m

    def _before(self, m: Module, value):
        """``value`` in the last cycle with ``here``."""
        before = Signal(name=f"{value.name}_before")
        with m.If(self.here):
            m.d.sync += before.eq(value)
        return before

    def _unseen(self, m: Module, dwords):
        """A dword has just moved, and a late level does not show it yet."""
        unseen = Signal(name=f"{dwords.valid.name}_unseen")
        if self._late:
            with m.If(self.here):
                m.d.sync += unseen.eq(dwords.valid & dwords.ready)
        return unseen


def _places(table):
    """Member of the signature, register, field."""
    for register, members in table.items():
        for member in members:
            yield member, register, member if isinstance(members, tuple) else members[member]


def _at(interface, path: str):
    for name in path.split("."):
        interface = getattr(interface, name)
    return interface
