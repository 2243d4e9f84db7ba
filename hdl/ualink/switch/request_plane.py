"""The Request plane of the switch core, with Originator Data."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.deny_log import DenialSignature
from ualink.switch.high_water import HighWater
from ualink.switch.request_egress import RequestEgress
from ualink.switch.request_ingress import RequestIngress
from ualink.switch.request_queue import RequestQueue
from ualink.switch.route_table import LookupSignature
from ualink.switch.transfer import connect_steered
from ualink.upli.channels import beat_stream

__all__ = ["RequestPlane"]


class RequestPlane(wiring.Component):
    """Ingresses, a queue for each pair of ports, egresses: nothing is shared by two pairs but the ports themselves.

    An ingress port whose oldest item finds its queue full waits with all that follow, no other port does (SW-035).

    Parameters
    ----------
    ports : int, ports of the switch.
    req_depth, orig_data_depth : int, Requests and beats in the queue of each pair.

    Attributes
    ----------
    in_req, in_orig_data : one stream for each port; beats of ``in_orig_data`` are taken once their Request was taken.
    out_req, out_orig_data : one stream for each port; 3 cycles from ``in_req`` (with its only beat, if it has one, on
        ``in_orig_data`` in the next cycle at the latest) to ``out_req`` in an idle plane, 1 more for each further beat.
    lookup, denied : one for each ingress port.
    req_high_water, orig_data_high_water : for each ingress port, what the fullest of its queues has held.
    """

    def __init__(self, ports: int, req_depth: int, orig_data_depth: int):
        self.ports = ports
        self.req_depth = req_depth
        self.orig_data_depth = orig_data_depth
        super().__init__(
            {
                "in_req": In(beat_stream("req")).array(ports),
                "in_orig_data": In(beat_stream("orig_data")).array(ports),
                "out_req": Out(beat_stream("req")).array(ports),
                "out_orig_data": Out(beat_stream("orig_data")).array(ports),
                "lookup": Out(LookupSignature(ports)).array(ports),
                "denied": Out(DenialSignature()).array(ports),
                "req_high_water": Out(range(req_depth + 1)).array(ports),
                "orig_data_high_water": Out(range(orig_data_depth + 1)).array(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        egresses = [RequestEgress(self.ports) for _ in range(self.ports)]
        for n, egress in enumerate(egresses):
            m.submodules[f"egress_{n}"] = egress
            wiring.connect(m, egress.req, wiring.flipped(self.out_req[n]))
            wiring.connect(m, egress.orig_data, wiring.flipped(self.out_orig_data[n]))
        for n in range(self.ports):
            m.submodules[f"ingress_{n}"] = ingress = RequestIngress(self.ports)
            wiring.connect(m, wiring.flipped(self.in_req[n]), ingress.req)
            wiring.connect(m, wiring.flipped(self.in_orig_data[n]), ingress.orig_data)
            wiring.connect(m, ingress.lookup, wiring.flipped(self.lookup[n]))
            wiring.connect(m, ingress.denied, wiring.flipped(self.denied[n]))
            m.submodules[f"req_high_water_{n}"] = req_most = HighWater(self.req_depth, self.ports)
            m.submodules[f"orig_data_high_water_{n}"] = data_most = HighWater(self.orig_data_depth, self.ports)
            m.d.comb += [self.req_high_water[n].eq(req_most.most), self.orig_data_high_water[n].eq(data_most.most)]
            for k, egress in enumerate(egresses):
                m.submodules[f"queue_{n}_{k}"] = queue = RequestQueue(self.req_depth, self.orig_data_depth)
                connect_steered(m, ingress.steered_req, k, queue.input_req)
                connect_steered(m, ingress.steered_orig_data, k, queue.input_orig_data)
                m.d.comb += [req_most.levels[k].eq(queue.req_level), data_most.levels[k].eq(queue.orig_data_level)]
                wiring.connect(m, queue.output_req, egress.queues_req[n])
                wiring.connect(m, queue.output_orig_data, egress.queues_orig_data[n])
        return m
