"""Firmware of a generated controller in cocotb: links, interrupts, Drop Mode and Isolation, through registers alone."""

from .identity import FirmwareError, Identity, identify
from .register_bus import DesignTable, RegisterBus
from .station_firmware import StationFirmware

__all__ = ["ControllerFirmware", "FirmwareError", "Identity"]

ISOLATION_CAUSE = "cause_"


class ControllerFirmware(StationFirmware):
    """What firmware does with the controller behind ``bus``, whose registers are those of ``table``.

    All that ``StationFirmware`` does, and Isolation, whose registers ``configure`` takes as window "isolation".

    Attributes
    ----------
    isolation : the registers of the accelerator's Originator, which stands before the controller; None: it has none.
    """

    def __init__(
        self,
        bus: RegisterBus,
        table: DesignTable,
        *,
        isolation: RegisterBus | None = None,
        patience: int = 5_000,
    ):
        super().__init__(bus, table, patience=patience)
        self.isolation = isolation

    async def identify(self) -> Identity:
        """What the description window shows; FirmwareError where it is not what the table says."""
        return await identify(self.windows, self.table)

    async def enter_isolation(self) -> None:
        """Isolate the Originator of the accelerator (§3.1.3)."""
        await self._isolation.write("enter", start=1)
        await self._wait("isolation", "status", isolated=1)

    async def leave_isolation(self) -> None:
        """Clear Isolation, wait until every outstanding Request has its dummy, and clear its event."""
        await self._isolation.write("clear", start=1)
        await self._wait("isolation", "status", isolated=0)
        await self._isolation.write("events", isolated=1)

    async def isolation_causes(self) -> set[str]:
        """Why the Originator is isolated: "time_out", "isolate" or "command"; empty: it is not."""
        status = await self._isolation.read_fields("status")
        return {
            name.removeprefix(ISOLATION_CAUSE)
            for name, bit in status.items()
            if bit and name.startswith(ISOLATION_CAUSE)
        }

    @property
    def _isolation(self) -> RegisterBus:
        if self.isolation is None:
            raise TypeError("this firmware was given no registers of Isolation")
        return self.isolation

    def _windows_of(self, name: str) -> list[RegisterBus]:
        return [self._isolation] if name == "isolation" else super()._windows_of(name)
