"""Designs made in less time: what Amaranth finds out about an expression or a signal over and over is kept with it."""

from abc import ABCMeta
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from amaranth.hdl import ClockSignal, ResetSignal, Value, _ast, _dsl, _ir, _xfrm
from amaranth.hdl._ast import Assign, Format, SignalDict, SignalKey, SignalSet, Switch

from .quick_order import parts_of

__all__ = ["copy_only_clocks", "leave_names_out", "make_quickly"]


def make_quickly() -> None:
    """For all that is made from now on, which is the same as before."""
    for kind in (_ast.Operator, _ast.Concat, _ast.SwitchValue, _ast.Slice, _ast.Signal):
        _keep_shape(kind)
    Value.__len__ = _width
    _ask_kinds_in_c(Value)
    _dsl._check_rhs = _once(_dsl._check_rhs)
    for keyed in (SignalDict, SignalSet):
        keyed._map_key = staticmethod(_key_of)
    for kind in (SignalDict, SignalSet):
        kind.__contains__ = _contains
    SignalKey.__hash__ = object.__hash__
    SignalKey.__eq__ = object.__eq__
    Format.__init__ = _of_one_value(Format.__init__)


def _keep_shape(kind):
    """An expression never changes, nor does its shape."""
    ask = kind.shape

    def shape(self):
        try:
            return self._kept_shape
        except AttributeError:
            self._kept_shape = ask(self)
            return self._kept_shape

    kind.shape = shape


def _width(self):
    try:
        return self._kept_width
    except AttributeError:
        self._kept_width = self.shape().width
        return self._kept_width


class _Plain(ABCMeta):
    """Classes that nothing is registered with: what is of one of them is known without asking Python."""

    __instancecheck__ = type.__instancecheck__


def _ask_kinds_in_c(kind):
    if type(kind) is ABCMeta:
        kind.__class__ = _Plain
    for inner in kind.__subclasses__():
        _ask_kinds_in_c(inner)


def _once(check):
    """A check of an expression asks for those of all its parts, in each place that they are used in."""

    def checked(value):
        if not hasattr(value, "_is_checked"):
            check(value)
            value._is_checked = True

    return checked


_keys_of_domains: dict[tuple, SignalKey] = {}


def _key_of(signal) -> SignalKey:
    """One key for each signal, so that keys are the same only if they are the same object."""
    try:
        return signal._kept_key
    except AttributeError:
        key = SignalKey(signal)
        if not isinstance(signal, _ast.Signal):
            key = _keys_of_domains.setdefault(key._intern, key)
        signal._kept_key = key
        return key


def _contains(self, signal):
    return _key_of(signal) in self._storage


def _of_one_value(make):
    """Each signal has the format ``{}``."""

    def made(self, text, *arguments, **named):
        if text == "{}" and not named and len(arguments) == 1 and isinstance(arguments[0], Value):
            self._chunks = [(arguments[0], "")]
        else:
            make(self, text, *arguments, **named)

    return made


@contextmanager
def copy_only_clocks():
    """Looking clocks up and naming their domains copies every statement and expression, as often as it is used, though
    there is a clock in few of them. While this is entered, it does not.
    """
    with ExitStack() as stack:
        for kind in (_xfrm.DomainLowerer, _xfrm.DomainRenamer):
            stack.enter_context(patch.multiple(kind, on_value=_on_value(kind), on_statement=_on_statement(kind)))
        # It looks for clocks and keeps nothing.
        stack.enter_context(patch.object(_xfrm.DomainCollector, "on_value", _on_value(_xfrm.DomainCollector)))
        yield


def _on_value(kind):
    copied = kind.on_value
    return lambda self, value: copied(self, value) if _has_clock(value) else value


def _on_statement(kind):
    copied = kind.on_statement
    return lambda self, statement: copied(self, statement) if _uses_clock(statement) else statement


def _has_clock(value: Value) -> bool:
    """Whether ``value`` is made of a clock or reset that is still to be looked up."""
    try:
        return value._is_clocked
    except AttributeError:
        looks = isinstance(value, (ClockSignal, ResetSignal)) or any(map(_has_clock, parts_of(value)))
        value._is_clocked = looks
        return looks


def _uses_clock(statement) -> bool:
    """Whether an assignment does, or one under a condition; of anything else it is not asked."""
    if isinstance(statement, Assign):
        return _has_clock(statement.lhs) or _has_clock(statement.rhs)
    if isinstance(statement, Switch):
        return _has_clock(statement.test) or any(any(map(_uses_clock, inner)) for _, inner, _ in statement.cases)
    return True


def leave_names_out():
    """Which module uses which signal is asked for names of waves alone; while this is entered, it is not found out."""
    return patch.object(_ir.Design, "_collect_used_signals", lambda *_: None)
