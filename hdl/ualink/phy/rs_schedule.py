"""When the reconciliation sublayer sends control flits of its own accord (UALink_200 §7.2.7, §7.3.5)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import PhyConfig

__all__ = ["SlotSchedule"]


class SlotSchedule(wiring.Component):
    """Counts flit slots from one alignment marker to the next, whatever is sent in them.

    Parameters
    ----------
    config : ``marker_slots`` and ``idle_interval`` are used.

    Members
    -------
    slot_end : a slot ends.
    control : 1 bit, reset value 1: no DL flit may go in this slot, because of a marker or to match rates.
    marker : 1 bit, reset value 1: this slot is to carry an alignment marker; ``control`` is high as well.
    """

    def __init__(self, config: PhyConfig):
        self._interval = config.control_interval
        self._intervals = config.marker_slots // config.control_interval
        super().__init__({"slot_end": In(1), "control": Out(1, init=1), "marker": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        slot = Signal(range(self._interval))
        interval = Signal(range(self._intervals))
        last = slot == self._interval - 1
        with m.If(self.slot_end):
            m.d.sync += [
                slot.eq(slot + 1),
                self.control.eq(last),
                self.marker.eq(last & (interval == self._intervals - 1)),
            ]
            with m.If(last):
                m.d.sync += [slot.eq(0), interval.eq(interval + 1)]
                with m.If(interval == self._intervals - 1):
                    m.d.sync += interval.eq(0)
        return m
