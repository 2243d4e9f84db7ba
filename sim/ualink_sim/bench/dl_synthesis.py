"""Rows of the data link and its CRC that synthesis gives."""

from functools import partial

from ualink.dl.flit.crc import CRC_STAGES
from ualink.dl.flit.crc_checker import CrcChecker
from ualink.dl.flit.crc_generator import CrcGenerator

from .data_links import DataLinks
from .rows import Bench, Options
from .synthesis import SIZES, in_library, on_ecp5

__all__ = ["benches"]

PORTS = (1, 4)
_CRC = {"generator": CrcGenerator, "checker": CrcChecker}


def benches(options: Options) -> list[Bench]:
    """CRC variants and whole data links on an ECP5, data links in the library of ``options``."""
    rows: list[Bench] = []
    for kind, component in _CRC.items():
        for stages in CRC_STAGES:
            rows.extend(
                on_ecp5(
                    f"dl.crc.{kind}.stages{stages}",
                    ("lut4", "ff", "depth"),
                    f"{component.__name__}(stages={stages}), 64 bytes a cycle",
                    partial(component, True, stages),
                )
            )
    links = {ports: f"DataLink of a station with {ports} port{'s' * (ports > 1)}" for ports in PORTS}
    for ports, what in links.items():
        rows.extend(on_ecp5(f"dl.ecp5.ports{ports}", SIZES, what, partial(DataLinks, ports)))
    for ports, what in links.items():
        rows.append(in_library(f"dl.{{}}.ports{ports}", what, partial(DataLinks, ports), options))
    return rows
