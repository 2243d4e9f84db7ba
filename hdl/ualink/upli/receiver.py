"""The receiving side of one channel (UALink_200 §2.6, §3.1.2)."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits
from ualink.lib.queue import Queue
from ualink.upli.calendar import check_ports
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream
from ualink.upli.credits import ReceiverCredits
from ualink.upli.parity import control_mismatch, data_mismatch
from ualink.upli.sender import CHANNEL_SIGNATURES, POISON

__all__ = ["Receiver"]


class Receiver(wiring.Component):
    """Takes every beat of one channel into the queue of its port; popping it there returns its credit.

    A beat on the interface in cycle t is offered on ``beats`` in cycle t + 1 when the queue was empty. PortID alone
    says whose a beat is. A beat whose data or byte enables have wrong parity is poisoned and kept; parity is
    generated anew by the next sender (UALink_200 §3.1.4.1). A beat with wrong control parity is kept as it is and
    reported. A beat that nobody may have sent (before CreditInitDone of its port, for a port that does not exist,
    beyond the credits) is not kept.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    credits : buffers per port.
    ports : 1, 2 or 4.

    Attributes
    ----------
    upli : the channel.
    open : 1 bit, credits may be sent; ``listen``: the other direction is open, so that parity is checked.
    beats : the received beats of each port, in order.
    data_error, control_error, protocol_error : 1 bit each, of this cycle's beat.
    """

    def __init__(self, channel: str, credits: Credits, ports: int):
        self.channel = channel
        self.credits = credits
        self.ports = check_ports("receiver", ports)
        super().__init__(
            {
                "upli": In(CHANNEL_SIGNATURES[channel]()),
                "open": In(1),
                "listen": In(1),
                "beats": Out(beat_stream(channel)).array(ports),
                "data_error": Out(1),
                "control_error": Out(1),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        upli = self.upli
        m.submodules.credits = credits = ReceiverCredits(self.credits, self.ports)
        wiring.connect(m, credits.credit, wiring.flipped(upli.credit))
        vld = self.listen & upli.vld
        m.d.comb += [
            credits.open.eq(self.open),
            self.control_error.eq(self.listen & control_mismatch(self.channel, upli)),
            self.data_error.eq(vld & data_mismatch(self.channel, upli)),
            self.protocol_error.eq(vld),
        ]
        layout = CHANNEL_LAYOUTS[self.channel]
        stored = data.StructLayout({"beat": layout, "pool": 1})
        for port in range(self.ports):
            queue = Queue(stored, self.credits.total)
            m.submodules[f"queue_{port}"] = queue
            incoming, outgoing = queue.input.payload, queue.output.payload
            m.d.comb += [incoming.beat[name].eq(getattr(upli, name)) for name, _ in layout]
            if self.channel in POISON:
                poison = POISON[self.channel]
                m.d.comb += incoming.beat[poison].eq(getattr(upli, poison) | self.data_error)
            m.d.comb += [
                incoming.pool.eq(upli.pool),
                self.beats[port].valid.eq(queue.output.valid),
                self.beats[port].payload.eq(outgoing.beat),
                queue.output.ready.eq(self.beats[port].ready),
                credits.pop[port].eq(queue.output.valid & queue.output.ready),
                credits.pop_pool[port].eq(outgoing.pool),
                credits.pop_vc[port].eq(outgoing.beat.vc),
            ]
            # Here a Drop Mode closes the channel: what it drops is not stored.
            with m.If((upli.port_id == port) & upli.credit.init_done[port]):
                m.d.comb += [
                    queue.input.valid.eq(vld),
                    self.protocol_error.eq(vld & ~queue.input.ready),
                ]
        return m
