"""A block of four ports, of which some are used, beside one that is built for so many: the same in every cycle."""

from collections.abc import Callable

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib.wiring import In

__all__ = ["Beside"]


class Beside:
    """Gives ``chosen``, which has a member ``used``, what ``built`` gets, and compares what they give.

    Ports that are not used get all ones: none of it is to have an effect. Both are submodules of ``m`` already, or will
    be.

    Parameters
    ----------
    m : Module.
    chosen, built : the blocks.
    ports : those that ``built`` has.
    late : says of the path of an output that ``chosen`` has it one cycle later.
    unless : paths of outputs that have a meaning only while another output of ``built``, 1 bit, told by its path, is
        high, or a value is.
    alone : says of the path of an input or an output that it is of ``chosen`` only, and driven elsewhere or not looked
        at.
    tell : ``chosen`` is told that so many are used.
    """

    def __init__(
        self,
        m: Module,
        chosen,
        built,
        ports: int,
        *,
        late: Callable = lambda path: False,
        unless: dict | None = None,
        alone: Callable = lambda path: False,
        tell: bool = True,
    ):
        here, there = (
            {path: (member.flow, Value.cast(value)) for path, member, value in block.signature.flatten(block)}
            for block in (chosen, built)
        )
        self._paths: list = []
        self._extra: list = []
        differs, something = [], []
        unless = unless or {}
        if tell:
            m.d.comb += chosen.used.eq(ports)
        for path, (flow, value) in here.items():
            if path == ("used",) or alone(path) or isinstance(value, Const):
                continue
            twin = there[path][1] if path in there else None
            if flow is In:
                m.d.comb += value.eq(-1 if twin is None else twin)
            elif twin is not None:
                if late(path):
                    before = Signal.like(twin, reset_less=True)
                    m.d.sync += before.eq(twin)
                    twin = before
                counts = unless.get(path, Const(1))
                if isinstance(counts, tuple):
                    counts = there[counts][1]
                differ = Signal(name="_".join(map(str, ("differs", *path))))
                m.d.comb += differ.eq((value != twin) & counts)
                self._paths.append(path)
                differs.append(differ)
            elif path[-1] in ("valid", "ready") or path[0] == "dropped":
                self._extra.append(path)
                something.append(value)
        assert not [path for path, (flow, _) in there.items() if flow is not In and path not in here]
        self._differs, self._something = Signal(len(differs)), Signal(max(1, len(something)))
        for bits, values in ((self._differs, differs), (self._something, something)):
            m.d.comb += [bits[n].eq(value) for n, value in enumerate(values)]

    def check(self, ctx, told) -> None:
        """Nothing differs now, and nothing moves at a port that is not used; else it is said what, with ``told``."""
        differs, something = ctx.get(self._differs), ctx.get(self._something)
        assert not differs, ([path for n, path in enumerate(self._paths) if differs >> n & 1], told)
        assert not something, ([path for n, path in enumerate(self._extra) if something >> n & 1], told)
