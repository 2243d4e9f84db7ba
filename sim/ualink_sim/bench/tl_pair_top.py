"""Two transaction layers that talk to each other, with traffic, checks and counters in hardware."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import TLConfig
from ualink.tl.control import TLControlSignature
from ualink.tl.layer import TransactionLayer

from .link_wire import LONGEST_WIRE
from .tl_pair_meter import COUNTS, Meter
from .tl_pair_requests import PatternSignature
from .tl_pair_responder import Responder
from .tl_pair_source import MOST_OUTSTANDING, TrafficSource

__all__ = ["EVENTS", "PairTop"]

EVENTS = ("req_taken", "rd_rsp_taken", "wr_rsp_taken", "fields", "ends", "req_given", "rd_rsp_given", "wr_rsp_given")
"""In this cycle: a Request, the first beat of a Read Response, a Write Response enters the transaction layer; a flit
with a Request or Response, one with the last of the data of one, is offered by it; the beats leave it."""


class EndSignature(wiring.Signature):
    """One end, seen from whoever runs the bench.

    Members
    -------
    limit : as of ``TrafficSource``.
    stall : no flit is taken from the transmitter.
    online, credits_ready : the link is up; both initial credit releases are complete.
    mismatches, errors : beats that came wrong; how many of transaction layer and meter found an error.
    done, cycles … credits : as of ``Meter``; the others are ``EVENTS``.
    """

    def __init__(self):
        super().__init__(
            {
                "limit": Out(range(MOST_OUTSTANDING + 1)),
                "stall": Out(1),
                "online": In(1),
                "credits_ready": In(1),
                "mismatches": In(16),
                "errors": In(2),
                "done": In(1),
                **{name: In(24) for name in COUNTS},
                **{name: In(1) for name in EVENTS},
            }
        )


class PairTop(wiring.Component):
    """An accelerator and a switch, as far as their transaction layers, linked by ``medium``.

    Members
    -------
    pattern : what both ends request; control : of both transaction layers.
    latency : of the medium.
    window, start : as of ``Meter``, one behind each transmitter.
    ends : the two ends.
    """

    def __init__(self, config: TLConfig, medium: wiring.Component):
        self._config = config
        self._medium = medium
        super().__init__(
            {
                "pattern": In(PatternSignature()),
                "control": In(TLControlSignature()),
                "latency": In(range(LONGEST_WIRE + 1)),
                "window": In(24),
                "start": In(1),
                "ends": In(EndSignature()).array(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.medium = medium = self._medium
        m.d.comb += medium.latency.eq(self.latency)
        for number, (device, end) in enumerate(zip(("accelerator", "switch"), self.ends)):
            layer = TransactionLayer(self._config.replace(device=device))
            m.submodules[f"layer_{number}"] = layer
            m.submodules[f"source_{number}"] = source = TrafficSource(number)
            m.submodules[f"responder_{number}"] = responder = Responder(1 - number)
            m.submodules[f"meter_{number}"] = meter = Meter(self._config)
            connect(m, flipped(self.control), layer.control)
            connect(m, medium.rx[number], layer.rx_flit)
            for part, sent, received in (
                (source, ("req", "orig_data"), ("rd_rsp", "wr_rsp")),
                (responder, ("rd_rsp", "wr_rsp"), ("req", "orig_data")),
            ):
                connect(m, flipped(self.pattern), part.pattern)
                for name in sent:
                    connect(m, getattr(part, name), getattr(layer, f"tx_{name}"))
                for name in received:
                    connect(m, getattr(layer, f"rx_{name}"), getattr(part, name))
            into = medium.tx[number]
            m.d.comb += [
                layer.online.eq(medium.online[number]),
                source.limit.eq(end.limit),
                into.p.eq(layer.tx_flit.p),
                into.valid.eq(layer.tx_flit.valid & ~end.stall),
                layer.tx_flit.ready.eq(into.ready & ~end.stall),
                meter.flit.eq(layer.tx_flit.p),
                meter.passes.eq(into.valid & into.ready),
                meter.authentication.eq(self.control.authentication),
                meter.window.eq(self.window),
                meter.start.eq(self.start),
            ]
            self._report(m, end, layer, source, responder, meter)
        return m

    @staticmethod
    def _report(m, end, layer, source, responder, meter):
        first_read = layer.rx_rd_rsp.p.offset == 0
        m.d.comb += [
            end.online.eq(layer.online),
            end.credits_ready.eq(layer.status.credits_ready),
            end.mismatches.eq(source.mismatches + responder.mismatches),
            end.errors.eq(layer.error + meter.broken),
            end.done.eq(meter.done),
            end.fields.eq(meter.fields),
            end.ends.eq(meter.ends),
            end.req_taken.eq(layer.tx_req.valid & layer.tx_req.ready),
            end.rd_rsp_taken.eq(layer.tx_rd_rsp.valid & layer.tx_rd_rsp.ready & (layer.tx_rd_rsp.p.offset == 0)),
            end.wr_rsp_taken.eq(layer.tx_wr_rsp.valid & layer.tx_wr_rsp.ready),
            end.req_given.eq(layer.rx_req.valid),
            end.rd_rsp_given.eq(layer.rx_rd_rsp.valid & first_read),
            end.wr_rsp_given.eq(layer.rx_wr_rsp.valid),
        ]
        m.d.comb += [getattr(end, name).eq(getattr(meter, name)) for name in COUNTS]
