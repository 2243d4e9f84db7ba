"""How a test shows what it shows, read from the code that it can reach: ``evidence(item)``.

From the test function, its parameters and its fixtures the search follows every name that their code mentions into
functions and classes of ``tests``, ``ualink_sim`` and ``ualink_boards``. What it meets on the way decides:

* ``proof``: a solver, for all inputs over the depth of the proof;
* ``RTL``: a simulator of the hardware, Amaranth's or a compiled model;
* ``structure``: the hardware description as it is made (ports, layouts, codes, parameters), not simulated;
* ``bus model``, ``model``: those of ``ualink_sim``, without hardware;
* ``other``: nothing of these, but constants, files, the wiring of a pod.

Proof and RTL are told of a test that reaches both; of the others the first of this list alone.
"""

import functools
import sys
from types import CodeType, FunctionType, ModuleType

__all__ = ["KINDS", "evidence"]

KINDS = ("proof", "RTL", "structure", "bus model", "model", "other")

_HARDWARE = {
    ("support.formal", "prove"): "proof",
    ("support.dl.bit_proof", "refuted"): "proof",
    ("amaranth.sim.core", "Simulator"): "RTL",
    ("ualink_sim.simulator", "Model"): "RTL",
}
_PACKAGES = {"ualink_sim.bfm": "bus model", "ualink_sim.model": "model"}


def evidence(item) -> list[str]:
    """The kinds of a collected test, strongest first."""
    seen: set[int] = set()
    found: set[str] = set()
    fixtures = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
    starts = [item.function, *(fixture.func for defined in fixtures.values() for fixture in defined)]
    params = getattr(getattr(item, "callspec", None), "params", {})
    starts += _parts(params, set()) + _fixtures_named(item, fixtures, params)
    waiting = [start for start in starts if not _module(start).startswith(("_pytest", "pytest"))]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        kind, follow = _look(thing)
        if kind:
            found.add(kind)
        waiting += follow
    shown = [kind for kind in KINDS if kind in found]
    hardware = [kind for kind in shown if kind in ("proof", "RTL")]
    return hardware or shown[:1] or ["other"]


def _fixtures_named(item, fixtures: dict, params: dict) -> list:
    """The fixtures of which parameters are the names, where another fixture gets their values by that name."""
    known = item.session._fixturemanager._arg2fixturedefs if fixtures else {}
    found = []
    for argument, defined in fixtures.items():
        codes = (getattr(fixture.func, "__code__", None) for fixture in defined)
        if any(code and "getfixturevalue" in code.co_names for code in codes):
            found += known.get(params.get(argument), ())
    return [fixture.func for fixture in found]


def _look(thing) -> tuple[str | None, list]:
    """The kind of evidence that ``thing`` is by itself, and what else its code mentions."""
    if isinstance(thing, functools.partial | staticmethod | classmethod):
        return None, [thing.func if isinstance(thing, functools.partial) else thing.__func__]
    if isinstance(thing, functools.cached_property):
        return None, [thing.func]
    if isinstance(thing, property):
        return None, [part for part in (thing.fget, thing.fset) if part]
    # Hypothesis puts a function of its own around the test.
    thing = getattr(getattr(thing, "hypothesis", None), "inner_test", None) or getattr(thing, "__wrapped__", thing)
    module = _module(thing)
    name = getattr(thing, "__qualname__", "").split(".")[0]
    kind = _HARDWARE.get((module, name))
    if kind:
        return kind, []
    if module.split(".")[0] == "ualink" and not module.startswith(("ualink.description", "ualink.upli.names")):
        return "structure", []
    if not _is_ours(module):
        return None, []
    kind = next((kind for package, kind in _PACKAGES.items() if module.startswith(package)), None)
    if isinstance(thing, FunctionType):
        return kind, _mentioned(thing.__code__, thing)
    if isinstance(thing, type):
        return kind, [*thing.__bases__, *vars(thing).values()]
    return kind, [type(thing)]


def _module(thing) -> str:
    return getattr(thing, "__module__", None) or ""


def _is_ours(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.startswith(("ualink_sim", "ualink_boards")) or "/tests/" in file


def _mentioned(code: CodeType, function: FunctionType) -> list:
    """What the names in ``code`` and in the code within it stand for."""
    cells = {name: cell for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())}
    found = []
    names = {*code.co_names, *code.co_freevars}
    for name in names:
        thing = function.__globals__.get(name)
        if name in cells:
            thing = _content(cells[name])
        found += _parts(sys.modules.get(name) if thing is None else thing, names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += _mentioned(constant, function)
    return found


def _parts(thing, names: set[str]) -> list:
    """``thing``, or what of a module or a container is meant."""
    if isinstance(thing, ModuleType):
        return [getattr(thing, name) for name in names if hasattr(thing, name)]
    if isinstance(thing, dict):
        return [part for value in thing.values() for part in _parts(value, names)]
    if isinstance(thing, list | tuple):
        return [part for value in thing for part in _parts(value, names)]
    return [] if thing is None else [thing]


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None
