"""What stands before a station: UPLI agents, and at each port traffic with its checks."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import UPLIConfig
from ualink.lib.ports_used import FOUR_USED
from ualink.upli.channels import CHANNEL_LAYOUTS, UPLISignature
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

from .tl_pair_requests import PatternSignature
from .tl_pair_responder import Responder
from .tl_pair_source import MOST_OUTSTANDING, TrafficSource

__all__ = ["PORTS", "StationDevice"]

PORTS = 4


class StationDevice(wiring.Component):
    """A device of four ports, of which those are used that its station uses.

    Parameters
    ----------
    number : 0 or 1; it asks the other one.

    Members
    -------
    originator : UPLI to the Completer of the station; ``completer`` : from the Originator of the station.
    slot, used, restart, moves : as of ``Station``: its ``slot``, ``used``, ``restart``, ``upli_moves``.
    pattern : what is requested, of one kind alone.
    limits : as of ``TrafficSource``, of each port.
    beats : 32 bit, beats of data that have come, of Requests and Read Responses, since reset.
    mismatches : 16 bit, sum of those of all ports. ``errors`` : 1 bit, an agent has found one.
    """

    def __init__(self, number: int):
        self._number = number
        super().__init__(
            {
                "originator": Out(UPLISignature()),
                "completer": In(UPLISignature()),
                "slot": In(2),
                "used": In(3, init=FOUR_USED),
                "restart": In(1),
                "moves": Out(1),
                "pattern": In(PatternSignature()),
                "limits": In(range(MOST_OUTSTANDING + 1)).array(PORTS),
                "beats": Out(32),
                "mismatches": Out(16),
                "errors": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        originator = Originator(UPLIConfig(), PORTS, choosable=True)
        completer = Completer(UPLIConfig(), PORTS, choosable=True)
        agents = originator, completer
        for name, agent in zip(("originator", "completer"), agents):
            m.submodules[name] = ResetInserter(self.restart)(agent)
            m.d.comb += [agent.slot.eq(self.slot), agent.used.eq(self.used)]
        connect(m, originator.upli, flipped(self.originator))
        connect(m, flipped(self.completer), completer.upli)
        wrong = [self._port(m, port, originator, completer) for port in range(PORTS)]
        offers = [
            getattr(agent, channel)[port].valid for agent in agents for channel in agent.sends for port in range(PORTS)
        ]
        came = Cat(
            stream.valid & stream.ready for streams in (completer.orig_data, originator.rd_rsp) for stream in streams
        )
        m.d.sync += self.beats.eq(self.beats + sum(came))
        found = Cat(getattr(agent, f"{kind}_error") for agent in agents for kind in ("data", "control", "protocol"))
        m.d.comb += [
            self.moves.eq(Cat(offers, (agent.moves for agent in agents)).any()),
            self.mismatches.eq(sum(wrong)),
            self.errors.eq(found.any()),
        ]
        return m

    def _port(self, m, port, originator, completer):
        """Source and responder of ``port``; how much they have found wrong."""
        m.submodules[f"source_{port}"] = source = TrafficSource(self._number)
        m.submodules[f"responder_{port}"] = responder = Responder(1 - self._number)
        m.d.comb += source.limit.eq(self.limits[port])
        for part, agent in ((source, originator), (responder, completer)):
            connect(m, flipped(self.pattern), part.pattern)
            for channel in CHANNEL_LAYOUTS:
                mine, its = getattr(part, channel), getattr(agent, channel)[port]
                if channel == "orig_data" and part is source:
                    self._number_beats(m, port, mine, its)
                elif channel in agent.sends:
                    connect(m, mine, its)
                else:
                    connect(m, its, mine)
        return source.mismatches + responder.mismatches

    def _number_beats(self, m, port, source, agent):
        """A source leaves to the link which beat of a Request each is; UPLI says so."""
        offset = Signal(2, name=f"offset_{port}")
        last = offset == self.pattern.kinds[0].num_beats
        m.d.comb += [
            agent.valid.eq(source.valid),
            source.ready.eq(agent.ready),
            agent.p.eq(source.p),
            agent.p.offset.eq(offset),
            agent.p.last.eq(last),
        ]
        with m.If(source.valid & source.ready):
            m.d.sync += offset.eq(Mux(last, 0, offset + 1))
