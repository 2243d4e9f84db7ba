"""Rows of the data link and its CRC that synthesis gives."""

from collections.abc import Callable
from functools import partial

from ualink.dl.crc import CRC_STAGES
from ualink.dl.crc_checker import CrcChecker
from ualink.dl.crc_generator import CrcGenerator

from . import ecp5, silicon
from .data_links import DataLinks
from .rows import Bench, Options, Row, Unavailable

__all__ = ["benches"]

PORTS = (1, 4)
_CRC = {"generator": CrcGenerator, "checker": CrcChecker}
_UNITS = {"lut4": "LUTs", "ff": "registers", "ebr": "block RAMs", "depth": "LUTs", "fmax_mhz": "MHz"}
_WHAT = {
    "lut4": "LUT4s, carry chains and LUT RAMs included",
    "ff": "registers",
    "ebr": "block RAMs of 18 kbit",
    "depth": "most LUTs between two registers",
    "fmax_mhz": "after routing, one seed; seeds move it by some 7 %",
}
_PRELAYOUT = "without memories, mapped for 640 ps; Yosys and ABC, before layout"


def benches(options: Options) -> list[Bench]:
    """CRC variants and whole data links on an ECP5, data links in the library of ``options``."""
    rows: list[Bench] = []
    for kind, component in _CRC.items():
        for stages in CRC_STAGES:
            rows.extend(
                _on_ecp5(
                    f"dl.crc.{kind}.stages{stages}",
                    ("lut4", "ff", "depth"),
                    f"{component.__name__}(stages={stages}), 64 bytes a cycle",
                    partial(component, True, stages),
                )
            )
    for ports in PORTS:
        rows.extend(
            _on_ecp5(
                f"dl.ecp5.ports{ports}",
                ("lut4", "ff", "ebr", "depth"),
                f"DataLink of a station with {ports} port{'s' * (ports > 1)}",
                partial(DataLinks, ports),
            )
        )
    return rows + [_in_library(ports, options) for ports in PORTS]


def _on_ecp5(prefix: str, sizes: tuple[str, ...], what: str, make: Callable) -> list[Bench]:
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


def _in_library(ports: int, options: Options) -> Bench:
    name = "library"
    if options.liberties:
        name = silicon.library_name(options.liberties[0])
    prefix = f"dl.{name}.ports{ports}"

    def measure() -> dict[str, float]:
        if not options.liberties:
            raise Unavailable("give the files of a standard-cell library with --liberty")
        found = silicon.figures(DataLinks(ports), prefix, options.liberties)
        return {f"{prefix}.{kind}": value for kind, value in found.items()}

    what = f"DataLink of a station with {ports} port{'s' * (ports > 1)}"
    row = Row(name=f"{prefix}.area", unit="area of the library", how=f"{what}, {_PRELAYOUT}")
    return Bench((row,), measure)
