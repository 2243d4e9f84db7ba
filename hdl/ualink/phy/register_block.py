"""The registers of the physical layer of one port of a board on firmware's bus."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import PhyConfig
from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.phy.pcs.receive import ReceiveLaneStatus
from ualink.phy.port_rate import PortRate
from ualink.phy.reconciliation import ReconciliationStatusSignature
from ualink.phy.register_map import COUNTERS, phy_registers
from ualink.phy.serdes.interface import LaneSettingsSignature, LaneStatusSignature

__all__ = ["PhyRegisterBlock"]


class PhyRegisterBlock(wiring.Component):
    """What firmware sets and sees of ``Reconciliation`` and ``PCS`` of one port, and of the lanes below them.

    Parameters
    ----------
    config, lanes, line_rate, port : as of ``phy_registers``.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    ber_monitor, clear : to the PCS.
    aligned, hi_ber, running : of the PCS, 1 bit each; underflow : a bit per lane.
    rs : status of the reconciliation sublayer.
    lane : array of ``ReceiveLaneStatus``, of the PCS.
    serdes : array of ``LaneStatusSignature``, of the lanes.
    settings : array of ``LaneSettingsSignature``, to the lanes.
    link_down : (*) 1 bit: the data link is in DL Fault or DL Idle.
    rate : (*) ``PortRate``, 2 bit, to the reconciliation sublayer; reset value of ``config.of_port(port)``. It becomes
        what was written at the end of a cycle with ``link_down`` only: another distance of markers breaks the
        alignment of the partner (UALink_200 §7.1, §7.2.7).

    Those marked (*) exist only where ``config.choosable_rates`` has any.
    """

    def __init__(self, config: PhyConfig, *, lanes: int, line_rate: int, port: int = 0):
        self._lanes = lanes
        self._block = RegisterBlock(phy_registers(config, lanes, line_rate, port))
        self._sets_rate = bool(config.choosable_rates)
        rate = PortRate.of(config.of_port(port).rate)
        super().__init__(
            {
                "bus": In(BusSignature(self._block.registers.address_bits)),
                "ber_monitor": Out(1),
                "clear": Out(1),
                "aligned": In(1),
                "hi_ber": In(1),
                "running": In(1),
                "underflow": In(lanes),
                "rs": In(ReconciliationStatusSignature()),
                "lane": In(ReceiveLaneStatus()).array(lanes),
                "serdes": In(LaneStatusSignature()).array(lanes),
                "settings": Out(LaneSettingsSignature()).array(lanes),
                **({"link_down": In(1), "rate": Out(PortRate, init=rate)} if self._sets_rate else {}),
            }
        )

    @property
    def registers(self):
        """The register map."""
        return self._block.registers

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        connect(m, flipped(self.bus), block.bus)
        status, rs = block.status, self.rs
        overflow = Value.cast(0)
        for number in range(self._lanes):
            overflow = overflow | self.lane[number].overflow
            self._lane(m, block, number)
        m.d.comb += [
            block.here.eq(1),
            self.ber_monitor.eq(block.control.ber_monitor),
            self.clear.eq(block.control.clear),
            status.running.eq(self.running),
            status.aligned.eq(self.aligned),
            status.hi_ber.eq(self.hi_ber),
            status.flits_aligned.eq(rs.aligned),
            status.link_fault.eq(Value.cast(rs.link_fault)),
            status.fault.eq(Value.cast(rs.fault)),
            block.events.config_error.eq(block.refused),
        ]
        for event, level in (
            ("aligned_lost", ~self.aligned),
            ("link_fault", Value.cast(rs.link_fault).any()),
            ("hi_ber", self.hi_ber),
            ("underflow", self.underflow.any()),
            ("overflow", overflow),
        ):
            # What is so from reset on has not happened.
            before = Signal(name=f"{event}_before", init=event == "aligned_lost")
            m.d.sync += before.eq(level)
            m.d.comb += getattr(block.events, event).eq(level & ~before)
        if self._sets_rate:
            m.d.comb += block.rate.in_force.eq(self.rate)
            with m.If(self.link_down):
                m.d.sync += self.rate.eq(block.rate.wanted)
        for name in COUNTERS:
            count = Signal(32, name=f"{name}_count")
            m.d.sync += count.eq(count + getattr(rs, name))
            m.d.comb += getattr(block, name).count.eq(count)
        return m

    def _lane(self, m: Module, block: RegisterBlock, number: int):
        control, status, headers, skew = (
            getattr(block, f"lane{number}_{name}") for name in ("control", "status", "headers", "skew")
        )
        lane, serdes, settings = self.lane[number], self.serdes[number], self.settings[number]
        m.d.comb += [
            settings.loopback.eq(control.loopback),
            settings.reset.eq(control.reset),
            settings.tx_invert.eq(control.tx_invert),
            settings.rx_invert.eq(control.rx_invert),
            status.pll_locked.eq(serdes.pll_locked),
            status.signal.eq(serdes.signal),
            status.cdr_locked.eq(serdes.locked),
            status.ready.eq(serdes.ready),
            status.pll_retries.eq(serdes.pll_retries),
            status.retries.eq(serdes.retries),
            status.block_lock.eq(lane.block_lock),
            status.marker_lock.eq(lane.marker_lock),
            status.number.eq(lane.number),
            status.overflow.eq(lane.overflow),
            status.underflow.eq(self.underflow[number]),
            headers.bad.eq(lane.bad_headers),
            skew.blocks.eq(lane.skew),
        ]
