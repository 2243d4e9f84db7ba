"""The registers of a station: a block for each part that firmware sets or sees, bound to it."""

from typing import Any

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib.wiring import connect

from ualink.bifurcation_registers import BifurcationRegisterBlock
from ualink.config import StationConfig
from ualink.csr.table import RegisterMap
from ualink.dl.interface import LinkState
from ualink.dl.rate.registers import RateRegisterBlock
from ualink.dl.registers.block import DLRegisterBlock
from ualink.lib.ports_used import existing
from ualink.phy.rs_registers import RSRegisterBlock
from ualink.station import Station
from ualink.tl.registers.block import TLRegisterBlock
from ualink.upli.agent_registers import AGENTS, AgentRegisterBlock

__all__ = ["StationRegisters"]

_RATE_SETTINGS = ("may_change", "change", "target_rate", "abort", "time_out_cycles")
_RATE_SHOWN = ("busy", "done", "failed", "time_out", "rate")


class StationRegisters:
    """Register blocks of a ``Station``, each in the clock of what it belongs to.

    Those of TL and UPLI agents are in domain "upli" where ``config.separate_upli_clock``, all others in "sync". Their
    reset there is that of power-on: ``upli_reset`` leaves what firmware has set.

    Attributes
    ----------
    blocks : by name, in this order: ``dl_0`` … and ``tl_0`` …, one each per port; ``upli``; ``tl_clock`` where UPLI has
        its own clock; ``rs_0`` … where the reconciliation sublayer is inside; ``station`` where the number of ports is
        chosen. Each has ``bus``, ``pending`` and ``registers``.
    """

    def __init__(self, config: StationConfig):
        self._config = config
        ports = range(config.ports)
        port_dl, phy = config.port_dl, config.phy
        if config.choosable_ports:
            # Registers of a port show what it has as one of four.
            port_dl = port_dl.replace(replay_depth=port_dl.replay_depth // config.ports)
            phy = None if phy is None else phy.replace(rate=phy.rate // config.ports)
        self._dl = [DLRegisterBlock(port_dl, late=config.ports > 1) for _ in ports]
        self._tl = [TLRegisterBlock(config.tl) for _ in ports]
        self._agents = AgentRegisterBlock()
        self._clock = RateRegisterBlock() if config.separate_upli_clock else None
        self._rs = [] if phy is None else [RSRegisterBlock(phy, port) for port in ports]
        self._ports = BifurcationRegisterBlock() if config.choosable_ports else None
        self.blocks: dict[str, Any] = {
            **{f"dl_{port}": block for port, block in enumerate(self._dl)},
            **{f"tl_{port}": block for port, block in enumerate(self._tl)},
            "upli": self._agents,
            **({} if self._clock is None else {"tl_clock": self._clock}),
            **{f"rs_{port}": block for port, block in enumerate(self._rs)},
            **({} if self._ports is None else {"station": self._ports}),
        }

    @property
    def maps(self) -> dict[str, RegisterMap]:
        """The register map of each block."""
        return {name: block.registers for name, block in self.blocks.items()}

    def domain(self, name: str) -> str:
        """Clock domain of block ``name``."""
        above = name == "upli" or (name.startswith("tl_") and name != "tl_clock")
        return "upli" if self._config.separate_upli_clock and above else "sync"

    def bind(self, m: Module, station: Station) -> None:
        """Make the blocks submodules of ``m``, which ``station`` is one of, and join them to it; all but the buses."""
        for name, block in self.blocks.items():
            m.submodules[f"{name}_registers"] = DomainRenamer(self.domain(name))(block)
        slot = station.rs_slot if self._config.separate_upli_clock else station.slot
        for port, (dl, tl) in enumerate(zip(self._dl, self._tl)):
            connect(m, dl.dl_config, station.dl_config[port])
            connect(m, station.dl_status[port], dl.dl_status)
            connect(m, dl.uart_tx, station.dl_uart_tx[port])
            connect(m, station.dl_uart_rx[port], dl.uart_rx)
            connect(m, tl.tl_control, station.tl_control[port])
            connect(m, station.tl_status[port], tl.tl_status)
            m.d.comb += [dl.here.eq(slot == port), tl.here.eq(station.slot == port)]
            if self._ports is not None:
                # No cycle is that of a port which is not used: who asks its queues is answered at once.
                with m.If(~existing(station.used)[port]):
                    m.d.comb += [dl.here.eq(1), tl.here.eq(1)]
        for port, rs in enumerate(self._rs):
            connect(m, station.rs_status[port], rs.rs)
            m.d.comb += rs.here.eq(slot == port)
            if rs.sets_rate:
                state = station.dl_status[port].link_state
                m.d.comb += rs.link_down.eq((state == LinkState.FAULT) | (state == LinkState.IDLE))
                m.d.comb += station.rs_rate[port].eq(rs.rate)
        self._bind_agents(m, station)
        if self._ports is not None:
            connect(m, self._ports.choice, station.bifurcation)
        if self._clock is not None:
            for name in _RATE_SETTINGS:
                m.d.comb += getattr(station, f"upli_clock_{name}").eq(getattr(self._clock, name))
            for name in _RATE_SHOWN:
                m.d.comb += getattr(self._clock, name).eq(getattr(station, f"upli_clock_{name}"))
            m.d.comb += self._clock.overflow.eq(station.overflow)

    def _bind_agents(self, m: Module, station: Station) -> None:
        agents = self._agents
        for agent in AGENTS:
            status, control = getattr(station, f"{agent}_status"), getattr(station, f"{agent}_control")
            m.d.comb += control.clear_errors.eq(getattr(agents, f"{agent}_clear_errors"))
            for name in status.signature.members:
                m.d.comb += getattr(agents, f"{agent}_{name}").eq(getattr(status, name))
