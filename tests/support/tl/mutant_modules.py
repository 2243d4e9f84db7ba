"""Puts a wrong version of one module in the place of the right one, before anything imports it.

As a plugin of pytest (``-p support.tl.mutant_modules``) it does so for the mutant that ``TL_MUTANT`` names.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path

import ualink
from support.tl.mutants import MUTANTS, Mutant

__all__ = ["changed_text", "install"]


def changed_text(mutant: Mutant) -> str:
    """The text of the module that ``mutant`` changes, changed."""
    path = _path(mutant.module)
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"mutant {mutant.name!r}: its text stands {text.count(mutant.old)} times in {path.name}")
    return text.replace(mutant.old, mutant.new)


def install(mutant: Mutant) -> None:
    """Make ``mutant`` the module that everything imports from now on."""
    if mutant.module in sys.modules:
        raise RuntimeError(f"{mutant.module} has been imported already")
    sys.meta_path.insert(0, _Finder(mutant))


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant):
        self._mutant = mutant

    def find_spec(self, fullname, path, target=None):
        if fullname != self._mutant.module:
            return None
        file = str(_path(fullname))
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self._mutant))


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant):
        super().__init__(fullname, path)
        self._mutant = mutant

    def get_code(self, fullname):
        return compile(changed_text(self._mutant), f"{fullname}.py", "exec")


def _path(module: str) -> Path:
    return Path(next(iter(ualink.__path__))).joinpath(*module.split(".")[1:]).with_suffix(".py")


if os.environ.get("TL_MUTANT"):
    install(next(mutant for mutant in MUTANTS if mutant.name == os.environ["TL_MUTANT"]))
