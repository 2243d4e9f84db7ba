"""Data links in pairs with traffic, lossy wires and checkers, all in hardware: a simulator runs it at its own speed."""

from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from dl.soak_channel import DamageSignature, LossyWire
from dl.soak_traffic import RATE_BITS, FlitSink, FlitSource
from ualink.config import DLConfig
from ualink.dl.layer import DataLink

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
    """``ports`` links, each between two ``DataLink`` that advance in the slots of their port only.

    Members
    -------
    damage, rate : of both directions of all ports; ``rate``: of TL flits, chance of 2**16 for one after the other.
    rx_replay_limit, tx_ack_time_out, enable : as of ``DLConfigSignature``.
    flows : by port and direction.
    """

    def __init__(self, ports: int = 1, config: DLConfig | None = None):
        self._ports = ports
        self._config = config or DLConfig(replay_depth=128)
        self._links = [[DataLink(self._config) for _ in range(DIRECTIONS)] for _ in range(ports)]
        status = self._links[0][0].status.signature
        super().__init__(
            {
                "damage": In(DamageSignature()),
                "rate": In(RATE_BITS, init=0xFFFF),
                "enable": In(1),
                "rx_replay_limit": In(8, init=100),
                "tx_ack_time_out": In(24, init=40_000),
                "flows": Out(FlowSignature(status)).array(ports, DIRECTIONS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        slot = Signal(range(max(self._ports, 2)))
        if self._ports > 1:
            m.d.sync += slot.eq(slot + 1)
        for port in range(self._ports):
            here = Signal(name=f"here_{port}")
            m.d.comb += here.eq(slot == port)

            def add(name, component, port=port, here=here):
                m.submodules[f"{name}_{port}"] = component if self._ports == 1 else EnableInserter(here)(component)
                return component

            ends = [add(f"link_{'ab'[n]}", link) for n, link in enumerate(self._links[port])]
            for direction, (near, far) in enumerate((ends, ends[::-1])):
                self._flow(m, add, port, direction, near, far)
        return m

    def _flow(self, m, add, port, direction, near, far):
        """Traffic, wire and checker from link ``near`` to link ``far``."""
        salt = 0x1000_0000 * (2 * port + direction) + 0x1234_567
        source = add(f"source_{direction}", FlitSource(salt))
        sink = add(f"sink_{direction}", FlitSink(salt))
        wire = add(f"wire_{direction}", LossyWire(salt))
        connect(m, source.flit, near.tx_flit)
        connect(m, far.rx_flit, sink.flit)
        connect(m, near.tx, wire.tx)
        connect(m, wire.rx, far.rx)
        connect(m, flipped(self.damage), wire.damage)
        m.d.comb += [
            source.seed.eq(self.damage.seed),
            source.rate.eq(self.rate),
            sink.pending.eq((source.sent != sink.delivered) | source.flit.valid),
            near.config.enable.eq(self.enable),
            near.config.rx_replay_limit.eq(self.rx_replay_limit),
            near.config.codeword_group.eq(self.damage.codeword_group),
            near.config.tx_ack_time_out.eq(self.tx_ack_time_out),
        ]
        flow = self.flows[port][direction]
        m.d.comb += flow.sent.eq(source.sent)
        for block, names in (
            (sink, ("delivered", "mismatches", "longest_wait")),
            (wire, ("flits", "damaged")),
            (near.status, SHOWN),
        ):
            for name in names:
                m.d.comb += getattr(flow, name).eq(getattr(block, name))
