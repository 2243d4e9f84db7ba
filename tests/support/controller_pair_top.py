"""Two generated controllers that face each other over a cable, each with the Originator of an accelerator before it."""

from pathlib import Path

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from support import striker as striker_source
from support.striker import StrikeSignature, directed, join_struck, places
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
from ualink.upli.channels import UPLISignature
from ualink.upli.checker.checker import VIOLATIONS_LAYOUT, UPLIChecker
from ualink.upli.checker.watched import watch
from ualink.upli.drop_mode import AgentDropMode
from ualink.upli.isolation.isolation import Isolation
from ualink.upli.isolation.port import RequesterSignature
from ualink.upli.isolation.registers import ISOLATION_REGISTERS, IsolationRegisterBlock
from ualink.upli.originator import Originator
from ualink_sim.simulator import Model, build_once

SIDES = ("a", "b")
TAGS = 16
CABLE_CYCLES = 4
"""A whole number of rounds of the ports, for 1, 2 and 4."""
STRIKES = {"to_completer": Out, "to_originator": In, "to_tl_originator": In}
"""Where wires of UPLI are struck, by their receiver: the TL's Completer, the accelerator's Originator, the TL's
Originator; and who drives them, the Originator or the Completer."""
ERRORS = ("data_error", "control_error", "protocol_error")
CABLE_LAYOUT = data.StructLayout({"valid": 1, "beat": TX_BEAT_LAYOUT})
"""What is on a cable, and is struck there."""

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
    """A controller, and before it the Originator of an accelerator with Isolation and Drop Mode; a checker on either
    interface.

    What the checkers find stays. They see what is sent, before it is struck, and remember no tags: those of Requests
    that are dropped are used again.

    Members
    -------
    bus, irq, upli_originator, rs, slot : as of ``Controller``.
    isolation : registers of ``Isolation``, ``BusSignature``; isolation_pending : 1 bit, their event.
    device : ``RequesterSignature`` of each port.
    reset : 1 bit, all of this side starts anew.
    drop : 1 bit, the accelerator's Originator is in Drop Mode; clear_drop : 1 bit, leave it, and forget its errors.
    data_error, control_error, protocol_error : 1 bit each, of that Originator.
    to_completer, to_originator, to_tl_originator : ``StrikeSignature`` of the wires of ``STRIKES``.
    requester_broken, responder_broken : ``VIOLATIONS_LAYOUT``, rules broken since reset on the interface with the
        accelerator's Originator; with its Completer, where ISOLATE may not come.
    """

    def __init__(self, config: ControllerConfig):
        self.config = config
        self.controller = Controller(config)
        members = self.controller.signature.members
        self._kept = [name for name in members if name not in ("upli_completer", "upli_originator")]
        super().__init__(
            {
                **{name: members[name] for name in self._kept},
                "upli_originator": members["upli_originator"],
                "isolation": In(BusSignature(ISOLATION_REGISTERS.address_bits)),
                "isolation_pending": Out(1),
                "device": In(RequesterSignature()).array(config.station.ports),
                "reset": In(1),
                "drop": Out(1),
                "clear_drop": In(1),
                **{name: Out(1) for name in ERRORS},
                **{name: In(StrikeSignature(_width(flow))) for name, flow in STRIKES.items()},
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
        m.submodules.drop_mode = drop_mode = AgentDropMode()
        own, beyond = originator.upli, controller.upli_completer
        self._check(m, "requester_broken", self._strike(m, own, beyond, "to_completer", "to_originator"), isolate=True)
        own, beyond = controller.upli_originator, self.upli_originator
        self._check(m, "responder_broken", self._strike(m, own, beyond, None, "to_tl_originator"), isolate=False)
        connect(m, flipped(self.isolation), registers.bus)
        connect(m, registers.control, isolation.control)
        connect(m, isolation.status, registers.status)
        m.d.comb += [
            self.isolation_pending.eq(registers.pending),
            originator.slot.eq(calendar.slot),
            originator.connect.eq(1),
            originator.drop.eq(isolation.drop | drop_mode.drop),
            originator.clear_errors.eq(self.clear_drop),
            drop_mode.control_event.eq(originator.control_event),
            drop_mode.protocol_event.eq(originator.protocol_event),
            drop_mode.clear.eq(self.clear_drop),
            self.drop.eq(drop_mode.drop),
            *(getattr(self, name).eq(getattr(originator, name)) for name in ERRORS),
        ]
        for port in range(ports):
            agent = isolation.agent[port]
            connect(m, flipped(self.device[port]), isolation.device[port])
            for channel in ("req", "orig_data"):
                connect(m, getattr(agent, channel), getattr(originator, channel)[port])
            for channel in ("rd_rsp", "wr_rsp"):
                connect(m, getattr(originator, channel)[port], getattr(agent, channel))
        return ResetInserter(self.reset)(m)

    def _strike(self, m, originator, completer, *names):
        """Join two interfaces, whose wires are struck as the members of ``names`` say, of which the first is for those
        of the Originator, the second for those of the Completer; gives what either sends."""
        sent = UPLISignature().create()
        for name, flow, sender, receiver in zip(names, (Out, In), (originator, completer), (completer, originator)):
            wires, seen = directed(sent, flow), directed(receiver, flow)
            m.d.comb += Cat(wires).eq(Cat(directed(sender, flow)))
            if name is None:
                m.d.comb += Cat(seen).eq(Cat(wires))
            else:
                join_struck(m, f"{name}_strike", getattr(self, name), wires, seen)
        return sent

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
    <side>_deaf : a bit per port; the direction to this side is cut alone.
    <side>_lose, <side>_turn : a bit per port; flits that leave this side are lost; arrive as control flits.
    <side>_wire, <side>_tail : ``StrikeSignature`` of ``CABLE_LAYOUT``, on what leaves this side; the second one waits
        until the first one has struck.
    """

    def __init__(self, ports: int, sides: list[wiring.Component]):
        self._ports = ports
        self._sides = dict(zip(SIDES, sides))
        self._shown = [name for name in sides[0].signature.members if name not in ("rs", "slot")]
        members: dict[str, wiring.Member] = {"cut": In(ports)}
        for side, component in self._sides.items():
            members |= {f"{side}_{name}": In(ports) for name in ("deaf", "lose", "turn")}
            members |= {f"{side}_{name}": In(StrikeSignature(CABLE_LAYOUT.size)) for name in ("wire", "tail")}
            members |= {f"{side}_{name}": component.signature.members[name] for name in self._shown}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for side, component in self._sides.items():
            m.submodules[side] = component
            for name in self._shown:
                forward_member(m, component, name, getattr(self, f"{side}_{name}"))
        self._cable(m, *SIDES)
        self._cable(m, *reversed(SIDES))
        return m

    def _cable(self, m, tx, rx):
        """What side ``tx`` gives arrives later at ``rx``; the kind of a port's last slot is the fault that ``rx``
        sees."""
        sender, receiver = self._sides[tx].rs, self._sides[rx].rs
        wire, tail = getattr(self, f"{tx}_wire"), getattr(self, f"{tx}_tail")
        sent, struck, beat = Signal(CABLE_LAYOUT), Signal(CABLE_LAYOUT), Signal(CABLE_LAYOUT)
        later_armed = StrikeSignature(CABLE_LAYOUT.size).create()
        m.d.comb += [
            sender.tx.ready.eq(1),
            sent.eq(Cat(sender.tx.valid, sender.tx.p)),
            *(getattr(later_armed, name).eq(getattr(tail, name)) for name in ("care", "value", "mask")),
            later_armed.armed.eq(tail.armed & wire.hit),
            tail.hit.eq(later_armed.hit),
        ]
        join_struck(m, f"{tx}_wire_strike", wire, [sent.as_value()], [struck.as_value()])
        join_struck(m, f"{tx}_tail_strike", wiring.flipped(later_armed), [struck.as_value()], [beat.as_value()])
        for _ in range(CABLE_CYCLES):
            later = Signal.like(beat)
            m.d.sync += later.eq(beat)
            beat = later
        arrived, cut = beat.beat, self.cut | getattr(self, f"{rx}_deaf")
        levels = (getattr(self, f"{tx}_lose"), getattr(self, f"{tx}_turn"), cut)
        lost, turned, gone = ((level >> arrived.port)[0] for level in levels)
        is_data = (arrived.kind == TxKind.DATA) & ~turned
        m.d.comb += [
            receiver.rx.valid.eq(beat.valid & ~gone),
            *(getattr(receiver.rx.p, name).eq(getattr(arrived, name)) for name in ("data", "port", "first", "last")),
            receiver.rx.p.status.eq(Mux(is_data, Mux(lost, SlotStatus.BAD, SlotStatus.GOOD), SlotStatus.CONTROL)),
            receiver.local_fault.eq(cut),
        ]
        for port in range(self._ports):
            with m.If(cut[port]):
                m.d.sync += receiver.remote_fault[port].eq(0)
            with m.Elif(beat.valid & arrived.last & (arrived.port == port)):
                m.d.sync += receiver.remote_fault[port].eq(arrived.kind == TxKind.REMOTE_FAULT)


def _width(flow) -> int:
    return sum(width for _, width in places(flow).values())


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
        return {"accelerator_side.v": to_verilog(side, "accelerator_side"), "pair.v": to_verilog(top, "pair")}

    depends = repr((ports, bus, Path(__file__).read_text(), Path(striker_source.__file__ or "").read_text()))
    return build_once(make_sources, "pair", depends, blocks={"accelerator_side": None})
