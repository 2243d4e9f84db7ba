"""Rows that synthesis gives, alike for every block."""

from collections.abc import Callable

from amaranth.lib import wiring

from . import ecp5, library_area
from .liberty import library_name
from .rows import Bench, Options, Row, Unavailable

__all__ = ["SIZES", "in_library", "on_ecp5"]

SIZES = ("lut4", "ff", "ebr", "depth")
_UNITS = {"lut4": "LUTs", "ff": "registers", "ebr": "block RAMs", "depth": "LUTs", "fmax_mhz": "MHz"}
_WHAT = {
    "lut4": "LUT4s, carry chains and LUT RAMs included",
    "ff": "registers",
    "ebr": "block RAMs of 18 kbit",
    "depth": "most LUTs between two registers",
    "fmax_mhz": "after routing, one seed; seeds move it by some 7 %",
}
_PRELAYOUT = "without memories, mapped for 640 ps; Yosys and ABC, before layout"


def on_ecp5(prefix: str, sizes: tuple[str, ...], what: str, make: Callable[[], wiring.Component]) -> list[Bench]:
    """Sizes, which synthesis tells, and Fmax, for which place and route takes minutes more."""

    def bench(kinds: tuple[str, ...], place: bool) -> Bench:
        def measure() -> dict[str, float]:
            found = ecp5.figures(make(), prefix, place=place)
            return {f"{prefix}.{kind}": found[kind] for kind in kinds}

        tools = "yosys and nextpnr" if place else "yosys"
        return Bench(
            tuple(
                Row(
                    name=f"{prefix}.{kind}",
                    unit=_UNITS[kind],
                    how=f"{what}; {_WHAT[kind]}; {tools}, {ecp5.DEVICE}; ports between registers, not counted",
                )
                for kind in kinds
            ),
            measure,
        )

    return [bench(sizes, place=False), bench(("fmax_mhz",), place=True)]


def in_library(prefix: str, what: str, make: Callable[[], wiring.Component], options: Options) -> Bench:
    """Area in the library of ``options``, whose name takes the place of ``{}`` in ``prefix``."""
    prefix = prefix.format(library_name(options.liberties[0]) if options.liberties else "library")

    def measure() -> dict[str, float]:
        if not options.liberties:
            raise Unavailable("give the files of a standard-cell library with --liberty")
        found = library_area.figures(make(), prefix, options.liberties)
        return {f"{prefix}.{kind}": value for kind, value in found.items()}

    row = Row(name=f"{prefix}.area", unit="area of the library", how=f"{what}, {_PRELAYOUT}")
    return Bench((row,), measure)
