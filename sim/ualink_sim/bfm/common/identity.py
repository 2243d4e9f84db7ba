"""What a device of this project says that it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from .register_bus import DesignTable, RegisterBus

__all__ = ["FirmwareError", "Identity", "identify"]

IDENTIFIER = int.from_bytes(b"UALB", "little")
NAME_WORDS = 4


class FirmwareError(RuntimeError):
    """The hardware is not what the table says, or does not keep what was written to it."""


@dataclass(frozen=True)
class Identity:
    """What the description window shows: name, clock of the registers in Hz, number of windows, hash of the maps."""

    name: str
    clock_hz: int
    windows: int
    map_hash: int


async def identify(windows: Mapping[str, RegisterBus], table: DesignTable) -> Identity:
    """What the description window shows; FirmwareError where it is not what the table says."""
    description = windows["description"]
    if (identifier := await description.read("identifier")) != IDENTIFIER:
        raise FirmwareError(f"the identifier reads {identifier:#010x}, not {IDENTIFIER:#010x}: no such registers")
    words = [await description.read(f"name_{n}") for n in range(NAME_WORDS)]
    layout = await description.read_fields("layout")
    identity = Identity(
        name=b"".join(word.to_bytes(4, "little") for word in words).rstrip(b"\0").decode("ascii"),
        clock_hz=await description.read("clock"),
        windows=layout["windows"] + (layout["windows_high"] << 8),
        map_hash=await description.read("map_hash"),
    )
    expected = Identity(table.design, table.clock_hz, len(table.windows), table.map_hash)
    if (identity, layout["version"]) != (expected, table.layout_version):
        raise FirmwareError(f"the hardware is {identity}, layout {layout['version']}; the table is of {expected}")
    return identity
