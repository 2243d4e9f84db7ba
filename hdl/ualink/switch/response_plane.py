"""The Read Response or the Write Response plane of the switch core."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.switch.deny_log import DenialSignature
from ualink.switch.high_water import HighWater
from ualink.switch.response_egress import ResponseEgress
from ualink.switch.response_ingress import ResponseIngress
from ualink.switch.route_table import LookupSignature
from ualink.switch.transfer import connect_steered, transfer_layout
from ualink.switch.transfer_queue import TransferQueue
from ualink.upli.channels import beat_stream

__all__ = ["ResponsePlane"]


class ResponsePlane(wiring.Component):
    """Ingresses, a queue for each pair of ports, egresses: nothing is shared by two pairs but the ports themselves.

    An ingress port whose oldest item finds its queue full waits with all that follow, no other port does (SW-035).

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.
    ports : int, ports of the switch.
    depth : int, beats in the queue of each pair.

    Attributes
    ----------
    in_rsp, out_rsp : one stream for each port; 3 cycles from one to the other for a single beat in an idle plane.
    lookup, denied : one for each ingress port.
    high_water : for each ingress port, what the fullest of its queues has held.
    leads : for each egress port, 1 bit: the beat on offer is the first of its transfer.
    """

    def __init__(self, channel: str, ports: int, depth: int):
        self.channel = channel
        self.ports = ports
        self.depth = depth
        super().__init__(
            {
                "in_rsp": In(beat_stream(channel)).array(ports),
                "out_rsp": Out(beat_stream(channel)).array(ports),
                "lookup": Out(LookupSignature(ports)).array(ports),
                "denied": Out(DenialSignature()).array(ports),
                "high_water": Out(range(depth + 1)).array(ports),
                "leads": Out(1).array(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        layout = transfer_layout(self.channel)
        # Every Write Response is a whole transfer by itself.
        kind = Queue if self.channel == "wr_rsp" else TransferQueue
        egresses = [ResponseEgress(self.channel, self.ports) for _ in range(self.ports)]
        for n, egress in enumerate(egresses):
            m.submodules[f"egress_{n}"] = egress
            wiring.connect(m, egress.rsp, wiring.flipped(self.out_rsp[n]))
            m.d.comb += self.leads[n].eq(egress.leads)
        for n in range(self.ports):
            m.submodules[f"ingress_{n}"] = ingress = ResponseIngress(self.channel, self.ports)
            wiring.connect(m, wiring.flipped(self.in_rsp[n]), ingress.rsp)
            wiring.connect(m, ingress.lookup, wiring.flipped(self.lookup[n]))
            wiring.connect(m, ingress.denied, wiring.flipped(self.denied[n]))
            m.submodules[f"high_water_{n}"] = high_water = HighWater(self.depth, self.ports)
            m.d.comb += self.high_water[n].eq(high_water.most)
            for k, egress in enumerate(egresses):
                m.submodules[f"queue_{n}_{k}"] = queue = kind(layout, self.depth)
                connect_steered(m, ingress.steered, k, queue.input)
                m.d.comb += high_water.levels[k].eq(queue.level)
                wiring.connect(m, queue.output, egress.queues[n])
        return m
