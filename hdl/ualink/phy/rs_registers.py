"""The registers of the reconciliation sublayer of one port, where the PCS is somebody else's."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import PhyConfig
from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, BusSignature, Field, Register, RegisterMap
from ualink.phy.port_rate import PortRate
from ualink.phy.reconciliation import ReconciliationStatusSignature
from ualink.phy.register_map import COUNTERS, counter_registers, fault_fields, marker_register, rate_registers

__all__ = ["MAP_VERSION", "RSRegisterBlock", "rs_registers"]

MAP_VERSION = 1


def rs_registers(config: PhyConfig, port: int = 0) -> RegisterMap:
    """Registers of port ``port``; ``rate`` is among them where ``config`` has several."""
    return RegisterMap(
        "rs_port",
        (
            Register(
                "capabilities",
                0x00,
                (Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),),
                "What was built.",
            ),
            marker_register(config.of_port(port)),
            Register(
                "status",
                0x0C,
                (Field("flits_aligned", "3", Access.RO, 0, "An AM flit has come."), *fault_fields()),
                "The port now.",
            ),
            Register(
                "events",
                0x10,
                (
                    Field(
                        "config_error",
                        "0",
                        Access.W1C,
                        0,
                        "A write had a value that is not allowed; its register is as it was before.",
                    ),
                    Field("link_fault", "2", Access.W1C, 0, "A link fault began."),
                ),
                "What has happened since it was last cleared.",
            ),
            *rate_registers(config, port),
            *counter_registers(),
        ),
        "Reconciliation sublayer of one port (UALink_200 §7.2). Places are those of `phy_port`, as far as it has them.",
    )


class RSRegisterBlock(wiring.Component):
    """What firmware sets and sees of ``Reconciliation`` of one port.

    Parameters
    ----------
    config, port : as of ``rs_registers``.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    here : this cycle belongs to the port.
    pending : the events that are set, as of ``RegisterBlock``.
    rs : status of the reconciliation sublayer.
    link_down : (*) 1 bit: the data link is in DL Fault or DL Idle.
    rate : (*) ``PortRate``, 2 bit, to the reconciliation sublayer; as of ``PhyRegisterBlock``.

    Those marked (*) exist only where ``config.choosable_rates`` has any.
    """

    def __init__(self, config: PhyConfig, port: int = 0):
        self.registers = rs_registers(config, port)
        """The register map."""
        self.sets_rate = bool(config.choosable_rates)
        """Whether the members marked (*) exist."""
        rate = PortRate.of(config.of_port(port).rate)
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "here": In(1),
                "pending": Out(self.registers.event_bits),
                "rs": In(ReconciliationStatusSignature()),
                **({"link_down": In(1), "rate": Out(PortRate, init=rate)} if self.sets_rate else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(self.registers)
        rs = self.rs
        faulty, was_faulty = Value.cast(rs.link_fault).any(), Signal()
        connect(m, flipped(self.bus), block.bus)
        m.d.sync += was_faulty.eq(faulty)
        m.d.comb += [
            block.here.eq(1),
            self.pending.eq(block.pending),
            block.status.flits_aligned.eq(rs.aligned),
            block.status.link_fault.eq(Value.cast(rs.link_fault)),
            block.status.fault.eq(Value.cast(rs.fault)),
            block.events.config_error.eq(block.refused),
            block.events.link_fault.eq(faulty & ~was_faulty),
        ]
        if self.sets_rate:
            m.d.comb += block.rate.in_force.eq(self.rate)
            with m.If(self.link_down):
                m.d.sync += self.rate.eq(block.rate.wanted)
        for name in COUNTERS:
            count = Signal(32, name=f"{name}_count")
            # A pulse of a port lasts until its next cycle.
            m.d.sync += count.eq(count + (getattr(rs, name) & self.here))
            m.d.comb += getattr(block, name).count.eq(count)
        return m
