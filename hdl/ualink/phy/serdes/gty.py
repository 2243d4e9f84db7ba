"""Lanes on the GTY transceivers of a Xilinx UltraScale+ device, by a core of the UltraScale FPGAs Transceivers Wizard.

Vivado generates the core (PG182) from Tcl that ``ualink_boards.vivado`` writes. The core has the shared PLL and the
reset controller of one quad in it; the clock buffers are here, so that each receiver has a clock of its own.
"""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, IOValue, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer

from .interface import LaneStatusSignature, Loopback, SerdesLaneSignature

__all__ = ["CORE", "GtyLanes"]

CORE = "ualink_gty"
"""Module name of the wizard's core."""

# Port LOOPBACK of a transceiver (UG578): in the analogue part, near and far end.
_NO_LOOPBACK, _NEAR_END_PMA, _FAR_END_PMA = 0b000, 0b010, 0b100


class GtyLanes(wiring.Component):
    """One to four lanes on a quad, words of 32 or 64 bits as they are on the line.

    Drives clock and reset of the domains ``tx<l>``, which all have the clock of lane 0, and ``rx<l>`` of each lane,
    which its parent declares. The reset controller is
    one for all: ``reset`` of any lane, and a change of its loopback, begin the sequence of all receivers; it tries
    again by itself. It shows no count of attempts.

    Parameters
    ----------
    lanes : 1 to 4.
    width : 32 or 64.
    line_rate : bit/s, for the clock constraints.

    Members
    -------
    lanes : ``SerdesLaneSignature(width)`` each. status : ``LaneStatusSignature`` each; ``signal`` and ``ready`` are
        those of all receivers together.

    Attributes
    ----------
    pins : before elaboration: ports ``reference_p``, ``reference_n`` (1 bit) and ``rx_p``, ``rx_n``, ``tx_p``,
        ``tx_n`` (one bit a lane).
    """

    def __init__(self, *, lanes: int, width: int, line_rate: int):
        if not is_integer(lanes, 1, 4):
            raise ConfigError(f"lanes is {lanes!r}; a quad has 1 to 4")
        if width not in (32, 64):
            raise ConfigError(f"width is {width!r}; a GTY has words of 32 or 64 bits here")
        self._width, self._line_rate, self._count = width, line_rate, lanes
        self.pins: dict[str, IOValue] = {}
        super().__init__(
            {
                "lanes": In(SerdesLaneSignature(width)).array(lanes),
                "status": Out(LaneStatusSignature()).array(lanes),
            }
        )

    @property
    def clock_hz(self) -> dict[str, float]:
        """Frequencies of the domains that the lanes drive."""
        return {f"{way}{n}": self._line_rate / self._width for n in range(self._count) for way in ("tx", "rx")}

    def elaborate(self, platform):
        m = Module()
        n, pins = self._count, self.pins
        reference = Signal()
        m.submodules.reference = Instance(
            "IBUFDS_GTE4", i_I=pins["reference_p"], i_IB=pins["reference_n"], i_CEB=Const(0), o_O=reference
        )
        tx_done, rx_done, stable, pll_lock = (Signal(name=x) for x in ("tx_done", "rx_done", "stable", "pll_lock"))
        powered, cdr_lock = Signal(n, name="powered"), Signal(n, name="cdr_lock")
        tx_out, rx_out = Signal(n, name="tx_out"), Signal(n, name="rx_out")
        tx_reset_done, rx_reset_done = Signal(n, name="tx_reset_done"), Signal(n, name="rx_reset_done")
        received = Signal(n * self._width)
        restart = self._restart(m)
        self._clocks(m, tx_out[0], rx_out, tx_done, rx_done, platform)
        ready = {"tx": Signal(), "rx": Signal()}
        m.submodules.tx_done = FFSynchronizer(tx_done, ready["tx"])
        m.submodules.rx_done = FFSynchronizer(rx_done, ready["rx"])
        m.submodules.stable = FFSynchronizer(stable, signal := Signal(name="signal"))
        m.submodules.pll_lock = FFSynchronizer(pll_lock, locked := Signal(name="pll_locked"))
        m.submodules.cdr_lock = FFSynchronizer(cdr_lock, recovered := Signal(n, name="recovered"))
        for number, (lane, status) in enumerate(zip(self.lanes, self.status)):
            m.d.comb += [
                lane.rx_data.eq(received.word_select(number, self._width)),
                status.pll_locked.eq(locked),
                status.signal.eq(signal),
                status.locked.eq(recovered[number]),
                status.ready.eq(ready["rx"]),
            ]
            for way, shown in (("tx", lane.tx_ready), ("rx", lane.rx_ready)):
                domain = f"{way}{number}"
                m.submodules[f"{domain}_ready"] = FFSynchronizer(ready[way], shown, o_domain=domain)

        tx_clocks = Cat(ClockSignal(f"tx{lane}") for lane in range(n))
        rx_clocks = Cat(ClockSignal(f"rx{lane}") for lane in range(n))
        m.submodules.core = Instance(
            CORE,
            i_gtwiz_reset_clk_freerun_in=ClockSignal(),
            i_gtwiz_reset_all_in=Const(0),
            i_gtwiz_reset_tx_pll_and_datapath_in=Const(0),
            i_gtwiz_reset_tx_datapath_in=Const(0),
            i_gtwiz_reset_rx_pll_and_datapath_in=Const(0),
            i_gtwiz_reset_rx_datapath_in=restart,
            o_gtwiz_reset_rx_cdr_stable_out=stable,
            o_gtwiz_reset_tx_done_out=tx_done,
            o_gtwiz_reset_rx_done_out=rx_done,
            # The transceivers say that their clocks run when their analogue parts are out of reset.
            i_gtwiz_userclk_tx_active_in=tx_reset_done.all(),
            i_gtwiz_userclk_rx_active_in=rx_reset_done.all(),
            i_gtwiz_userdata_tx_in=Cat(lane.tx_data for lane in self.lanes),
            o_gtwiz_userdata_rx_out=received,
            i_gtrefclk00_in=reference,
            o_qpll0lock_out=pll_lock,
            i_gtyrxp_in=pins["rx_p"],
            i_gtyrxn_in=pins["rx_n"],
            o_gtytxp_out=pins["tx_p"],
            o_gtytxn_out=pins["tx_n"],
            i_txusrclk_in=tx_clocks,
            i_txusrclk2_in=tx_clocks,
            i_rxusrclk_in=rx_clocks,
            i_rxusrclk2_in=rx_clocks,
            o_txoutclk_out=tx_out,
            o_rxoutclk_out=rx_out,
            o_txpmaresetdone_out=tx_reset_done,
            o_rxpmaresetdone_out=rx_reset_done,
            o_rxcdrlock_out=cdr_lock,
            o_gtpowergood_out=powered,
            i_loopback_in=Cat(_loopback(lane.loopback) for lane in self.lanes),
            i_txpolarity_in=Cat(self._of_lane(m, "tx_invert", "tx")),
            i_rxpolarity_in=Cat(self._of_lane(m, "rx_invert", "rx")),
        )
        return m

    def _of_lane(self, m: Module, setting: str, way: str) -> list[Signal]:
        """A setting of each lane in the lane's domain."""
        found = []
        for number, lane in enumerate(self.lanes):
            here = Signal(name=f"{setting}_{number}")
            m.submodules[f"{setting}_{number}"] = FFSynchronizer(
                getattr(lane, setting), here, o_domain=f"{way}{number}"
            )
            found.append(here)
        return found

    def _restart(self, m: Module) -> Signal:
        """The receivers begin anew."""
        restart = Signal()
        reasons = []
        for number, lane in enumerate(self.lanes):
            before = Signal(Loopback, name=f"loopback_before_{number}")
            m.d.sync += before.eq(lane.loopback)
            reasons += [lane.reset, before != lane.loopback]
        # The core wants more than one cycle.
        wait = Signal(4)
        m.d.sync += [wait.eq(wait - wait.any()), restart.eq(wait.any())]
        with m.If(Cat(reasons).any()):
            m.d.sync += wait.eq(-1)
        return restart

    def _clocks(self, m: Module, tx_out, rx_out, tx_done, rx_done, platform):
        sources = {"tx0": tx_out, **{f"rx{n}": rx_out[n] for n in range(self._count)}}
        made = {}
        for name, source in sources.items():
            made[name] = Signal(name=f"{name}_clock", attrs={"keep": "true"})
            m.submodules[f"{name}_buffer"] = Instance(
                "BUFG_GT",
                i_I=source,
                i_CE=Const(1),
                i_CEMASK=Const(0),
                i_CLR=Const(0),
                i_CLRMASK=Const(0),
                i_DIV=Const(0, 3),
                o_O=made[name],
            )
            if hasattr(platform, "add_clock_constraint"):
                platform.add_clock_constraint(made[name], self._line_rate / self._width)
        for number in range(self._count):
            for way, done in (("tx", tx_done), ("rx", rx_done)):
                domain = f"{way}{number}"
                m.d.comb += ClockSignal(domain).eq(made["tx0" if way == "tx" else domain])
                m.submodules[f"{domain}_reset"] = ResetSynchronizer(~done, domain=domain)


def _loopback(setting):
    """Port LOOPBACK for a ``Loopback``."""
    near, far = setting == Loopback.NEAR_END, setting == Loopback.FAR_END
    return Mux(near, Const(_NEAR_END_PMA, 3), Mux(far, Const(_FAR_END_PMA, 3), Const(_NO_LOOPBACK, 3)))
