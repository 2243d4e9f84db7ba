"""Parts of a design that are made once for all that are equal."""

import re
from collections import Counter
from collections.abc import Callable

from amaranth.lib import wiring

from ualink.emit.blackbox import Blackbox

__all__ = ["SharedParts", "part_name"]


class SharedParts:
    """``stand_in`` of a ``SwitchCore``: equal parts are instances of one Verilog module, to be made of ``parts``.

    Parameters
    ----------
    shared : whether parts of that class are made once; by default all are.

    Attributes
    ----------
    parts : by the name of its module, each part that others stand for; complete when the core has been elaborated.
    instances : by the same name, how many there are of it.
    """

    def __init__(self, shared: Callable[[type], bool] = lambda kind: True):
        self._shared = shared
        self.parts: dict[str, wiring.Component] = {}
        self.instances: Counter[str] = Counter()
        self._made: dict[str, tuple] = {}

    def __call__(self, kind, *parameters):
        if not self._shared(kind):
            return kind(*parameters)
        name = part_name(kind, *parameters)
        if name not in self.parts:
            self.parts[name], self._made[name] = kind(*parameters), parameters
        if self._made[name] != parameters:
            raise ValueError(f"two parts that differ would be {name}: {self._made[name]}, {parameters}")
        self.instances[name] += 1
        return Blackbox(self.parts[name], name)


def part_name(kind: type, *parameters) -> str:
    """Name of the module of a part: its class and those of its parameters that are words or whole numbers."""
    words = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()]
    return "_".join(["ualink", *words, *(str(value) for value in parameters if isinstance(value, str | int))])
