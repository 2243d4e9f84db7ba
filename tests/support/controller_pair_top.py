"""Two generated controllers that face each other over a cable, each with the Originator of an accelerator before it."""

from pathlib import Path

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import (
    AddressCacheConfig,
    CheckerConfig,
    ControllerConfig,
    Credits,
    DLConfig,
    StationConfig,
    TLConfig,
    UPLIConfig,
)
from ualink.controller import Controller
from ualink.csr.table import BusSignature
from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.lib.forward import forward_member
from ualink.phy.interface import TX_BEAT_LAYOUT, SlotStatus, TxKind
from ualink.upli.calendar import Calendar
from ualink.upli.checker.checker import VIOLATIONS_LAYOUT, UPLIChecker
from ualink.upli.checker.watched import watch
from ualink.upli.isolation.isolation import Isolation
from ualink.upli.isolation.port import RequesterSignature
from ualink.upli.isolation.registers import ISOLATION_REGISTERS, IsolationRegisterBlock
from ualink.upli.originator import Originator
from ualink_sim.simulator import Model, build_once

SIDES = ("a", "b")
TAGS = 16
CABLE_CYCLES = 4
"""A whole number of rounds of the ports, for 1, 2 and 4."""

_FEW = Credits(pool=8)
STATION = StationConfig(
    upli=UPLIConfig(req=_FEW, orig_data=_FEW, rd_rsp=_FEW, wr_rsp=_FEW),
    tl=TLConfig(
        **{name: _FEW for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")},
        tx_cache=AddressCacheConfig(rows=0),
        rx_cache=AddressCacheConfig(rows=0),
        authentication=False,
        requests_in_sight=2,
        responses_in_sight=2,
        catch_in_lines=True,
        device="either",
    ),
    dl=DLConfig(replay_depth=32, idle_flit_times=8, uart_tx_dwords=4, uart_rx_dwords=4),
)
"""Small buffers and a short stay in Idle: what is simulated here is as large as it must be, not more."""


class AcceleratorSide(wiring.Component):
    """A controller, and before it the Originator of an accelerator with its Isolation; a checker on either interface.

    What the checkers find stays. They remember no tags: those of Requests that are dropped are used again.

    Members
    -------
    bus, irq, upli_originator, rs, slot : as of ``Controller``.
    isolation : registers of ``Isolation``, ``BusSignature``; isolation_pending : 1 bit, their event.
    device : ``RequesterSignature`` of each port.
    requester_broken, responder_broken : ``VIOLATIONS_LAYOUT``, rules broken since reset on the interface with the
        accelerator's Originator; with its Completer, where ISOLATE may not come.
    """

    def __init__(self, config: ControllerConfig):
        self.config = config
        self.controller = Controller(config)
        members = self.controller.signature.members
        self._kept = [name for name in members if name != "upli_completer"]
        super().__init__(
            {
                **{name: members[name] for name in self._kept},
                "isolation": In(BusSignature(ISOLATION_REGISTERS.address_bits)),
                "isolation_pending": Out(1),
                "device": In(RequesterSignature()).array(config.station.ports),
                "requester_broken": Out(VIOLATIONS_LAYOUT),
                "responder_broken": Out(VIOLATIONS_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        station, ports = self.config.station, self.config.station.ports
        m.submodules.controller = controller = self.controller
        m.submodules.originator = originator = Originator(station.upli, ports)
        m.submodules.isolation = isolation = Isolation(ports, TAGS, station.upli.rd_rsp.total)
        m.submodules.registers = registers = IsolationRegisterBlock()
        m.submodules.calendar = calendar = Calendar(ports)
        for name in self._kept:
            forward_member(m, controller, name, getattr(self, name))
        connect(m, originator.upli, controller.upli_completer)
        connect(m, flipped(self.isolation), registers.bus)
        connect(m, registers.control, isolation.control)
        connect(m, isolation.status, registers.status)
        m.d.comb += [
            self.isolation_pending.eq(registers.pending),
            originator.slot.eq(calendar.slot),
            originator.connect.eq(1),
            originator.drop.eq(isolation.drop),
        ]
        self._check(m, "requester_broken", originator.upli, isolate=True)
        self._check(m, "responder_broken", self.upli_originator, isolate=False)
        for port in range(ports):
            agent = isolation.agent[port]
            connect(m, flipped(self.device[port]), isolation.device[port])
            for channel in ("req", "orig_data"):
                connect(m, getattr(agent, channel), getattr(originator, channel)[port])
            for channel in ("rd_rsp", "wr_rsp"):
                connect(m, getattr(originator, channel)[port], getattr(agent, channel))
        return m

    def _check(self, m, name, upli, *, isolate):
        """A checker of ``upli``, whose findings gather in member ``name``."""
        m.submodules[name] = checker = UPLIChecker(
            CheckerConfig(ports=self.config.station.ports, tracked=0, isolate=isolate)
        )
        watch(m, checker.upli, upli)
        found = Value.cast(getattr(self, name))
        m.d.sync += found.eq(found | Value.cast(checker.violations))


class ControllerPairTop(wiring.Component):
    """Two of ``AcceleratorSide``, "a" and "b", joined by cables of ``CABLE_CYCLES``.

    Members
    -------
    <side>_bus, <side>_irq … : as of ``AcceleratorSide``, all but its RS.
    cut : a bit per port; both directions of its cable are cut, which each receiver sees as a Local Fault.
    """

    def __init__(self, ports: int, sides: list[wiring.Component]):
        self._ports = ports
        self._sides = dict(zip(SIDES, sides))
        self._shown = [name for name in sides[0].signature.members if name not in ("rs", "slot")]
        members: dict[str, wiring.Member] = {"cut": In(ports)}
        for side, component in self._sides.items():
            members |= {f"{side}_{name}": component.signature.members[name] for name in self._shown}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for side, component in self._sides.items():
            m.submodules[side] = component
            for name in self._shown:
                forward_member(m, component, name, getattr(self, f"{side}_{name}"))
        a, b = self._sides.values()
        self._cable(m, a.rs, b.rs)
        self._cable(m, b.rs, a.rs)
        return m

    def _cable(self, m, sender, receiver):
        """What ``sender`` gives arrives later; the kind of a port's last slot is the fault that its receiver sees."""
        beat = Signal(1 + len(Value.cast(sender.tx.p)))
        m.d.comb += [sender.tx.ready.eq(1), beat.eq(Cat(sender.tx.valid, sender.tx.p))]
        for _ in range(CABLE_CYCLES):
            later = Signal.like(beat)
            m.d.sync += later.eq(beat)
            beat = later
        arrived = TX_BEAT_LAYOUT(beat[1:])
        lost = (self.cut >> arrived.port)[0]
        m.d.comb += [
            receiver.rx.valid.eq(beat[0] & ~lost),
            *(getattr(receiver.rx.p, name).eq(getattr(arrived, name)) for name in ("data", "port", "first", "last")),
            receiver.rx.p.status.eq(Mux(arrived.kind == TxKind.DATA, SlotStatus.GOOD, SlotStatus.CONTROL)),
            receiver.local_fault.eq(self.cut),
        ]
        for port in range(self._ports):
            with m.If(self.cut[port]):
                m.d.sync += receiver.remote_fault[port].eq(0)
            with m.Elif(beat[0] & arrived.last & (arrived.port == port)):
                m.d.sync += receiver.remote_fault[port].eq(arrived.kind == TxKind.REMOTE_FAULT)


def controller_config(ports: int, bus: str) -> ControllerConfig:
    """Of both controllers; with several ports they are built for slow clocks, which is the same to who looks on."""
    lean = ports > 1
    station = STATION.replace(ports=ports, upli=STATION.upli.replace(lean=lean), tl=STATION.tl.replace(lean=lean))
    return ControllerConfig(bus=bus, station=station)


def build_pair(ports: int, bus: str) -> Model:
    """The compiled model of ``ControllerPairTop``; the sides, which are alike, are compiled once."""

    def make_sources() -> dict[str, str]:
        side = AcceleratorSide(controller_config(ports, bus))
        top = ControllerPairTop(ports, [Blackbox(side, "accelerator_side") for _ in SIDES])
        return {"pair.v": "\n".join((to_verilog(side, "accelerator_side"), to_verilog(top, "pair")))}

    depends = repr((ports, bus, Path(__file__).read_text()))
    return build_once(make_sources, "pair", depends, blocks=("accelerator_side",))
