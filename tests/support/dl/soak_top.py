"""Data links in pairs with traffic, lossy wires and checkers, all in hardware: a simulator runs it at its own speed."""

from amaranth.hdl import EnableInserter, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from support.dl.soak_channel import DamageSignature, LossyWire
from support.dl.soak_traffic import RATE_BITS, FlitSink, FlitSource
from ualink.config import DLConfig
from ualink.dl.layer import DataLink
from ualink.lib.interleave import Interleaver

__all__ = ["DIRECTIONS", "SHOWN", "SoakTop"]

DIRECTIONS = 2
SETTINGS = ("enable", "rx_replay_limit", "codeword_group", "tx_ack_time_out")
SHOWN = ("online", "held", "crc_errors", "lost_flits", "replays_accepted", "protocol_errors", "link_downs")
"""Members of ``DLStatusSignature`` that are ports of the bench."""


class FlowSignature(wiring.Signature):
    """One direction of one port: what its source, its wire and its sink counted, and the status of its transmitter."""

    def __init__(self, status: wiring.Signature):
        counts = ("sent", "delivered", "mismatches", "longest_wait", "flits", "damaged")
        super().__init__(
            {
                **{name: Out(32) for name in counts},
                **{name: Out(status.members[name].shape) for name in SHOWN},
            }
        )


class SoakTop(wiring.Component):
    """``ports`` links between two data links that the ports share slot by slot, as in a station.

    Members
    -------
    damage, rate : of both directions of all ports; ``rate``: of TL flits, chance of 2**16 for one after the other.
    rx_replay_limit, tx_ack_time_out, enable : as of ``DLConfigSignature``.
    flows : by port and direction.
    """

    def __init__(self, ports: int = 1, config: DLConfig | None = None):
        self._ports = ports
        config = config or DLConfig(replay_depth=128)
        self._ends = [DataLink(config) for _ in range(DIRECTIONS)]
        super().__init__(
            {
                "damage": In(DamageSignature()),
                "rate": In(RATE_BITS, init=0xFFFF),
                "enable": In(1),
                "rx_replay_limit": In(8, init=100),
                "tx_ack_time_out": In(24, init=40_000),
                "flows": Out(FlowSignature(self._ends[0].status.signature)).array(ports, DIRECTIONS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        slot = Signal(2)
        if self._ports > 1:
            m.d.sync += slot.eq(Mux(slot == self._ports - 1, 0, slot + 1))
        for name, end in zip("ab", self._ends):
            m.submodules[f"link_{name}"] = Interleaver(self._ports, slot)(end)
            m.d.comb += [
                end.config.enable.eq(self.enable),
                end.config.rx_replay_limit.eq(self.rx_replay_limit),
                end.config.codeword_group.eq(self.damage.codeword_group),
                end.config.tx_ack_time_out.eq(self.tx_ack_time_out),
            ]
        for port in range(self._ports):
            with m.Switch(slot), m.Case(port):
                for direction, (near, far) in enumerate((self._ends, self._ends[::-1])):
                    self._flow(m, slot == port, port, direction, near, far)
        return m

    def _flow(self, m, here, port, direction, near, far):
        """Traffic, wire and checker of one port from link ``near`` to link ``far``; ``here`` is its slot."""
        salt = 0x1000_0000 * (2 * port + direction) + 0x1234_567
        source, sink, wire = FlitSource(salt), FlitSink(salt), LossyWire(salt)
        for name, component in (("source", source), ("sink", sink), ("wire", wire)):
            inserted = component if self._ports == 1 else EnableInserter(here)(component)
            m.submodules[f"{name}_{port}_{direction}"] = inserted
        connect(m, flipped(self.damage), wire.damage)
        m.d.comb += [
            source.seed.eq(self.damage.seed),
            source.rate.eq(self.rate),
            near.tx_flit.valid.eq(source.flit.valid),
            near.tx_flit.p.eq(source.flit.p),
            source.flit.ready.eq(near.tx_flit.ready),
            sink.flit.valid.eq(far.rx_flit.valid),
            sink.flit.p.eq(far.rx_flit.p),
            sink.pending.eq((source.sent != sink.delivered) | source.flit.valid),
            wire.tx.valid.eq(near.tx.valid),
            wire.tx.p.eq(near.tx.p),
            near.tx.ready.eq(wire.tx.ready),
            far.rx.valid.eq(wire.rx.valid),
            far.rx.p.eq(wire.rx.p),
        ]
        flow = self.flows[port][direction]
        shown = [(source, ("sent",)), (sink, ("delivered", "mismatches", "longest_wait")), (wire, ("flits", "damaged"))]
        for block, names in (*shown, (near.status, SHOWN)):
            for name in names:
                m.d.sync += getattr(flow, name).eq(getattr(block, name))
