"""What of the hardware of a pod the engine inside of its model sees and drives, and the module that calls it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["MODULE", "Engine", "EngineSignature", "Place", "Ports", "devices_of", "engine_ports", "module_text"]

MODULE = "ualink_engine"
WORD = 32
INTERFACES = ("upli_completer", "upli_originator")
_OF_STATION = ("rs", "slot")
_READY = ("tx", "ready")
"""The bench drives it, whoever takes the beats."""


class EngineSignature(wiring.Signature):
    """Between an engine and the bench.

    Members
    -------
    go : the engine moves on each falling edge of the clock, and drives UPLI and RS in place of the ports; when it falls
        nothing comes over the links any more, and what was found is written.
    traffic : it may issue requests.
    cycle : 64 bit, falling edges so far.
    done : 32 bit, requests that have ended.
    wake : changes now and then, and when nothing is left to do.
    failed : a rule of UPLI was broken; the engine stands still.
    """

    def __init__(self):
        super().__init__(
            {"go": In(1), "traffic": In(1), "cycle": Out(64), "done": Out(32), "wake": Out(1), "failed": Out(1)}
        )


@dataclass(frozen=True)
class Place:
    """``width`` bits from word ``at`` on, of those that are driven into the hardware or of those that it shows."""

    at: int
    width: int
    driven: bool

    @property
    def words(self) -> int:
        """Words that it has for itself."""
        return -(-self.width // WORD)


class Ports:
    """Places of the UPLI interfaces of accelerators and of the RS of all stations, each signal in words of its own.

    Attributes
    ----------
    places : by the path of the signal from the pod, joined by ``__``.
    shown, driven : words of both kinds in all.
    """

    def __init__(self, devices: wiring.Signature):
        self._devices = devices
        self.places: dict[str, Place] = {}
        self.shown = self.driven = 0
        for name, member, value in self._signals(devices.create()):
            driven = member.flow == In
            place = self.places[name] = Place(self.driven if driven else self.shown, len(value), driven)
            if driven:
                self.driven += place.words
            else:
                self.shown += place.words

    def shown_of(self, pod: Any) -> Value:
        """All that the devices of ``pod`` show."""
        parts = []
        for name, _, value in self._signals(pod):
            place = self.places[name]
            if not place.driven:
                parts += [value, Const(0, WORD * place.words - place.width)]
        return Cat(*parts)

    def drive(self, pod: Any, words: Value) -> list:
        """Statements that give the devices of ``pod`` what is in ``words`` for them."""
        driven = [(value, self.places[name]) for name, _, value in self._signals(pod) if self.places[name].driven]
        return [value.eq(words[WORD * place.at : WORD * place.at + place.width]) for value, place in driven]

    def engine(self, outside: Any) -> "Engine":
        """The engine for them, whose ``EngineSignature`` is ``outside``."""
        return Engine(self, outside)

    def _signals(self, pod: Any) -> Iterator[tuple[str, wiring.Member, Value]]:
        for path, member, value in self._devices.flatten(pod):
            names = path[2:] if path[0] == "acc" else path[1:]
            if names[0] in (*INTERFACES, *_OF_STATION) and path[-2:] != _READY:
                yield "__".join(map(str, path)), member, Value.cast(value)


class Engine(wiring.Component):
    """An instance of ``MODULE``.

    Members
    -------
    shown : what the hardware shows, ``ports.shown`` words of 32 bit.
    driven : what is driven into it, ``ports.driven`` words; reset value 0, changes on falling edges.
    """

    def __init__(self, ports: Ports, outside: Any):
        self._outside = outside
        super().__init__({"shown": In(WORD * ports.shown), "driven": Out(WORD * ports.driven)})

    def elaborate(self, platform):
        m = Module()
        members = EngineSignature().members.items()
        told = {("i_" if member.flow == In else "o_") + name: getattr(self._outside, name) for name, member in members}
        m.submodules.instance = Instance(MODULE, i_clk=ClockSignal(), i_shown=self.shown, o_driven=self.driven, **told)
        return m


def devices_of(controller: wiring.Signature, accelerators: int, switch: wiring.Signature) -> wiring.Signature:
    """The signature of a pod but for its engine: ``accelerators`` of one ``controller`` each, and a ``switch``."""
    return wiring.Signature({"acc": Out(controller).array(accelerators), "sw": Out(switch)})


def engine_ports(devices: wiring.Signature) -> Ports | None:
    """What an engine sees and drives; None where there is no RS below the stations, ports are chosen, or UPLI has a
    clock of its own."""
    members = devices.members["acc"].signature.members
    return None if "rs" not in members or "used" in members or "rs_slot" in members else Ports(devices)


def module_text(ports: Ports) -> str:
    """``MODULE`` for ``ports``, in SystemVerilog."""
    return f"""module {MODULE}(
  input clk,
  input go,
  input traffic,
  input [{WORD * ports.shown - 1}:0] shown,
  output reg [{WORD * ports.driven - 1}:0] driven,
  output reg [63:0] cycle,
  output reg [31:0] done,
  output reg wake,
  output reg failed
);
  import "DPI-C" function void {MODULE}_tick(
    input bit traffic,
    input bit [{WORD * ports.shown - 1}:0] shown,
    output bit [{WORD * ports.driven - 1}:0] driven,
    output bit [63:0] cycle,
    output bit [31:0] done,
    output bit wake,
    output bit failed
  );
  import "DPI-C" function void {MODULE}_end(inout bit [{WORD * ports.driven - 1}:0] driven);

  initial begin
    driven = 0;
    cycle = 0;
    done = 0;
    wake = 0;
    failed = 0;
  end
  always @(negedge clk, negedge go)
    if (go) {MODULE}_tick(traffic, shown, driven, cycle, done, wake, failed);
    else {MODULE}_end(driven);
endmodule
"""
