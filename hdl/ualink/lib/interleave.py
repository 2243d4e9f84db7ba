"""Lets one copy of a component serve several contexts in turn: shared logic, a state for each.

A block that serves one link is written as if there were only that one. A station with several links gives each of them
every second or fourth cycle; what is combinational in the block can then serve them all, and only what it remembers
must exist once per link. That is what is made here out of any component: each register becomes a ring of as many
registers as there are contexts, turning by one in every cycle, and each memory gets as many parts. Where it is chosen
at run time how many contexts there are, the ring has one, two or four registers as the choice is.
"""

from collections.abc import Iterator

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, Part, Property, Slice, Switch, SwitchValue
from amaranth.hdl._ir import Fragment, Instance
from amaranth.hdl._mem import MemoryData, MemoryInstance
from amaranth.hdl._xfrm import FragmentTransformer, LHSMaskCollector
from amaranth.utils import ceil_log2

from ualink.checks import ConfigError, check_choice
from ualink.lib.memory_marks import NEVER_MEET, OUT_OF_REGISTER, SHARED_OUT
from ualink.lib.ports_used import RESTART_CYCLES, copy_like, slot_after
from ualink.lib.select import of_now

__all__ = ["Interleaver"]

MOST_ROWS = 1024
"""More rows than these are several macros, one of which has to be chosen, so that each context can have its own."""


class Interleaver(FragmentTransformer):
    """``Interleaver(contexts, context)(component)`` behaves to context n like a component of its own which stands still
    in every cycle that is another's: ports of the component are those of context n in the cycles of n.

    Used like ``amaranth.hdl.EnableInserter``. A reset of the domain resets all contexts. For one context the component
    stays what it is.

    Parameters
    ----------
    contexts : 1, 2 or 4.
    context : the context that this cycle belongs to: 0, 1, … ``contexts`` - 1, 0, … without a pause.
    domain : the only clock domain of the component.
    used : as of ``ports_used``, how many of four contexts take turns; None for all. What is chosen by it looks at
        registers that copy it, so that a reset in which it changes has to last for ``RESTART_CYCLES``. A memory has a
        part for each of the four; of more than ``MOST_ROWS`` rows in all each part is a memory of its own, which must
        not be read without a clock. Marked ``SHARED_OUT`` it is shared out among those that take turns, each of which
        asks for rows of its own.
    """

    def __init__(self, contexts: int, context: Value, domain: str = "sync", *, used: Value | None = None):
        check_choice("contexts", contexts, (1, 2, 4))
        if used is not None and contexts != 4:
            raise ConfigError(f"contexts is {contexts}; it must be 4 for any number of them to be used")
        self._contexts = contexts
        self._context = context[: ceil_log2(contexts)]
        self._used = None if used is None else _Copies(used, domain)
        self._domain = domain
        self._driven: set[int] = set()
        self._inside = False

    def on_fragment(self, fragment):
        if self._contexts == 1:
            return fragment
        if not self._inside:
            self._driven, self._inside = _driven_in(fragment), True
            try:
                return self.on_fragment(fragment)
            finally:
                self._inside = False
        if isinstance(fragment, Instance):
            raise TypeError(f"instance of {fragment.type!r}: what it remembers cannot be interleaved")
        if isinstance(fragment, MemoryInstance):
            return self._memory(fragment)
        if self._used is not None:
            self._used.enter()
        new_fragment = super().on_fragment(fragment)
        domains = set(fragment.statements) - {"comb"}
        if domains - {self._domain}:
            raise TypeError(f"clock domains {domains} in what is to be interleaved; {self._domain!r} is the only one")
        if domains:
            self._registers(new_fragment, new_fragment.statements.pop(self._domain))
        if self._used is not None:
            self._used.leave(new_fragment)
        return new_fragment

    def _registers(self, fragment, statements):
        """What a register would take over goes into a ring, of which the register is the last."""
        # In "comb" they would be looked at before all has settled.
        properties = [statement for statement in statements if isinstance(statement, Property)]
        fragment.add_statements(self._domain, properties)
        statements = [statement for statement in statements if not isinstance(statement, Property)]
        driven = LHSMaskCollector()
        driven.visit_stmt(statements)
        following = {}
        for signal, start, stop in driven.chunks():
            # Other bits of the signal may be combinational.
            if id(signal) not in following:
                following[id(signal)] = Signal(signal.shape(), name=f"{signal.name}_next")
                fragment.add_statements("comb", following[id(signal)].eq(signal))
            self._ring(fragment, following[id(signal)], signal, self._contexts, slice(start, stop))
        fragment.add_statements("comb", [_assign_to(statement, following) for statement in statements])

    def _ring(self, fragment, entry, output, registers, bits=slice(None), alone=None):
        """Those ``bits`` of ``output`` become those of ``entry`` as they were ``registers`` cycles ago; as many fewer
        as there are fewer contexts than could be, where that is chosen: with one ``alone`` those of that, which is the
        same, and may be known sooner."""
        alone = (entry if alone is None else alone)[bits]
        entry, last = entry[bits], output[bits]
        init = Const(output.init, output.shape())[bits]

        def register(n, value):
            made = Signal(len(last), name=f"{output.name}_{n}", init=init, reset_less=output.reset_less)
            fragment.add_statements(self._domain, made.eq(value))
            return made

        if self._used is None:
            for n in range(registers - 1):
                entry = register(n, entry)
            fragment.add_statements(self._domain, last.eq(entry))
            return
        # Of several contexts it is chosen a cycle before, so that what one alone has late comes through one gate more.
        # One context less than there are is none at all for one that is alone: its value has no register behind it.
        domain = self._domain if registers == self._contexts else "comb"
        third = register(1, register(0, entry))
        before = Signal(len(last))
        several = register(2, before)
        for used, some in self._used.each(fragment, len(last)):
            fragment.add_statements("comb", before[some].eq(Mux(used[1], entry[some], third[some])))
            fragment.add_statements(domain, last[some].eq(Mux(used[0], alone[some], several[some])))

    def _memory(self, instance):
        """One part for each context; what is read comes in the context's next cycle, not in the next of all."""
        shared_out = self._shared_out(instance)
        if self._used is not None and not shared_out and self._contexts * instance._data.depth > MOST_ROWS:
            return self._apart(instance, self._used)
        parts = 1 if shared_out else self._contexts
        contents = [instance._data.init[n] for n in range(instance._data.depth)]
        contents = [row for row in contents for _ in range(parts)]
        data = MemoryData(shape=instance._data.shape, depth=instance._data.depth * parts, init=contents)
        attrs = instance._attrs
        if self._reads_late(instance):
            # In the cycles of others, who write rows of their own.
            attrs = attrs | NEVER_MEET
        memory = MemoryInstance(data=data, attrs=attrs, src_loc=instance.src_loc)
        around = Fragment(src_loc=instance.src_loc)
        shown = self._reads_late(instance) and self._contexts == 4 and OUT_OF_REGISTER.keys() <= attrs.keys()
        for port in instance._write_ports:
            memory.write_port(domain=port._domain, addr=self._row(instance, port), data=port._data, en=port._en)
        for port in instance._read_ports:
            ports = {"domain": port._domain, "transparent_for": port._transparent_for}
            row = self._row(instance, port)
            if port._domain == "comb":
                memory.read_port(addr=row, data=port._data, en=port._en, **ports)
            elif self._reads_late(instance):
                late, data = Signal(len(row), reset_less=True), Signal(len(port._data))
                self._ring(around, row, late, self._contexts - 1 - shown)
                memory.read_port(addr=late, data=data, en=Const(1), domain=port._domain, transparent_for=())
                around.add_statements(self._domain if shown else "comb", port._data.eq(data))
            elif self._may_read_late(instance, port):
                late = Signal(len(row), reset_less=True)
                self._ring(around, row, late, self._contexts - 1)
                memory.read_port(addr=late, data=port._data, en=Const(1), **ports)
            else:
                data = Signal(len(port._data))
                memory.read_port(addr=row, data=data, en=port._en, **ports)
                self._hold(around, port, data)
        around.add_subfragment(memory, "memory")
        return around

    def _apart(self, instance, copies):
        """A memory for each context, which shows what the context has read until it reads again. Of several contexts it
        is chosen in the cycle before; one alone has its own at once."""
        around = Fragment(src_loc=instance.src_loc)
        read = [[Signal(len(port._data)) for port in instance._read_ports] for _ in range(self._contexts)]
        for context, datas in enumerate(read):
            self._part(around, instance, context, datas)
        used, _ = copies.of(around, 1)
        following = slot_after(self._context, self._contexts, used)
        for port, *datas in zip(instance._read_ports, *read):
            several = Signal(len(port._data), reset_less=True)
            around.add_statements(self._domain, several.eq(of_now(following, datas)))
            for used, some in copies.each(around, len(several)):
                around.add_statements("comb", port._data[some].eq(Mux(used[0], datas[0][some], several[some])))
        return around

    def _part(self, around, instance, context, datas):
        """The memory of one ``context``; ``datas`` become what its read ports show."""
        init = [instance._data.init[n] for n in range(instance._data.depth)]
        data = MemoryData(shape=instance._data.shape, depth=instance._data.depth, init=init)
        memory = MemoryInstance(data=data, attrs=instance._attrs, src_loc=instance.src_loc)
        here = self._context == context
        for port in instance._write_ports:
            enable = port._en & here.replicate(len(port._en))
            memory.write_port(domain=port._domain, addr=port._addr, data=port._data, en=enable)
        for port, shown in zip(instance._read_ports, datas):
            if port._domain == "comb":
                raise TypeError(f"a memory of {instance._data.depth} rows for each context, read without a clock")
            ports = {"domain": port._domain, "transparent_for": port._transparent_for}
            memory.read_port(addr=port._addr, data=shown, en=port._en & here, **ports)
        around.add_subfragment(memory, f"memory_{context}")

    def _row(self, instance, port):
        if self._shared_out(instance):
            return port._addr
        # Row by row that of each context: nothing is added, and no row is left out.
        return Cat(self._context, port._addr)

    def _shared_out(self, instance):
        return self._used is not None and SHARED_OUT.keys() <= instance._attrs.keys()

    def _reads_late(self, instance):
        """All that is read is read in a cycle of another context, so that nobody reads a row while it is written."""
        return self._used is None and all(self._may_read_late(instance, port) for port in instance._read_ports)

    def _may_read_late(self, instance, port):
        """Reading just before the context's next cycle needs a delay of the address only. It shows what the context
        has written in the cycle in which it asked, as a transparent port does. Before the first read it shows anything.
        """
        transparent = set(port._transparent_for) == set(range(len(instance._write_ports)))
        return self._always(port._en) and (transparent or NEVER_MEET.keys() <= instance._attrs.keys())

    def _always(self, enable):
        """Nothing ever takes ``enable`` back."""
        if isinstance(enable, Const):
            return enable.value == 1
        return isinstance(enable, Signal) and enable.init == 1 and id(enable) not in self._driven

    def _hold(self, fragment, port, data):
        """The port's output: what was read, or what it was if nothing was."""
        enabled = Signal()
        before = Signal(len(data), reset_less=True)
        entry = Signal(len(data))
        output = Signal(len(data), reset_less=True)
        fragment.add_statements(self._domain, enabled.eq(port._en), before.eq(output))
        fragment.add_statements("comb", entry.eq(Mux(enabled, data, before)), port._data.eq(output))
        # What one alone has read stays by itself until it reads again.
        self._ring(fragment, entry, output, self._contexts - 1, alone=data)


class _Copies:
    """Registers that hold what ``used`` was some cycles ago: a tree of them, a branch in each module that needs one,
    with a leaf for every so many bits that are chosen there.

    One register for a whole station stands behind nine buffers. What is given may be late by a cycle already.
    """

    LEAF = 64
    """So many bits are chosen by one leaf: it takes three buffers to reach them, and is a hundredth of their rings."""

    def __init__(self, used: Value, domain: str):
        self._used, self._domain = used, domain
        self._branches: list[Signal] = []
        self._needed = 0
        self._fragment, self._left, self._leaf = None, 0, used

    def enter(self) -> None:
        """What follows is in another fragment, which is part of that which was entered before."""
        if len(self._branches) + 3 >= RESTART_CYCLES:
            raise ConfigError(f"what is interleaved has more than {RESTART_CYCLES - 3} levels of hierarchy")
        self._branches.append(copy_like(self._used, "used_branch"))

    def leave(self, fragment: Fragment) -> None:
        """What was entered last has become ``fragment``."""
        branch = self._branches.pop()
        if self._needed > len(self._branches):
            self._needed = len(self._branches)
            above = self._branches[-1] if self._branches else self._used
            fragment.add_statements(self._domain, branch.eq(above))

    def each(self, fragment: Fragment, bits: int) -> Iterator[tuple[Value, slice]]:
        """Leaves in ``fragment`` for all of ``bits``, and which of them each chooses."""
        start = 0
        while start < bits:
            used, chosen = self.of(fragment, bits - start)
            yield used, slice(start, start + chosen)
            start += chosen

    def of(self, fragment: Fragment, bits: int) -> tuple[Value, int]:
        """A leaf in ``fragment``, which was entered last or is part of that, and how many of ``bits`` it chooses."""
        self._needed = len(self._branches)
        if fragment is not self._fragment or not self._left:
            self._fragment, self._left, self._leaf = fragment, self.LEAF, copy_like(self._used)
            fragment.add_statements(self._domain, self._leaf.eq(self._branches[-1]))
        chosen = min(bits, self._left)
        self._left -= chosen
        return self._leaf, chosen


def _driven_in(fragment):
    """Identities of all signals that ``fragment`` and what is in it assign to."""
    driven = LHSMaskCollector()
    for statements in fragment.statements.values():
        driven.visit_stmt(statements)
    signals = {id(signal) for signal, _ in driven.masks()}
    return signals.union(*(_driven_in(inner) for inner, _, _ in fragment.subfragments))


def _assign_to(statement, targets):
    """``statement`` with assignments going to ``targets`` instead of the registers."""
    if isinstance(statement, Assign):
        return Assign(_target(statement.lhs, targets), statement.rhs)
    if isinstance(statement, Switch):
        cases = [(key, [_assign_to(s, targets) for s in body], where) for key, body, where in statement.cases]
        return Switch(statement.test, cases, src_loc=statement.src_loc)
    if isinstance(statement, Property):
        return statement
    raise TypeError(f"{statement!r} cannot be interleaved")


def _target(value, targets):
    if isinstance(value, Signal):
        return targets[id(value)]
    if isinstance(value, Slice):
        return Slice(_target(value.value, targets), value.start, value.stop)
    if isinstance(value, Part):
        return Part(_target(value.value, targets), value.offset, value.width, value.stride)
    if isinstance(value, Concat):
        return Concat([_target(part, targets) for part in value.parts])
    if isinstance(value, SwitchValue):
        cases = [(key, _target(case, targets)) for key, case in value.cases]
        return SwitchValue(value.test, cases, src_loc=value.src_loc)
    if isinstance(value, Operator) and value.operator in ("u", "s"):
        return Operator(value.operator, [_target(value.operands[0], targets)])
    raise TypeError(f"{value!r} cannot be assigned to")
