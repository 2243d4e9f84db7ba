"""When the reconciliation sublayer sends control flits of its own accord (UALink_200 §7.2.7, §7.3.5)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import PhyConfig
from ualink.phy.port_rate import PortRate

__all__ = ["SlotSchedule"]


class SlotSchedule(wiring.Component):
    """Counts flit slots from one alignment marker to the next, whatever is sent in them.

    Parameters
    ----------
    config : ``rate``, ``marker_interval`` and ``idle_interval`` are used.

    Members
    -------
    slot_end : a slot ends.
    rate : ``PortRate``, that of ``config`` if nothing drives it. A change lets the marker come that many slots after
        the last one as the new rate asks for; if these have passed, in the place of the next Idle flit.
    control : 1 bit, reset value 1: no DL flit may go in this slot, because of a marker or to match rates.
    marker : 1 bit, reset value 1: this slot is to carry an alignment marker; ``control`` is high as well.
    """

    def __init__(self, config: PhyConfig):
        self._interval = config.control_interval
        self._intervals = {rate: config.slots_at(rate.gbps) // config.control_interval for rate in PortRate}
        super().__init__(
            {
                "slot_end": In(1),
                "rate": In(PortRate, init=PortRate.of(config.rate)),
                "control": Out(1, init=1),
                "marker": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        slot = Signal(range(self._interval))
        interval = Signal(range(max(self._intervals.values())))
        last = slot == self._interval - 1
        period_over = Signal()
        with m.Switch(self.rate):
            for rate, intervals in self._intervals.items():
                with m.Case(rate):
                    m.d.comb += period_over.eq(interval >= intervals - 1)
        with m.If(self.slot_end):
            m.d.sync += [
                slot.eq(slot + 1),
                self.control.eq(last),
                self.marker.eq(last & period_over),
            ]
            with m.If(last):
                m.d.sync += [slot.eq(0), interval.eq(interval + 1)]
                with m.If(period_over):
                    m.d.sync += interval.eq(0)
        return m
