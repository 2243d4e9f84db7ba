"""The registers of the transaction layer of one port on firmware's bus."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import TLConfig
from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.tl.control import NATURAL_LIMITS, TLControlSignature, TLStatusSignature
from ualink.tl.session.drop_mode import DROP_CAUSE_LAYOUT

from .map import tl_registers

__all__ = ["TLRegisterBlock"]

_STATUS = ("credits_ready", "dropping", "transmit_error", "cache_error", "receive_error_valid", "receive_error")
_COUNTS = ("unknown_messages", "half_poisoned_beats", "block_crossings", "isolates")


class TLRegisterBlock(wiring.Component):
    """What firmware sets and sees of one transaction layer, at the addresses of ``tl_registers(config)``.

    A pulse of ``tl_control`` lasts from one cycle with ``here`` to the next, as a station of several ports wants it. An
    event is a rise in ``tl_status``.

    Parameters
    ----------
    config : that of the transaction layer.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    here : this cycle belongs to the port.
    pending : the events that are set, as of ``RegisterBlock``.
    tl_control, tl_status : the transaction layer.
    """

    def __init__(self, config: TLConfig | None = None):
        self._block = RegisterBlock(tl_registers(config or TLConfig()))
        super().__init__(
            {
                "bus": In(BusSignature(self._block.registers.address_bits)),
                "here": In(1),
                "pending": Out(self._block.registers.event_bits),
                "tl_control": Out(TLControlSignature()),
                "tl_status": In(TLStatusSignature()),
            }
        )

    @property
    def registers(self):
        """The register map."""
        return self._block.registers

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        control, status = self.tl_control, self.tl_status
        connect(m, flipped(self.bus), block.bus)
        m.d.comb += [block.here.eq(self.here), self.pending.eq(block.pending)]
        for field in block.registers["control"].fields:
            m.d.comb += getattr(control, field.name).eq(getattr(block.control, field.name))
        for name in NATURAL_LIMITS:
            m.d.comb += control.limits[name].eq(getattr(block.limits, name))
        m.d.comb += [
            control.enter_drop.eq(block.enter_drop.start),
            control.clear_drop.eq(block.clear_drop.start),
            control.invalidate_tx_entry.eq(block.invalidate.start),
            control.invalidate_row.eq(block.invalidate.row),
            control.invalidate_way.eq(block.invalidate.way),
            block.enter_drop.start_done.eq(1),
            block.clear_drop.start_done.eq(1),
            block.invalidate.start_done.eq(1),
        ]
        for name in _STATUS:
            m.d.comb += getattr(block.status, name).eq(Value.cast(getattr(status, name)))
        for name in DROP_CAUSE_LAYOUT.members:
            m.d.comb += getattr(block.status, f"drop_{name}").eq(status.drop_cause[name])
        for name in _COUNTS:
            m.d.comb += getattr(block.counts, name).eq(getattr(status, name))
        m.d.comb += [
            block.errors.last_error.eq(Value.cast(status.last_error)),
            block.errors.error_count.eq(status.error_count),
            block.events.config_error.eq(block.refused),
        ]
        for event, level in (
            ("drop_mode", status.dropping),
            ("receive_error", status.receive_error_valid),
            ("transmit_error", status.transmit_error),
            ("cache_error", status.cache_error),
        ):
            before = Signal(name=f"{event}_before")
            m.d.sync += before.eq(level)
            m.d.comb += getattr(block.events, event).eq(level & ~before)
        return m
