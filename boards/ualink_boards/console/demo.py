"""A design to try the console on: small, quickly compiled, without transceivers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.config import DLConfig
from ualink.csr.console import ConsoleRegisters
from ualink.csr.design import RegisterDesign
from ualink.dl.flit.error_injection import ErrorInjection
from ualink.dl.link.state import LinkStateMachine
from ualink.dl.registers.block import DLRegisterBlock
from ualink.dl.registers.firmware import COUNTERS, EventCounters
from ualink.dl.registers.map import dl_registers
from ualink.lib.queue import Queue
from ualink.phy.interface import BEATS_PER_FLIT, SlotStatus, TxKind

__all__ = ["Demo", "demo_registers"]

CONFIG = DLConfig(idle_flit_times=4, uart_tx_dwords=8, uart_rx_dwords=8)


def demo_registers(clock_hz: int) -> RegisterDesign:
    """The windows of ``Demo``."""
    return RegisterDesign("demo", clock_hz, (("dl", dl_registers(CONFIG)),))


class Demo(wiring.Component):
    """The registers, link states, counters and error injection of a data link that hears itself.

    There is no data path: a flit slot is ten cycles long and has a kind, nothing else. What is sent arrives in the same
    cycle, bad where an error is injected. What is written to the UART can be read from it.

    Members
    -------
    rx, tx : the serial line.
    """

    def __init__(self, clock_hz: int, baud: int):
        self._console = ConsoleRegisters(demo_registers(clock_hz), baud)
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.console = console = self._console
        m.submodules.registers = registers = DLRegisterBlock(CONFIG)
        m.submodules.link = link = LinkStateMachine(CONFIG.idle_flit_times)
        m.submodules.injection = injection = ErrorInjection()
        m.submodules.counters = counters = EventCounters()
        m.submodules.uart = uart = Queue(32, CONFIG.uart_rx_dwords)
        connect(m, console.windows.dl, registers.bus)
        settings, status = registers.dl_config, registers.dl_status

        beat = Signal(range(BEATS_PER_FLIT))
        slot_end, flit, bad = Signal(), Signal(), Signal()
        kind = Signal(TxKind, init=TxKind.IDLE)
        corrupt_out, corrupt_in = Signal(), Signal()
        m.d.sync += beat.eq(Mux(slot_end, 0, beat + 1))
        with m.If(slot_end):
            m.d.sync += kind.eq(link.next_kind)
        m.d.comb += [
            console.rx.eq(self.rx),
            self.tx.eq(console.tx),
            registers.here.eq(1),
            slot_end.eq(beat == BEATS_PER_FLIT - 1),
            flit.eq(slot_end & (kind == TxKind.DATA)),
            bad.eq(injection.sent_crc | injection.sent_bit | injection.received_crc),
            link.enable.eq(settings.enable),
            link.slot_end.eq(slot_end),
            link.ended.eq(slot_end),
            link.status.eq(Mux(~flit, SlotStatus.CONTROL, Mux(bad, SlotStatus.BAD, SlotStatus.GOOD))),
            link.containment.eq(corrupt_out | corrupt_in),
            corrupt_out.eq(flit & (injection.egress_data | injection.egress_control)),
            corrupt_in.eq((flit & injection.ingress_data) | injection.ingress_control),
            injection.enable.eq(settings.inject_enable),
            injection.select.eq(settings.inject_select),
            injection.trigger.eq(settings.inject),
            injection.crc_slot_end.eq(slot_end),
            injection.wire_slot_end.eq(slot_end),
            status.link_state.eq(link.state),
            status.online.eq(link.up & settings.channel_0_online),
            status.containment_egress.eq(corrupt_out),
            status.containment_ingress.eq(corrupt_in),
            *(
                strike.eq(flit)
                for strike in (
                    injection.crc_struck,
                    injection.wire_struck,
                    injection.flit_taken,
                    injection.flit_received,
                    injection.slot_received,
                )
            ),
        ]
        requested = (flit & bad) | injection.replay_request
        events = {
            "crc_errors": flit & bad,
            "replays_requested": requested,
            "replays_accepted": requested,
            "flits_sent": flit,
            "flits_received": flit & ~bad,
            "link_downs": link.left_up,
            "ingress_containments": corrupt_in,
            "egress_containments": corrupt_out,
        }
        for name, event in events.items():
            m.d.comb += counters.events[name].eq(event)
        for name in COUNTERS:
            m.d.comb += getattr(status, name).eq(counters.counts[name])

        connect(m, registers.uart_tx, uart.input)
        connect(m, uart.output, registers.uart_rx)
        m.d.comb += status.uart_rx_level.eq(uart.level)
        return m
