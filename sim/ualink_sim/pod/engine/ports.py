"""What of the hardware of a pod the engine inside of its model sees and drives, and the modules that call it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["MODULE", "Engine", "EngineSignature", "Place", "Ports", "devices_of", "engine_ports", "module_text"]

MODULE = "ualink_engine"
WORD = 32
PART_WORDS = 64
"""So many words go through one module at most. A wider vector Verilator copies whole for each signal that it is put
together of, and Amaranth counts no more than 65,535 bits in a cell."""
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
    """Places of the UPLI interfaces of accelerators and of the RS of all stations, each signal in words of its own, and
    none in two parts.

    Attributes
    ----------
    places : by the path of the signal from the pod, joined by ``__``.
    parts : in so many parts of equal length are both kinds of words.
    shown, driven : words of both kinds in a part, ``most`` at most.
    """

    def __init__(self, devices: wiring.Signature, most: int = PART_WORDS):
        self._devices, self._most = devices, most
        self.places: dict[str, Place] = {}
        ends = {False: 0, True: 0}
        for name, member, value in self._signals(devices.create()):
            driven = member.flow == In
            place = Place(ends[driven], len(value), driven)
            if place.at % most + place.words > most:
                place = replace(place, at=place.at - place.at % most + most)
            self.places[name] = place
            ends[driven] = place.at + place.words
        self.parts = -(-max(ends.values()) // most)
        self.shown, self.driven = (min(ends[driven], most) for driven in (False, True))

    def shown_of(self, pod: Any) -> list[Value]:
        """All that the devices of ``pod`` show, by part."""
        parts: list[list[Value]] = [[] for _ in range(self.parts)]
        for name, _, value in self._signals(pod):
            place = self.places[name]
            if not place.driven:
                parts[place.at // self._most] += [value, Const(0, WORD * place.words - place.width)]
        return [Cat(*values) for values in parts]

    def drive(self, pod: Any, parts: Sequence[Value]) -> list:
        """Statements that give the devices of ``pod`` what is in the words of ``parts`` for them."""
        statements = []
        for name, _, value in self._signals(pod):
            place = self.places[name]
            if place.driven:
                part, first = divmod(place.at, self._most)
                statements.append(value.eq(parts[part][WORD * first : WORD * first + place.width]))
        return statements

    def engine(self, outside: Any) -> "Engine":
        """The engine for them, whose ``EngineSignature`` is ``outside``."""
        return Engine(self, outside)

    def _signals(self, pod: Any) -> Iterator[tuple[str, wiring.Member, Value]]:
        for path, member, value in self._devices.flatten(pod):
            names = path[2:] if path[0] == "acc" else path[1:]
            if names[0] in (*INTERFACES, *_OF_STATION) and path[-2:] != _READY:
                yield "__".join(map(str, path)), member, Value.cast(value)


class Engine(wiring.Component):
    """An instance of ``MODULE``, and one of the module of its parts for each of them.

    Members
    -------
    shown : what the hardware shows, ``ports.shown`` words of 32 bit of each part.
    driven : what is driven into it, ``ports.driven`` words of each part; reset value 0, changes on falling edges.
    """

    def __init__(self, ports: Ports, outside: Any):
        self._ports, self._outside = ports, outside
        super().__init__(
            {
                "shown": In(WORD * ports.shown).array(ports.parts),
                "driven": Out(WORD * ports.driven).array(ports.parts),
            }
        )

    def elaborate(self, platform):
        m = Module()
        members = EngineSignature().members.items()
        told = {("i_" if member.flow == In else "o_") + name: getattr(self._outside, name) for name, member in members}
        seen, moved = Signal(self._ports.parts), Signal()
        m.submodules.instance = Instance(MODULE, i_seen=seen, o_moved=moved, **told)
        for part, (shown, driven) in enumerate(zip(self.shown, self.driven)):
            m.submodules[f"part_{part}"] = Instance(
                f"{MODULE}_part",
                p_PART=part,
                i_clk=ClockSignal(),
                i_go=self._outside.go,
                i_shown=shown,
                o_driven=driven,
                o_seen=seen[part],
                i_moved=moved,
            )
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
    """``MODULE`` and that of its parts for ``ports``, in SystemVerilog.

    On a falling edge each part shows its words. When the last has the engine moves, and then each takes what is driven.
    """
    return f"""module {MODULE}(
  input go,
  input traffic,
  input [{ports.parts - 1}:0] seen,
  output reg moved,
  output reg [63:0] cycle,
  output reg [31:0] done,
  output reg wake,
  output reg failed
);
  import "DPI-C" function void {MODULE}_tick(
    input bit traffic,
    output bit [63:0] cycle,
    output bit [31:0] done,
    output bit wake,
    output bit failed
  );
  import "DPI-C" function void {MODULE}_end();

  initial begin
    moved = 0;
    cycle = 0;
    done = 0;
    wake = 0;
    failed = 0;
  end
  // Simulators may take what is there at first for a change.
  always @(seen) if (go) begin
    {MODULE}_tick(traffic, cycle, done, wake, failed);
    moved = ~moved;
  end
  always @(negedge go) {MODULE}_end();
endmodule

module {MODULE}_part #(
  parameter PART = 0
) (
  input clk,
  input go,
  input [{WORD * ports.shown - 1}:0] shown,
  output reg [{WORD * ports.driven - 1}:0] driven,
  output reg seen,
  input moved
);
  import "DPI-C" function bit {MODULE}_show(input int part, input bit [{WORD * ports.shown - 1}:0] shown);
  import "DPI-C" function void {MODULE}_drive(input int part, output bit [{WORD * ports.driven - 1}:0] driven);

  initial begin
    driven = 0;
    seen = 0;
  end
  always @(negedge clk) if (go) seen = seen ^ {MODULE}_show(PART, shown);
  always @(moved) if (go) {MODULE}_drive(PART, driven);
endmodule
"""
