"""The whole model: a switch core, delays in the place of links, and an accelerator at each port."""

from collections.abc import Callable

from amaranth.hdl import Array, Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.config import SwitchConfig
from ualink.switch.core import SwitchCore
from ualink.switch.stand_in import StandIn, itself
from ualink.upli.channels import CHANNEL_LAYOUTS

from .accelerator import Accelerator
from .layouts import MOST_LATENCY, OUTCOME, REQUEST, ROW, SLOTS, TIME_BITS
from .requester import NUMBER_BITS

__all__ = ["FLOW", "UPLIPodTop"]

FLOW = tuple(
    f"{plane}_{count}" for plane in ("req", "rd_rsp", "wr_rsp") for count in ("accepted", "denied", "forwarded")
)
"""What of ``FlowSignature`` is shown."""


class UPLIPodTop(wiring.Component):
    """``config.stations`` accelerators around a core whose stations have one port; accelerator n is at port n.

    Parameters
    ----------
    config : SwitchConfig, of stations of one port.
    make_accelerator : what makes each accelerator, or stands for it, of their number.
    stand_in : as of ``SwitchCore``.

    Members
    -------
    now : cycles since reset.
    latency : as of ``Delay``.
    enable, load, spoil_read, spoil_write : a bit for each accelerator.
    load_row : of all ``Requester``; load_requests, loaded, shown, outcomes, retired : of each.
    foreign : sum of all.
    ready, route_station, route_index, route_egress, route_write : routes, of ``SwitchCore``.
    flow_port, flow : the counters ``FLOW`` of a port.
    """

    def __init__(
        self,
        config: SwitchConfig,
        make_accelerator: Callable[[int], wiring.Component] = Accelerator,
        stand_in: StandIn = itself,
    ):
        self._config, self._make, self._stand_in = config, make_accelerator, stand_in
        count = self._count = config.stations
        numbers = data.ArrayLayout(NUMBER_BITS, count)
        super().__init__(
            {
                "now": Out(TIME_BITS),
                "latency": In(range(MOST_LATENCY + 1)),
                "enable": In(count),
                "spoil_read": In(count),
                "spoil_write": In(count),
                "load": In(count),
                "load_row": In(range(SLOTS // ROW)),
                "load_requests": In(data.ArrayLayout(data.ArrayLayout(REQUEST, ROW), count)),
                "loaded": In(numbers),
                "shown": In(numbers),
                "outcomes": Out(data.ArrayLayout(data.ArrayLayout(OUTCOME, ROW), count)),
                "retired": Out(numbers),
                "foreign": Out(NUMBER_BITS),
                "ready": Out(1),
                "route_station": In(range(count)),
                "route_index": In(10),
                "route_egress": In(range(count)),
                "route_write": In(1),
                "flow_port": In(range(count)),
                "flow": Out(data.ArrayLayout(32, len(FLOW))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = SwitchCore(self._config, stand_in=self._stand_in)
        m.d.sync += self.now.eq(self.now + 1)
        m.d.comb += [
            self.ready.eq(core.route.ready),
            core.route_station.eq(self.route_station),
            core.route.index.eq(self.route_index),
            core.route.write.eq(self.route_write),
            core.route.write_data.egress_station.eq(self.route_egress),
        ]
        flows = Array(Cat(getattr(flow, name) for name in FLOW) for flow in core.flow)
        m.d.comb += self.flow.eq(flows[self.flow_port])
        accelerators = [self._accelerator(m, core, n) for n in range(self._count)]
        m.d.comb += self.foreign.eq(sum(accelerator.foreign for accelerator in accelerators))
        return m

    def _accelerator(self, m, core, n):
        """Accelerator ``n`` at its port."""
        m.submodules[f"accelerator_{n}"] = accelerator = self._make(self._count)
        for name in ("now", "latency", "load_row"):
            m.d.comb += getattr(accelerator, name).eq(getattr(self, name))
        for name in ("enable", "load", "spoil_read", "spoil_write", "load_requests", "loaded", "shown"):
            m.d.comb += getattr(accelerator, name).eq(getattr(self, name)[n])
        m.d.comb += [
            accelerator.number.eq(n),
            self.outcomes[n].eq(accelerator.outcomes),
            self.retired[n].eq(accelerator.retired),
        ]
        for channel in CHANNEL_LAYOUTS:
            connect(m, getattr(accelerator, f"to_{channel}"), getattr(core, f"in_{channel}")[n])
            connect(m, getattr(core, f"out_{channel}")[n], getattr(accelerator, f"from_{channel}"))
        return accelerator
