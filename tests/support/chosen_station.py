"""A station of which it is chosen how many ports it uses, beside one that is built for so many."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from support.lib.beside import Beside
from support.station_wire import LoopedStation
from ualink.bifurcation import QUIET_CYCLES
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.lib.queue import Queue
from ualink.station import CHANNELS, CHOICE_MEMBERS, PORT_MEMBERS, Station
from ualink.upli.channels import CODED_LAYOUTS, beat_stream

__all__ = ["ChosenLooped"]

LATE = ("dl_status", "tl_status", "rs_status")
"""What one port alone shows at once, and one of several in the cycle after its own."""


class _TwoPlaces(wiring.Component):
    """A queue for two beats of one port, with the members of a ``Turn``."""

    def __init__(self, channel):
        self._channel = channel
        beats = beat_stream(channel, coded=True)
        super().__init__({"slot": In(2), "offered": In(beats).array(1), "beats": Out(beats)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(CODED_LAYOUTS[self._channel], 2)
        wiring.connect(m, wiring.flipped(self.offered[0]), queue.input)
        wiring.connect(m, queue.output, wiring.flipped(self.beats))
        return m


class ChosenLooped(LoopedStation):
    """A ``LoopedStation`` of ``ports`` ports and, beside its station, one of four that gets the same and is told to use
    so many."""

    def __init__(self, config, ports):
        super().__init__(config.replace(ports=ports))
        if ports == 1:
            # One port alone of four is as far from the TL as the others are: so is this one.
            self.station._turns = {channel: _TwoPlaces(channel) for channel in CHANNELS}
        self.chosen = Station(config.replace(ports=4, choosable_ports=True))
        self._number = ports
        self.clear, self.wanted = Signal(), Signal(2, init=ports >> 1)

    def elaborate(self, platform):
        inside = super().elaborate(platform)
        number, chosen = self._number, self.chosen
        m = Module()
        m.submodules.looped = ResetInserter(self.clear)(inside)
        m.submodules.chosen = chosen
        self.beside = Beside(
            m,
            chosen,
            self.station,
            number,
            tell=False,
            unless=self._unless(),
            late=lambda path: number == 1 and path[0] in LATE,
            alone=lambda path: path[0] in CHOICE_MEMBERS or (path[0] in PORT_MEMBERS and path[1] >= number),
        )
        m.d.comb += [self.clear.eq(chosen.restart), chosen.bifurcation.wanted.eq(self.wanted)]
        return m

    def _unless(self):
        """Without a beat a channel shows any, out of registers that no reset reaches."""
        unless = {("rs", "tx", "payload"): ("rs", "tx", "valid")}
        for path, _, _ in self.station.signature.flatten(self.station):
            if path[0] in ("upli_completer", "upli_originator") and len(path) == 3 and "vld" not in path[2]:
                unless[path] = (*path[:2], "vld")
        return unless

    async def use(self, ctx, ports):
        """The one of four is to use ``ports`` from now on, and both begin together."""
        ctx.set(self.wanted, ports >> 1)
        for _ in range(QUIET_CYCLES + RESTART_CYCLES + 8):
            if ctx.get(self.chosen.used) == ports and not ctx.get(self.chosen.restart):
                # What is late is the same a cycle later.
                await ctx.tick()
                return
            await ctx.tick()
        raise AssertionError(f"not {ports} ports")
