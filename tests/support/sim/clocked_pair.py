"""A module with ports of many widths, once as a block that is compiled apart and once as a part of the whole."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog

WIDTHS = (1, 7, 8, 9, 16, 17, 32, 33, 64, 65, 512)
LATE_WIDTHS = (1, 70)
LATE = tuple(f"late_{width}" for width in LATE_WIDTHS)


class Inner(wiring.Component):
    """``o`` is ``i`` of two cycles ago."""

    def __init__(self):
        super().__init__({"i": In(9), "o": Out(9)})

    def elaborate(self, platform):
        m = Module()
        between = Signal(9)
        m.d.sync += [between.eq(self.i), self.o.eq(between)]
        return m


class Mixed(wiring.Component):
    """Each ``o_<width>`` adds ``i_<width>`` in every cycle, ``o_8`` also one of three others; each ``early_<width>``
    follows ``late_<width>`` at once."""

    def __init__(self, inner):
        self._inner = inner
        super().__init__(
            {f"i_{width}": In(width) for width in WIDTHS}
            | {f"late_{width}": In(width) for width in LATE_WIDTHS}
            | {f"o_{width}": Out(width) for width in WIDTHS}
            | {f"early_{width}": Out(width) for width in LATE_WIDTHS}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self._inner
        m.d.comb += self._inner.i.eq(self.o_9)
        # In Verilog such a choice is a function, which has inputs of its own.
        other = Signal(8)
        with m.Switch(self.i_32[:2]):
            for n, chosen in enumerate((self.i_7, self.i_9, self.i_16)):
                with m.Case(n):
                    m.d.comb += other.eq(chosen)
        for width in WIDTHS:
            sum_ = getattr(self, f"o_{width}")
            m.d.sync += sum_.eq(sum_ + getattr(self, f"i_{width}") + self._inner.o + (other if width == 8 else 0))
        for width in LATE_WIDTHS:
            m.d.comb += getattr(self, f"early_{width}").eq(getattr(self, f"late_{width}") ^ self.o_64)
        return m


class Pair(wiring.Component):
    """Two chains of two ``Mixed`` each: of blocks, and whole. Both get the same, of registers and of ports.

    Members
    -------
    seed : 64 bit that change what registers hold; glance : acts on late inputs at once.
    same : no output differs between the chains. sum : of the last outputs.
    """

    def __init__(self):
        super().__init__({"seed": In(64), "glance": In(1), "same": Out(1), "sum": Out(32)})

    def elaborate(self, platform):
        m = Module()
        chains = {
            "block": [Blackbox(Mixed(Inner()), "mixed") for _ in range(2)],
            "whole": [Mixed(Inner()) for _ in range(2)],
        }
        shown = {}
        for name, chain in chains.items():
            m.submodules += chain
            outputs = {}
            for part in chain:
                for width in (*WIDTHS, *LATE_WIDTHS):
                    m.d.comb += self._inputs(part, width, outputs, m)
                outputs = {
                    port: getattr(part, port)
                    for port in (*(f"o_{width}" for width in WIDTHS), *(f"early_{width}" for width in LATE_WIDTHS))
                }
                shown.setdefault(name, []).extend(map(Value.cast, outputs.values()))
        m.d.comb += [
            self.same.eq(Cat(*shown["block"]) == Cat(*shown["whole"])),
            self.sum.eq(chains["block"][1].o_32 + chains["block"][1].early_70),
        ]
        return m

    def _inputs(self, part, width: int, before: dict, m: Module):
        """Of a first one from registers, of a second one from what the first shows."""
        if before:
            found = [getattr(part, f"i_{width}").eq(before[f"o_{width}"])] if width in WIDTHS else []
            late = [getattr(part, f"late_{width}").eq(before[f"early_{width}"] + 1)] if width in LATE_WIDTHS else []
            return found + late
        held = Signal(width, name=f"held_{width}")
        m.d.sync += held.eq(held.rotate_left(1) + (self.seed * width))
        found = [getattr(part, f"i_{width}").eq(held)] if width in WIDTHS else []
        return found + ([getattr(part, f"late_{width}").eq(held ^ self.glance)] if width in LATE_WIDTHS else [])


def sources() -> dict[str, str]:
    """Verilog of ``Pair`` as ``pair``, with blocks ``mixed`` and, in it, ``inner``."""
    parts = {"pair": Pair(), "mixed": Mixed(Blackbox(Inner(), "inner")), "inner": Inner()}
    return {f"{name}.v": to_verilog(part, name) for name, part in parts.items()}
