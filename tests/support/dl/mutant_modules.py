"""Copies of the replay modules with one text changed, which stand beside the right ones in one simulation."""

import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

from support.dl.replay_pair import narrow
from ualink import dl

__all__ = ["MODULES", "load"]

MODULES = (
    "replay.sequence",
    "replay.receive",
    "replay.header_scheduler",
    "replay.buffer",
    "replay.transmit",
    "link.forward_progress",
)
"""Modules of ``ualink.dl`` that a mutant may change, in order of import."""


def load(mutant=None, **shape: int) -> SimpleNamespace:
    """Modules of the replay of their own, with narrow beats (``shape`` as of ``narrow``) and what ``mutant`` (of
    ``support.dl.mutants``) changes. ``replay_buffer`` is the module ``replay.buffer``, and so on."""
    if mutant and mutant.module not in MODULES:
        raise ValueError(f"mutant {mutant.name!r} is of {mutant.module}, which is none of {', '.join(MODULES)}")
    folder = Path(next(iter(dl.__path__)))
    copies = SimpleNamespace()
    with _imports_restored():
        for name in MODULES:
            text = folder.joinpath(*name.split(".")).with_suffix(".py").read_text()
            if mutant and mutant.module == name:
                if text.count(mutant.old) != 1:
                    raise ValueError(
                        f"mutant {mutant.name!r}: its text stands {text.count(mutant.old)} times in {name}"
                    )
                text = text.replace(mutant.old, mutant.new)
            module = ModuleType(f"ualink.dl.{name}")
            sys.modules[module.__name__] = module
            exec(compile(text, f"{name}.py", "exec"), module.__dict__)
            setattr(copies, name.replace(".", "_"), module)
    return narrow(copies, **shape)


@contextmanager
def _imports_restored():
    names = [f"ualink.dl.{name}" for name in MODULES]
    saved = {name: sys.modules.get(name) for name in names}
    try:
        yield
    finally:
        for name, module in saved.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
