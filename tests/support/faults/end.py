"""An end of the link of a fault campaign: a side whose devices and memory write down what may not be."""

from collections import Counter

from support.controller_pair_side import PORTS, Side
from support.controller_pair_top import TAGS
from support.faults.settlement import ended
from support.stream_device import WHOLE, Ask, StreamDevice
from ualink_sim.bfm.upli.rules import ProtocolError
from ualink_sim.model.upli.transactions import ReqCmd, Status

__all__ = ["SLOT", "WATCHDOG", "End"]


WATCHDOG = 2_000 * PORTS
"""Cycles; Requests are answered in less, a replay included, and a link that brings nothing is down before."""
SLOT = 10 * PORTS
"""Cycles of a flit slot of a port."""


class WaryDevice(StreamDevice):
    """Writes down Responses that it did not ask for, where a ``StreamDevice`` stops."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.wrong: list[str] = []

    def _take(self, channel, word):
        try:
            super()._take(channel, word)
        except AssertionError as error:
            self.wrong.append(f"on {channel}: {error or 'a Response that does not fit its Request'}")


class End(Side):
    """A side, its Requests since reset, and what its partner's memory has got of them.

    Attributes
    ----------
    asked : all Requests, by port.
    readable : those Writes that are known to be done, by port.
    held : in reset, so that nothing is to move.
    broken : what the Completer's model found wrong, if anything; it does nothing more then.
    """

    device_type = WaryDevice
    partner: "End"

    def __init__(self, dut, number):
        super().__init__(dut, number)
        self.reset = getattr(dut, f"{self.name}_reset")
        self.readable: list[list[Ask]] = [[] for _ in range(PORTS)]
        self._addresses: set[int] = set()
        self._expected: dict[Ask, bytes] = {}
        self.held = False
        self.restart()

    def restart(self) -> None:
        """All of this end starts anew, as its hardware does: nobody waits for anything any more."""
        self.asked: list[list[Ask]] = [[] for _ in range(PORTS)]
        self.devices = [
            WaryDevice(
                self.dut,
                f"{self.name}_device__{port}",
                self.dut.clk,
                src=self.number + 1,
                dst=2 - self.number,
                tags=TAGS,
            )
            for port in range(PORTS)
        ]
        self.completer.reset()
        self.came.clear()
        self.broken = ""
        self._broken: set[str] = set()

    def tick(self) -> None:
        """One cycle of the accelerator's Completer."""
        if not self.broken:
            try:
                self.completer.tick()
            except (ProtocolError, ValueError, KeyError, AssertionError) as error:
                self.broken = f"{type(error).__name__}: {error}"

    def keep_asking(self, least: int, ports=range(PORTS)) -> None:
        """See that some Writes and Reads wait at each port."""
        for port in ports:
            device = self.devices[port]
            while device.waiting < least:
                self.write(port)
                if self.readable[port]:
                    self.read(port)

    def write(self, port: int) -> Ask:
        (ask,) = self.ask(port, 1)
        self._addresses.add(ask.addr)
        self.asked[port].append(ask)
        return ask

    def read(self, port: int) -> Ask:
        """Read what is known to be written, the places in turn."""
        known = self.readable[port]
        known.append(known.pop(0))
        ask = self.devices[port].ask(known[-1].addr)
        self._expected[ask] = known[-1].data
        self.asked[port].append(ask)
        return ask

    def newly_broken(self) -> set[str]:
        """Rules of UPLI that the checkers have found broken since the last call."""
        requester, responder = self.broken_rules()
        found = {f"requester.{name}" for name in requester} | {f"responder.{name}" for name in responder}
        new, self._broken = found - self._broken, found
        return new

    def settled(self) -> tuple[dict[int, Counter], list[str]]:
        """How Requests have ended that were asked since the last call, by port; and what was wrong with them."""
        ends: dict[int, Counter] = {port: Counter() for port in range(PORTS)}
        wrong = [f"{self.name}: {text}" for device in self.devices for text in device.wrong]
        if self.broken:
            wrong.append(f"{self.name}: before the Completer: {self.broken}")
        delivered = Counter(request["addr"] for request in self.partner.came if request["cmd"] == ReqCmd.WRITE_FULL)
        if unasked := {request["addr"] for request in self.partner.came} - self._addresses:
            wrong.append(f"{self.name}: nobody asked for {sorted(map(hex, unasked))}")
        for port, asks in enumerate(self.asked):
            for ask in asks:
                stands = b"" if ask.data is None else self.partner.memory.memory.read(ask.addr, WHOLE)
                expected = self._expected.pop(ask, None)
                words, mistakes = ended(ask, expected=expected, times=delivered[ask.addr], stands=stands)
                ends[port].update(words)
                wrong += [f"{self.name}: {ask.addr:#x} {text}" for text in mistakes]
                if ask.data is not None and ask.status == Status.OKAY:
                    self.readable[port].append(ask)
            self.asked[port] = []
        for device in self.devices:
            device.wrong.clear()
        self.partner.came.clear()
        return ends, wrong
