"""Puts a wrong version of one module in the place of the right one, before anything imports it.

As a plugin of pytest (``-p support.tl.mutant_modules``) it does so for the mutant that ``TL_MUTANT`` names.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from support.tl.mutants import MUTANTS, Mutant

__all__ = ["changed_text", "install"]


def changed_text(mutant: Mutant) -> str:
    """The text of the module that ``mutant`` changes, changed."""
    package, _, module = mutant.module.rpartition(".")
    path = Path(next(iter(import_module(package).__path__)), f"{module}.py")
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"mutant {mutant.name!r}: its text stands {text.count(mutant.old)} times in {path.name}")
    return text.replace(mutant.old, mutant.new)


def install(mutant: Mutant) -> None:
    """Make ``mutant`` the module that everything imports from now on."""
    if mutant.module in sys.modules:
        raise RuntimeError(f"{mutant.module} has been imported already")
    code = compile(changed_text(mutant), f"{mutant.module}.py", "exec")
    package, _, name = mutant.module.rpartition(".")
    module = ModuleType(mutant.module)
    module.__package__ = package
    sys.modules[mutant.module] = module
    exec(code, module.__dict__)
    setattr(sys.modules[package], name, module)


if os.environ.get("TL_MUTANT"):
    install(next(mutant for mutant in MUTANTS if mutant.name == os.environ["TL_MUTANT"]))
