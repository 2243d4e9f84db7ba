"""Python of a design's expressions in which each part of them is computed once.

Amaranth's simulator writes an expression out at every place that it is used in: a bit that is replicated 128 times is
computed 128 times, in a text of megabytes. Here each part gets a variable, which later uses in the same branch read.
"""

from contextlib import contextmanager

from amaranth.hdl import ClockSignal, Const, ResetSignal, Signal
from amaranth.hdl._ast import AnyValue, Concat, Initial, Operator, Part, SignalSet, Slice, SwitchValue
from amaranth.sim import _pyrtl

__all__ = ["OWN", "OWN_EMITTER", "ScopedEmitter", "compiler_for"]

OWN, OWN_EMITTER = _pyrtl._RHSValueCompiler, _pyrtl._PythonEmitter
"""What Amaranth has itself."""


class ScopedEmitter(OWN_EMITTER):
    """An emitter that knows which variables have been set where its next line goes.

    ``texts`` gives the variable of a text, ``values`` that of an expression; both forget at the end of a branch what
    came in it. Expressions stay with their variables, so that none is taken for a later one at the same address.
    ``settled`` are signals that have their new value already, which is read instead of the one that they had.
    """

    def __init__(self):
        super().__init__()
        self._scopes = [({}, {})]
        self.settled = SignalSet()

    @contextmanager
    def indent(self):
        self._scopes.append(({}, {}))
        with super().indent():
            yield
        self._scopes.pop()

    def variable_of(self, value) -> str | None:
        """What holds ``value`` here, or None."""
        for _, values in reversed(self._scopes):
            if id(value) in values:
                return values[id(value)][1]
        return None

    def keep(self, value, text: str) -> str:
        """Have ``value`` be ``text`` from here to the end of the branch; what holds it."""
        name = text if text.isidentifier() or text.isdecimal() else self._named(text)
        self._scopes[-1][1][id(value)] = (value, name)
        return name

    def _named(self, text: str) -> str:
        for texts, _ in reversed(self._scopes):
            if text in texts:
                return texts[text]
        name = self._scopes[-1][0][text] = self.def_var("v", text)
        return name


def compiler_for(state, emitter, *, mode, **others):
    """What ``_RHSValueCompiler`` makes; what is about to be assigned changes from line to line and is never kept."""
    return (_SharingCompiler if mode == "curr" else OWN)(state, emitter, mode=mode, **others)


def _ones(width: int) -> int:
    return (1 << width) - 1


def _signed(value) -> bool:
    return value.shape().signed


class _SharingCompiler(OWN):
    """Calling it gives a variable or a constant: the bits of a value, nothing above them and no sign.

    ``sign`` gives the number that the bits are.
    """

    def on_value(self, value):
        name = self.emitter.variable_of(value)
        if name is not None:
            return name
        width = len(value)
        if width > 2**16:
            return super().on_value(value)
        return self.emitter.keep(value, _HANDLERS[type(value)](self, value) if width else "0")

    def sign(self, value):
        bits = self(value)
        if not len(value) or not _signed(value):
            return bits
        return f"({value.value})" if isinstance(value, Const) else f"sign({bits}, {-1 << (len(value) - 1):#x})"

    def on_Const(self, value):
        return str(value.value & _ones(len(value)))

    def on_Signal(self, value):
        if value in self.emitter.settled:
            now = f"next_{self.state.get_signal(value)}"
        else:
            now = super().on_Signal(value)
        return f"{_ones(len(value)):#x} & {now}" if _signed(value) else now

    def on_Operator(self, value):
        operator, operands = value.operator, value.operands
        bits = [self(operand) for operand in operands]
        if operator in ("u", "s"):
            return bits[0]
        if operator == "~":
            return f"{_ones(len(value)):#x} ^ {bits[0]}"
        if operator in ("b", "r|"):
            return f"{bits[0]} != 0"
        if operator == "r&":
            return f"{bits[0]} == {_ones(len(operands[0])):#x}"
        if operator == "r^":
            return f"({bits[0]}).bit_count() & 1"
        numbers = [self.sign(operand) for operand in operands]
        if len(operands) == 1 and operator == "-":
            result = f"-{numbers[0]}"
        elif operator == "//":
            result = f"zdiv({numbers[0]}, {numbers[1]})"
        elif operator == "%":
            result = f"zmod({numbers[0]}, {numbers[1]})"
        else:
            result = f"{numbers[0]} {operator} {numbers[1]}"
        may_be_negative = operator == "-" or any(map(_signed, operands))
        is_truth = operator in ("==", "!=", "<", "<=", ">", ">=")
        return f"{_ones(len(value)):#x} & ({result})" if may_be_negative and not is_truth else result

    def on_Slice(self, value):
        bits, whole = self(value.value), len(value.value)
        shifted = f"{bits} >> {value.start}" if value.start else bits
        return shifted if value.stop == whole else f"{shifted} & {_ones(len(value)):#x}"

    def on_Part(self, value):
        return f"{self.sign(value.value)} >> {value.stride} * {self(value.offset)} & {_ones(value.width):#x}"

    def on_Concat(self, value):
        constant, places, offset = 0, {}, 0
        for part in value.parts:
            bits = self(part)
            if bits.isdecimal():
                constant |= int(bits) << offset
            else:
                places[bits] = places.get(bits, 0) | 1 << offset
            offset += len(part)
        terms = [f"{constant:#x}"] if constant else []
        for bits, where in places.items():
            if where.bit_count() == 1:
                terms.append(f"{bits} << {where.bit_length() - 1}" if where > 1 else bits)
            else:
                terms.append(f"{bits} * {where:#x}")
        return " | ".join(terms) or "0"

    def on_SwitchValue(self, value):
        test = self(value.test)
        result = self.emitter.def_var("rhs_switch", "0")

        def of_case(_, chosen):
            number = self.sign(chosen)
            self.emitter.append(
                f"{result} = {_ones(len(value)):#x} & {number}" if _signed(chosen) else f"{result} = {number}"
            )

        self._emit_switch(test, value.cases, of_case)
        return result


_HANDLERS = {
    kind: getattr(_SharingCompiler, f"on_{kind.__name__}")
    for kind in (Const, Signal, Operator, Slice, Part, Concat, SwitchValue, ClockSignal, ResetSignal, AnyValue, Initial)
}
