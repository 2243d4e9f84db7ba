"""Two blocks with the same members beside each other: the same in every cycle, whatever goes in."""

from amaranth.hdl import Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Lockstep"]


class Lockstep(wiring.Component):
    """``blocks``, two of them, with the same inputs.

    Members
    -------
    What goes into both is in ``inputs``, by its path: ``inputs["input.valid"]``. ``outputs`` are those of the first.
    clear : both are reset.
    differs : a bit for each of ``outputs``: the other has something else.

    Parameters
    ----------
    unless : paths of outputs that have a meaning only while that of another output, 1 bit, is high.
    """

    def __init__(self, *blocks, unless=None):
        self.blocks, self._unless = blocks, unless or {}
        self.inputs, self.outputs, self._pairs = {}, {}, []
        first, second = (
            {_path(path): (member.flow, Value.cast(value)) for path, member, value in block.signature.flatten(block)}
            for block in blocks
        )
        assert first.keys() == second.keys()
        for path, (flow, value) in first.items():
            if flow is In:
                self.inputs[path] = Signal.like(value, name=path.replace(".", "__"))
            else:
                self.outputs[path] = value
            self._pairs.append((path, value, second[path][1]))
        super().__init__({"clear": In(1), "differs": Out(len(self.outputs))})

    def elaborate(self, platform):
        m = Module()
        for block in self.blocks:
            m.submodules += ResetInserter(self.clear)(block)
        names = list(self.outputs)
        for path, one, other in self._pairs:
            if path in self.inputs:
                m.d.comb += [one.eq(self.inputs[path]), other.eq(self.inputs[path])]
            else:
                counts = self.outputs[self._unless[path]] if path in self._unless else 1
                m.d.comb += self.differs[names.index(path)].eq((one != other) & counts)
        return m

    def check(self, ctx, told) -> None:
        """Nothing differs now; else it is said what, with ``told``."""
        differs = ctx.get(self.differs)
        assert not differs, ([path for n, path in enumerate(self.outputs) if differs >> n & 1], told)


def _path(path):
    return ".".join(map(str, path))
