"""Amaranth's simulator with gates that are computed in their order, and only when someone looks."""

from copy import copy
from heapq import heapify, heappop, heappush

from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim import _async, pysim

from .quick_order import Reader, functions_of, gates_of, sort
from .quick_places import Places

__all__ = ["OWN_CONTEXT", "OWN_ENGINE", "QuickEngine", "TestbenchContext"]

OWN_ENGINE, OWN_CONTEXT = pysim.PySimEngine, _async.TestbenchContext
"""What Amaranth has itself."""


class _Registers:
    """What is done at an edge of ``clock``, if anything that ``run`` reads or writes has changed since the last one.

    ``always`` : or if not, as for what prints.
    """

    __slots__ = ("always", "clock", "due", "run")

    def __init__(self, run, clock, always):
        self.run, self.clock, self.always = run, clock, always
        self.due = False

    def wake(self):
        if not self.due:
            self.due = True
            self.clock.due.append(self)


class _Clock:
    """``due`` : registers that its next edge may change."""

    def __init__(self, agenda, polarity):
        self.agenda, self.polarity = agenda, polarity
        self.due: list[_Registers] = []

    def waker(self, _, following):
        if following == self.polarity:
            self.agenda.edges += self.due
            self.due = []
        return True


class _Agenda:
    """Which functions of gates are to run, by their place in the order, and which registers have had an edge."""

    def __init__(self):
        self.heap: list[int] = []
        self.due = bytearray()
        self.registers: list[_Registers] = []
        self.edges: list[_Registers] = []

    def reset(self):
        self.heap[:] = range(len(self.due))
        heapify(self.heap)
        self.due[:] = bytes([1]) * len(self.due)
        self.edges.clear()
        for registers in self.registers:
            registers.clock.due.clear()
            registers.due = False
        for registers in self.registers:
            registers.wake()


class _SignalState(pysim._PySignalState):
    """``readers`` : places of functions that read the signal; ``registers`` : what depends on it at an edge."""

    __slots__ = ("agenda", "readers", "registers")

    def __init__(self, signal, pending, agenda):
        self.agenda, self.readers, self.registers = agenda, [], []
        super().__init__(signal, pending)

    def commit(self):
        if self.curr == self.next:
            return False
        if self.wakers:
            pysim._run_wakers(self.wakers, self.curr, self.next)
        self.curr = self.next
        due = self.agenda.due
        for reader in self.readers:
            if not due[reader]:
                due[reader] = 1
                heappush(self.agenda.heap, reader)
        for registers in self.registers:
            if not registers.due:
                registers.due = True
                registers.clock.due.append(registers)
        return True


class _MemoryState(pysim._PyMemoryState):
    __slots__ = ("agenda", "readers", "registers")

    def __init__(self, memory, pending, agenda):
        self.agenda, self.readers, self.registers = agenda, [], []
        super().__init__(memory, pending)

    def commit(self):
        due = self.agenda.due
        for reader in self.readers:
            if not due[reader]:
                due[reader] = 1
                heappush(self.agenda.heap, reader)
        for registers in self.registers:
            registers.wake()
        return super().commit()


class _State(pysim._PyEngineState):
    def __init__(self):
        super().__init__()
        self.agenda = _Agenda()

    def get_signal(self, signal):
        try:
            return self.signals[signal]
        except KeyError:
            index = self.signals[signal] = len(self.slots)
            self.slots.append(_SignalState(signal, self.pending, self.agenda))
            return index

    def get_memory(self, memory):
        try:
            return self.memories[memory]
        except KeyError:
            index = self.memories[memory] = len(self.slots)
            self.slots.append(_MemoryState(memory, self.pending, self.agenda))
            return index

    def reset(self):
        super().reset()
        self.agenda.reset()


class _RegisterCompiler(pysim._FragmentCompiler):
    """Of each module all but its gates."""

    def __init__(self, state):
        super().__init__(state)
        self._clocks: dict[tuple[int, int], _Clock] = {}

    def __call__(self, fragment):
        ports = _ports_of(fragment)
        domains = {*fragment.statements, *(port._domain for port in ports)} - {"comb"}
        for domain in sorted(domains):
            self._compile(fragment, domain)
        for inner, *_ in fragment.subfragments:
            self(inner)

    def _compile(self, fragment, name):
        domain, agenda = fragment.domains[name], self.state.agenda
        polarity = 1 if domain.clk_edge == "pos" else 0
        clock = self._clocks.get((id(domain), polarity))
        if clock is None:
            clock = self._clocks[id(domain), polarity] = _Clock(agenda, polarity)
            self.state.slots[self.state.get_signal(domain.clk)].add_waker(clock.waker)
        statements = fragment.statements.get(name, ())
        reader, masks = Reader(), LHSMaskCollector()
        for statement in statements:
            reader.statement(statement)
        masks.visit_stmt(statements)
        run = self._function_of(fragment, name)
        registers = _Registers(run, clock, reader.tells)
        agenda.registers.append(registers)
        for port in _ports_of(fragment):
            if port._domain == name:
                for value in (port._addr, port._data, port._en):
                    reader.value(value)
        slots = {self.state.get_signal(signal) for signal in reader.signals}
        slots |= {self.state.get_signal(signal) for signal, _ in masks.masks()}
        if domain.rst is not None:
            slots.add(self.state.get_signal(domain.rst))
            if domain.async_reset:
                self.state.slots[self.state.get_signal(domain.rst)].add_waker(_at_once(agenda, registers))
        if isinstance(fragment, MemoryInstance):
            slots.add(self.state.get_memory(fragment._data))
        for number in slots:
            self.state.slots[number].registers.append(registers)

    def _function_of(self, fragment, name):
        """As Amaranth makes it, of the statements and ports of one domain."""
        kept = dict(vars(fragment))
        is_memory = isinstance(fragment, MemoryInstance)
        fragment.statements = {name: kept["statements"][name]} if name in kept["statements"] else {}
        fragment.subfragments = []
        if is_memory:
            fragment._read_ports, fragment._write_ports = _ports_at(fragment, name)
        try:
            (process,) = pysim._FragmentCompiler(Places(self.state))(fragment)
        finally:
            vars(fragment).update(kept)
        return process.run


def _ports_of(fragment):
    return (*fragment._read_ports, *fragment._write_ports) if isinstance(fragment, MemoryInstance) else ()


def _ports_at(memory, domain):
    """Its ports of one clock, where a port that reads what is just written knows the others by their new numbers."""
    numbers = [number for number, port in enumerate(memory._write_ports) if port._domain == domain]
    reads = [copy(port) for port in memory._read_ports if port._domain == domain]
    for port in reads:
        port._transparent_for = tuple(numbers.index(number) for number in port._transparent_for)
    return reads, [memory._write_ports[number] for number in numbers]


def _at_once(agenda, registers):
    def waker(_, following):
        if following:
            agenda.edges.append(registers)
        return True

    return waker


class QuickEngine(OWN_ENGINE):
    """What ``PySimEngine`` is, with the same values in each cycle. Between them gates change at most once each.

    Registers whose clock is made by gates change with those of that clock's own, and not after them.
    """

    def __init__(self, design):
        self._design = design
        self._state = _State()
        self._processes = set()
        self._testbenches = []
        self._delta_cycles = 0
        self._vcd_writers = []
        self._active_triggers = set()
        agenda = self._state.agenda
        _RegisterCompiler(self._state)(design.fragment)
        self._gates = []
        for place, (run, inputs) in enumerate(functions_of(self._state, sort(gates_of(self._state, design.fragment)))):
            self._gates.append(run)
            for number in set(inputs):
                self._state.slots[number].readers.append(place)
        agenda.due = bytearray(len(self._gates))
        agenda.reset()

    def step_design(self):
        if self._vcd_writers:
            raise NotImplementedError("quick simulations write no waves")
        state, agenda, triggers = self._state, self._state.agenda, self._active_triggers
        pending, heap, due, gates = state.pending, agenda.heap, agenda.due, self._gates
        changing = True
        while changing:
            if triggers:
                for trigger in triggers:
                    trigger.run()
                triggers.clear()
            for process in self._processes:
                if process.runnable:
                    process.runnable = False
                    process.run()
            if agenda.edges:
                edges, agenda.edges = agenda.edges, []
                for registers in edges:
                    registers.due = False
                for registers in edges:
                    registers.run()
                    if registers.always:
                        registers.wake()
            changing = False
            for changed in pending:
                if changed.commit():
                    changing = True
            pending.clear()
            while heap:
                place = heappop(heap)
                due[place] = 0
                gates[place]()
                if pending:
                    for changed in pending:
                        changed.commit()
                    pending.clear()
                    changing = True
            self._delta_cycles += 1

    def settle(self):
        """Bring to its end what a testbench has begun."""
        if self._state.pending:
            self.step_design()

    def advance(self):
        self.step_design()
        converged = False
        while not converged:
            converged = True
            for testbench in self._testbenches:
                if testbench.runnable:
                    testbench.runnable = False
                    testbench.run()
                    self.settle()
                    converged = False
        self._state.timeline.advance()
        return any(one.critical for ones in (self._processes, self._testbenches) for one in ones)


class TestbenchContext(OWN_CONTEXT):
    """What is set goes on into the design when something is asked for, or when the testbench waits."""

    __test__ = False

    def get(self, expr):
        engine = self._engine
        if engine._state.pending:
            engine.step_design()
        return super().get(expr)

    def set(self, expr, value):
        # Those who wait for an edge see each.
        _async.ProcessContext.set(self, expr, value)
        if any(changed.wakers for changed in self._engine._state.pending):
            self._engine.step_design()
