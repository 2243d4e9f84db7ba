"""A UPLI interface of Python wires between an Originator's and a Completer's bus model, with a hand in between."""

from collections import defaultdict

from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.channel import FIELDS, PARITY, parity_of
from ualink_sim.bfm.upli.completer import UPLICompleter
from ualink_sim.bfm.upli.memory_handler import MemoryHandler
from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.options import CompleterOptions, OriginatorOptions
from ualink_sim.bfm.upli.originator import UPLIOriginator


class Wire:
    """Like a cocotb handle: what is written is seen after ``settle``; ``forced`` hides it for one cycle."""

    def __init__(self):
        self._now = self._next = 0
        self.forced = None

    @property
    def value(self):
        return self._now if self.forced is None else self.forced

    @value.setter
    def value(self, value):
        self._next = value

    def settle(self):
        self._now, self.forced = self._next, None


class Wires:
    """Every signal of the interface ``upli`` by name, and hands to spoil what is on them in this cycle."""

    def __init__(self):
        self._wires = defaultdict(Wire)

    def __getattr__(self, name):
        return self._wires[name]

    def settle(self):
        for wire in self._wires.values():
            wire.settle()

    def wire(self, path):
        """The wire at ``path``, for example ``"req.credit.vld"``."""
        return self._wires["upli__" + path.replace(".", "__")]

    def get(self, path):
        return self.wire(path).value

    def force(self, path, value):
        self.wire(path).forced = value

    def flip(self, path, mask=1):
        self.force(path, self.get(path) ^ mask)

    def beat(self, channel):
        """The beat on ``channel`` in this cycle, or None."""
        return {name: self.get(f"{channel}.{name}") for name in FIELDS[channel]} if self.get(f"{channel}.vld") else None

    def put(self, channel, beat):
        """Have ``beat`` with good parity on ``channel`` in this cycle."""
        for name, value in {**beat, **parity_of(channel, beat), "vld": 1, "vld_parity": 1}.items():
            self.force(f"{channel}.{name}", value)

    def change(self, channel, **fields):
        self.put(channel, {**self.beat(channel), **fields})

    def drop(self, channel):
        """Take the beat of this cycle away."""
        for name in ("vld", "vld_parity", *(["auth_tag"] if "tag" in self.beat(channel) else [])):
            self.force(f"{channel}.{name}", 0)

    def give(self, channel, port, pool, vc, count):
        """Return credits with good parity in this cycle, and no others."""
        values = {"vld": 1 << port, "vld_parity": 1, "pool": pool << port}
        for n in range(4):
            values[f"port_vc.{n}"], values[f"port_num.{n}"] = (vc, count - 1) if n == port else (0, 0)
        ones = sum(value.bit_count() for name, value in values.items() if not name.startswith("vld"))
        for name, value in {**values, "parity": ones & 1}.items():
            self.force(f"{channel}.credit.{name}", value)


def parities(channel):
    """Names of the parity signals over the beats of ``channel``."""
    return [*PARITY[channel], *(["data_parity"] if channel in ("orig_data", "rd_rsp") else [])]


class FakeInterface:
    """Both bus models on one interface, and a monitor when ``watched``; ``step`` is one cycle.

    ``hand(wires, cycle)`` is called once what was driven has settled, before anybody sees it.
    """

    def __init__(self, *, ports=1, watched=True, handler=None, hand=None, originator=(), completer=()):
        self.wires = Wires()
        self.handler = handler or MemoryHandler()
        bus = UPLIBus.from_prefix(self.wires, "upli")
        self.originator = UPLIOriginator(bus, OriginatorOptions(ports=ports, **dict(originator)))
        self.completer = UPLICompleter(bus, self.handler, CompleterOptions(ports=ports, **dict(completer)))
        self.monitor = UPLIMonitor(bus, ports=ports) if watched else None
        self.hand = hand or (lambda wires, cycle: None)
        self.completed = []
        self.cycle = 0
        self.wires.settle()

    def step(self):
        """A cycle: look at the wires as they are, then let both models see them and drive the next."""
        self.cycle += 1
        self.hand(self.wires, self.cycle)
        if self.monitor is not None:
            self.monitor.tick()
        self.completed += self.originator.tick()
        self.completer.tick()
        self.wires.settle()

    def run(self, limit=3000):
        """Step until everything submitted has completed and its credits are back."""
        for _ in range(limit):
            self.step()
            if self.originator.idle and self.completer.idle:
                break
        assert self.originator.idle, "not everything completed"
        for _ in range(20):
            self.step()
