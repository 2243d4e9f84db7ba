"""Python of a design's gates in the order in which values go through them.

Amaranth's simulator makes one function of all gates of a module and runs it whenever one of its inputs changes, as
often as one gate of the module waits for another. Here gates are sorted over the whole design, and those of a module
that come one after the other are one function, which has its place in the order: once a cycle it runs, if anything that
it reads has changed.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, Part, SignalSet, Slice, Switch, SwitchValue
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim import _pyrtl

from .quick_places import Places
from .quick_values import ScopedEmitter, compiler_for

__all__ = ["Reader", "functions_of", "gates_of", "parts_of", "sort"]


@dataclass(eq=False)
class Gates:
    """Statements of the module ``place`` that assign the same signals, or an asynchronous read ``port`` of a memory.

    ``written`` : the signals, by number, and which of their bits; ``read`` : numbers of signals.
    """

    place: int
    statements: list
    port: object = None
    memory: object = None
    written: dict[int, tuple[Signal, int]] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)


def gates_of(state, fragment, places=None) -> list[Gates]:
    """All gates of ``fragment`` and of what is in it."""
    places = [] if places is None else places
    place = len(places)
    places.append(fragment)
    found = []
    for statements in _by_signals(fragment.statements.get("comb", ())):
        gates = Gates(place, statements)
        masks = LHSMaskCollector()
        masks.visit_stmt(statements)
        found.append(_complete(state, gates, masks))
    if isinstance(fragment, MemoryInstance):
        for port in fragment._read_ports:
            if port._domain == "comb":
                gates, masks = Gates(place, [], port, fragment._data), LHSMaskCollector()
                masks.visit_value(port._data, ~0)
                found.append(_complete(state, gates, masks))
    for inner, *_ in fragment.subfragments:
        found += gates_of(state, inner, places)
    return found


def _complete(state, gates, masks):
    for signal, mask in masks.masks():
        number = state.get_signal(signal)
        state.slots[number].is_comb = True
        gates.written[number] = (signal, mask)
    reader = Reader()
    for statement in gates.statements:
        reader.statement(statement)
    if gates.port is not None:
        reader.value(gates.port._addr)
    gates.read = {state.get_signal(signal) for signal in reader.signals}
    return gates


def _by_signals(statements) -> list[list]:
    """Statements that assign one signal together, in their order; those that assign none come last."""
    groups: dict[int, list] = {}
    of_signal: dict[int, int] = {}
    signals_of: dict[int, list[int]] = {}
    for number, statement in enumerate(statements):
        signals = [id(signal) for signal in statement._lhs_signals()]
        merged = {of_signal[signal] for signal in signals if signal in of_signal}
        members, all_signals = [(number, statement)], list(signals)
        for group in merged:
            members += groups.pop(group)
            all_signals += signals_of.pop(group)
        groups[number] = members
        signals_of[number] = all_signals
        for signal in all_signals:
            of_signal[signal] = number
    whole = [[statement for _, statement in sorted(group, key=lambda one: one[0])] for group in groups.values()]
    return sorted(whole, key=lambda group: not any(True for one in group for _ in one._lhs_signals()))


class Reader:
    """The signals that statements read, each part of an expression looked at once.

    ``tells`` : one of them prints or checks something.
    """

    def __init__(self):
        self.signals, self.tells, self._seen = SignalSet(), False, set()

    def statement(self, statement):
        if isinstance(statement, Assign):
            self.target(statement.lhs)
            self.value(statement.rhs)
        elif isinstance(statement, Switch):
            self.value(statement.test)
            for _, inner, _ in statement.cases:
                for one in inner:
                    self.statement(one)
        else:
            self.tells = True
            for signal in statement._rhs_signals():
                self.signals.add(signal)

    def target(self, value):
        """What is read to know which bits are assigned."""
        if isinstance(value, (Slice, Part)):
            self.target(value.value)
            if isinstance(value, Part):
                self.value(value.offset)
        elif isinstance(value, Operator):
            self.target(value.operands[0])
        elif isinstance(value, Concat):
            for part in value.parts:
                self.target(part)
        elif isinstance(value, SwitchValue):
            self.value(value.test)
            for _, chosen in value.cases:
                self.target(chosen)

    def value(self, value):
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, Signal):
            self.signals.add(value)
        for part in parts_of(value):
            self.value(part)


def parts_of(value: Value) -> tuple[Value, ...]:
    """The expressions that ``value`` is made of."""
    if isinstance(value, Operator):
        return value.operands
    if isinstance(value, Slice):
        return (value.value,)
    if isinstance(value, Part):
        return (value.value, value.offset)
    if isinstance(value, Concat):
        return value.parts
    if isinstance(value, SwitchValue):
        return (value.test, *(chosen for _, chosen in value.cases))
    return ()


def sort(gates: list[Gates]) -> list[list[Gates]]:
    """Lists of gates of one module each, which read what those before them write, as long as there is such an order.

    Where there is none, as between handshakes that only seem to wait for each other, one is taken that reads what comes
    later: its function runs again if that changes.
    """
    writers = defaultdict(list)
    for one in gates:
        for number in one.written:
            writers[number].append(one)
    waits: dict[Gates, int] = {}
    followers = defaultdict(list)
    for one in gates:
        before = {other for number in one.read for other in writers.get(number, ()) if other is not one}
        waits[one] = len(before)
        for other in before:
            followers[other].append(one)
    ready = defaultdict(list)
    left = dict.fromkeys(gates)
    for one in gates:
        if not waits[one]:
            ready[one.place].append(one)
    order = []
    while left:
        if not ready:
            # The one that waits for the fewest.
            one = min(left, key=waits.__getitem__)
            waits[one] = 0
            ready[one.place].append(one)
        place = max(ready, key=lambda place: len(ready[place]))
        together: list[Gates] = []
        order.append(together)
        while ready.get(place):
            one = ready[place].pop()
            if one not in left:
                continue
            together.append(one)
            del left[one]
            for follower in followers[one]:
                waits[follower] -= 1
                if not waits[follower] and follower in left:
                    ready[follower.place].append(follower)
        ready.pop(place, None)
        for empty in [place for place, some in ready.items() if not some]:
            del ready[empty]
    return [together for together in order if together]


def functions_of(state, order: list[list[Gates]]):
    """Of each list of gates its function, and the numbers of the signals and memories whose change makes it run."""
    for together in order:
        emitter, places = ScopedEmitter(), Places(state)
        emitter.append("def run():")
        emitter._level += 1
        inputs, memories = SignalSet(), []
        compiler = _pyrtl._StatementCompiler(places, emitter, inputs=inputs)
        for gates in together:
            for signal, _ in gates.written.values():
                emitter.append(f"next_{places.get_signal(signal)} = {signal.init}")
            compiler(gates.statements)
            if gates.port is not None:
                memories.append(state.get_memory(gates.memory))
                rhs = compiler_for(places, emitter, mode="curr", inputs=inputs)
                place = f"{(1 << len(gates.port._addr)) - 1:#x} & {rhs(gates.port._addr)}"
                data = emitter.def_var("read_data", f"slots[{places.get_memory(gates.memory)}].read({place})")
                _pyrtl._LHSValueCompiler(places, emitter, rhs=rhs)(gates.port._data)(data)
            for signal, mask in gates.written.values():
                if mask == (1 << len(signal)) - 1:
                    emitter.settled.add(signal)
        for gates in together:
            for signal, mask in gates.written.values():
                if signal.shape().signed and mask & 1 << (len(signal) - 1):
                    mask |= -1 << len(signal)
                number = places.get_signal(signal)
                emitter.append(f"slots[{number}].update(next_{number}, {mask})")
        known = {"slots": places.slots, **_pyrtl._ValueCompiler.helpers, **_pyrtl._StatementCompiler.helpers}
        exec(_pyrtl.compile(emitter.flush(), "<string>", "exec"), known)
        yield known["run"], [state.get_signal(signal) for signal in inputs] + memories
