"""An accelerator changes its UPLI clock, and tells its partners first (UALink_200 §6.5.4)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.rate.announcement import RateAnnouncement
from ualink.dl.rate.pacer import REFERENCE_RATE
from ualink.dl.registers.firmware import FULL_RATE

__all__ = ["ChangeState", "RateChange"]


class ChangeState(enum.Enum, shape=3):
    """Where a change stands; letters are the steps of UALink_200 §6.5.4."""

    IDLE = 0
    TELL_REFERENCE = 1
    """a to c"""
    TO_REFERENCE = 2
    """d"""
    PROGRAM = 3
    """e"""
    TO_PLL = 4
    """f"""
    TELL_RATE = 5
    """g and h"""


class RateChange(wiring.Component):
    """Takes the UPLI clock of an accelerator from one rate to another by way of the reference clock.

    One clock serves all ports of a station, so that every port whose link is up is told and waited for. A partner whose
    link is down is told when it comes up, for it starts from full rate again; ``partner_told`` keeps its channel 0
    offline until then. Rates are in units of 50 kHz. The clocks are made and switched outside: ``use_reference`` with
    ``on_reference`` and ``pll_program`` with ``pll_ready`` are handshakes of levels, each side waiting for the other
    both when it rises and when it falls; ``on_reference`` and ``pll_ready`` must come synchronous to this domain. The
    state is that of a clock: neither a link that goes down nor a reset of the UPLI domain may reset this block.

    ``abort`` gives a change up in a state that is safe, that is, in which no partner was told a rate above that of the
    clock: before the clock is switched it keeps its old rate, of which the partners are told again; in steps d and e it
    stays on the reference clock; from f on it has the new rate, of which the partners are told. A switch of clocks
    under way is completed first. Without an Ack nothing ends by itself (ruling A-39 (DL)): once given up, a further
    ``abort`` forgets the Request without an Ack and has it sent again, which is safe only if the partner never took it.

    Parameters
    ----------
    ports : links that share the clock.

    Members
    -------
    may_change : this is an accelerator; otherwise a change is refused (UALink_200 §6.5.4).
    change : starts a change when it rises, unless ``busy``.
    target_rate : rate to change to, taken at the start; below REFERENCE_RATE it is refused.
    abort : give the change up; pulse or level.
    time_out_cycles : cycles after which an Ack is overdue; 0: never. 15,625 is 10 us.
    link_up : per port.
    announce, announced_rate : per port, a TL Rate Notification is wanted; it leaves when the bit rises.
    answered : per port, the Ack to the last one has come; falls when a Request starts.
    partner_told : per port, the partner knows the rate of this clock.
    pace : limit of the own TL flits, for ``Pacer.own_rate``.
    rate : rate of the UPLI clock; 31,250 after reset.
    use_reference, on_reference : clock the UPLI by the 156.25 MHz reference; it is clocked by it.
    pll_program, pll_rate, pll_ready : program the PLL; to this rate; it runs at this rate.
    busy, done, failed : under way; the last change was made; it was refused or given up.
    time_out : an Ack is overdue.
    """

    def __init__(self, ports: int = 1):
        check_choice("ports", ports, (1, 2, 4))
        self._ports = ports
        super().__init__(
            {
                "may_change": In(1),
                "change": In(1),
                "target_rate": In(16, init=FULL_RATE),
                "abort": In(1),
                "time_out_cycles": In(24, init=15_625),
                "link_up": In(ports),
                "announce": Out(ports),
                "announced_rate": Out(16, init=FULL_RATE),
                "answered": In(ports),
                "partner_told": Out(ports),
                "pace": Out(16, init=FULL_RATE),
                "rate": Out(16, init=FULL_RATE),
                "use_reference": Out(1),
                "on_reference": In(1),
                "pll_program": Out(1),
                "pll_rate": Out(16, init=FULL_RATE),
                "pll_ready": In(1),
                "busy": Out(1),
                "done": Out(1),
                "failed": Out(1),
                "time_out": Out(1),
            }
        )
        self.state = Signal(ChangeState)

    def elaborate(self, platform):
        m = Module()
        state = self.state
        tell = Signal()
        active = Signal()
        rate_to_tell = Signal(16)
        told = []
        waiting = []
        for port in range(self._ports):
            m.submodules[f"announcement_{port}"] = announcement = RateAnnouncement()
            m.d.comb += [
                announcement.active.eq(active),
                announcement.tell.eq(tell),
                announcement.again.eq(self.abort & ~self.busy),
                announcement.link_up.eq(self.link_up[port]),
                announcement.answered.eq(self.answered[port]),
                self.announce[port].eq(announcement.announce),
                self.partner_told[port].eq(announcement.told),
            ]
            told.append(announcement.told)
            waiting.append(announcement.waiting)
        all_waiting = Cat(waiting)

        # Nothing is announced before the first change: full rate is what every partner starts from.
        with m.If(tell):
            m.d.sync += [active.eq(1), self.announced_rate.eq(rate_to_tell)]

        timer = Signal.like(self.time_out_cycles, init=0)
        m.d.comb += self.time_out.eq((self.time_out_cycles != 0) & (timer >= self.time_out_cycles))
        with m.If(~all_waiting.any() | tell | self.abort):
            m.d.sync += timer.eq(0)
        with m.Elif(~timer.all()):
            m.d.sync += timer.eq(timer + 1)

        changed_before = Signal()
        given_up = Signal()
        m.d.sync += changed_before.eq(self.change)
        m.d.comb += self.busy.eq(state != ChangeState.IDLE)

        def give_up():
            m.d.sync += [state.eq(ChangeState.IDLE), self.failed.eq(1)]

        with m.Switch(state):
            with m.Case(ChangeState.IDLE), m.If(self.change & ~changed_before):
                m.d.sync += [self.done.eq(0), self.failed.eq(0), given_up.eq(0), self.pll_rate.eq(self.target_rate)]
                with m.If(self.may_change & (self.target_rate >= REFERENCE_RATE) & ~self.abort):
                    m.d.comb += [tell.eq(1), rate_to_tell.eq(REFERENCE_RATE)]
                    m.d.sync += [self.pace.eq(REFERENCE_RATE), state.eq(ChangeState.TELL_REFERENCE)]
                with m.Else():
                    give_up()
            with m.Case(ChangeState.TELL_REFERENCE):
                with m.If(self.abort):
                    m.d.comb += [tell.eq(1), rate_to_tell.eq(self.rate)]
                    m.d.sync += self.pace.eq(self.rate)
                    give_up()
                with m.Elif(~all_waiting.any()):
                    m.d.sync += [self.use_reference.eq(1), state.eq(ChangeState.TO_REFERENCE)]
            with m.Case(ChangeState.TO_REFERENCE):
                m.d.sync += given_up.eq(given_up | self.abort)
                with m.If(self.on_reference):
                    m.d.sync += self.rate.eq(REFERENCE_RATE)
                    with m.If(given_up | self.abort):
                        give_up()
                    with m.Else():
                        m.d.sync += state.eq(ChangeState.PROGRAM)
            with m.Case(ChangeState.PROGRAM):
                with m.If(self.abort):
                    m.d.sync += self.pll_program.eq(0)
                    give_up()
                with m.Elif(~self.pll_program):
                    # The handshake before must be over.
                    m.d.sync += self.pll_program.eq(~self.pll_ready)
                with m.Elif(self.pll_ready):
                    m.d.sync += [self.pll_program.eq(0), self.use_reference.eq(0), state.eq(ChangeState.TO_PLL)]
            with m.Case(ChangeState.TO_PLL):
                m.d.sync += given_up.eq(given_up | self.abort)
                with m.If(~self.on_reference):
                    m.d.comb += [tell.eq(1), rate_to_tell.eq(self.pll_rate)]
                    m.d.sync += [self.rate.eq(self.pll_rate), self.pace.eq(self.pll_rate)]
                    with m.If(given_up | self.abort):
                        give_up()
                    with m.Else():
                        m.d.sync += state.eq(ChangeState.TELL_RATE)
            with m.Case(ChangeState.TELL_RATE):
                with m.If(self.abort):
                    give_up()
                with m.Elif(~all_waiting.any()):
                    m.d.sync += [self.done.eq(1), state.eq(ChangeState.IDLE)]
        return m
