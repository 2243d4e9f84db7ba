"""Firmware of a data link in cocotb: bring-up, queries, channels, UART, rates and counters over its registers."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from ...model.dl.messages import VendorDefinedPacket
from .register_bus import RegisterBus

__all__ = ["DLFirmware", "FirmwareTimeout", "Packet"]

DWORD_BYTES = 4
LONGEST_PACKET = 256
"""Payload dwords of a Vendor Defined Packet (UALink_200 Table 6-9)."""


class FirmwareTimeout(TimeoutError):
    """What firmware waited for did not come within its patience."""


@dataclass(frozen=True)
class Packet:
    """A Vendor Defined Packet; FFFFh is UALink's own ``vendor_id``, ``payload`` has 4 to 1024 bytes, whole dwords."""

    vendor_id: int
    type: int
    payload: bytes


class DLFirmware:
    """What firmware does with the data link behind ``bus``; each coroutine returns when it is done.

    ``patience`` is how often a register is read before FirmwareTimeout. Sections are those of UALink_200.
    """

    def __init__(self, bus: RegisterBus, *, patience: int = 5_000):
        self.bus = bus
        self.patience = patience

    async def bring_up(self, **settings: int) -> None:
        """Enable the link and wait until it is up and channel 0 is online, if that is wanted (§6.7.1, §6.4.3.2).

        ``settings`` are fields of ``link_control`` and ``replay_control``, such as ``rx_replay_limit``.
        """
        settings["enable"] = 1
        for register in ("replay_control", "link_control"):
            known = self.bus.table[register].fields
            values = {name: value for name, value in settings.items() if name in known}
            settings = {name: value for name, value in settings.items() if name not in known}
            if register == "link_control" and settings:
                raise TypeError(f"no such setting: {', '.join(settings)}")
            if values:
                await self.bus.write(register, **values)
        await self.wait_until(self._is_up, "the link to come up")
        wanted = await self.bus.read_fields("link_control")
        for channel, name in ((0, "online"), (4, "online_4")):
            if wanted[f"channel_{channel}_online"]:
                await self._wait_for("link_status", name, 1, f"channel {channel} to be online")

    async def take_down(self) -> None:
        """Forbid the link to come up again once it is down; that it goes down is not firmware's to decide (§6.7.1)."""
        await self.bus.write("link_control", enable=0)

    async def link_state(self) -> str:
        """``fault``, ``idle``, ``nop`` or ``up``."""
        code = await self.bus.read("link_status", "link_state")
        names = self.bus.table.field("link_status", "link_state").values
        return next(name for name, value in names.items() if value == code)

    async def _is_up(self) -> bool:
        return await self.link_state() == "up"

    async def set_channel(self, channel: int, online: bool) -> None:
        """Have channel 0 (TL flits) or 4 (UART) negotiated, and wait for the partner (§6.4.3.2)."""
        if channel not in (0, 4):
            raise ValueError(f"channel is {channel}; it must be 0 or 4")
        await self.bus.write("link_control", **{f"channel_{channel}_online": int(online)})
        state = f"channel {channel} to be {'online' if online else 'offline'}"
        await self._wait_for("link_status", "online_4" if channel else "online", int(online), state)

    async def set_identity(self, *, id: int | None = None, type: str = "accelerator", port: int | None = None) -> None:
        """What the partner is told when it asks (§6.4.2.3-4); None: not known."""
        code = self.bus.table.field("local_device", "type").values[type]
        await self.bus.write("local_device", id=id or 0, type=code, valid=int(id is not None))
        await self.bus.write("local_port", number=port or 0, valid=int(port is not None))

    async def ask_device_id(self, *, attempts: int = 2) -> tuple[int | None, str]:
        """Ask the partner for its ID, None if it has none, and type (§6.4.2.3); asks again, as no hardware does."""
        await self._ask("ask_device", attempts)
        told = await self.bus.read_fields("partner_device")
        names = {value: name for name, value in self.bus.table.field("partner_device", "type").values.items()}
        return (told["id"] if told["valid"] else None), names.get(told["type"], "reserved")

    async def ask_port_number(self, *, attempts: int = 2) -> int | None:
        """Ask the partner for its port number, None if it has none (§6.4.2.4)."""
        await self._ask("ask_port", attempts)
        told = await self.bus.read_fields("partner_port")
        return told["number"] if told["valid"] else None

    async def announce_rate(self, rate: int, *, attempts: int = 2) -> None:
        """Tell the partner the rate of this side's TL clock, in units of 50 kHz, and wait for its Ack (§6.4.2.2)."""
        await self._ask("announce_rate", attempts, rate=rate)

    async def partner_rate(self) -> int:
        """The rate that the partner announced, in units of 50 kHz."""
        return await self.bus.read("partner_rate", "rate")

    async def uart_reset(self, *, all_streams: bool = False) -> None:
        """Reset the UART stream and wait for the partner (§6.4.4.1.2); hardware repeats the request."""
        await self._ask("uart_reset", 1, all_streams=int(all_streams))

    async def uart_write_dwords(self, dwords: Iterable[int]) -> None:
        """Write dwords to the Tx buffer, waiting for room where it is full (§6.4.4)."""
        room = 0
        for dword in dwords:
            while not room:
                await self.wait_until(self._uart_room, "room in the UART Tx buffer")
                room = await self._uart_room()
            await self.bus.write("uart_tx", data=dword)
            room -= 1

    async def _uart_room(self) -> int:
        depth = await self.bus.read("uart_depths", "tx")
        return max(0, depth - await self.bus.read("uart_levels", "tx"))

    async def uart_read_dwords(self, count: int | None = None) -> list[int]:
        """``count`` dwords of the Rx buffer, waiting for them; None: those that are there."""
        dwords: list[int] = []
        while count is None or len(dwords) < count:
            there = await self.bus.read("uart_levels", "rx")
            if count is None:
                count = there
            elif not there:
                await self.wait_until(self._uart_level, "UART data")
                continue
            for _ in range(min(there, count - len(dwords))):
                dwords.append(await self.bus.read("uart_rx", "data"))
        return dwords

    async def _uart_level(self) -> int:
        return await self.bus.read("uart_levels", "rx")

    async def uart_write(self, data: bytes) -> None:
        """Write bytes, whole dwords, the first byte in bits 7:0."""
        if len(data) % DWORD_BYTES:
            raise ValueError(f"{len(data)} bytes are no whole dwords")
        await self.uart_write_dwords(_dwords(data))

    async def uart_read(self, length: int) -> bytes:
        """Read ``length`` bytes, whole dwords, waiting for them."""
        if length % DWORD_BYTES:
            raise ValueError(f"{length} bytes are no whole dwords")
        return _bytes(await self.uart_read_dwords(length // DWORD_BYTES))

    async def send_packet(self, packet: Packet) -> None:
        """Write a Vendor Defined Packet (Table 6-9)."""
        count = len(packet.payload) // DWORD_BYTES
        if len(packet.payload) % DWORD_BYTES or not 1 <= count <= LONGEST_PACKET:
            raise ValueError(f"the payload has {len(packet.payload)} bytes; it must be 4 to 1024, whole dwords")
        if not (0 <= packet.type < 1 << 8 and 0 <= packet.vendor_id < 1 << 16):
            raise ValueError(f"type {packet.type:#x} or vendor ID {packet.vendor_id:#x} does not fit in 8 or 16 bits")
        header = VendorDefinedPacket(count - 1, packet.type, packet.vendor_id)
        await self.uart_write_dwords([header.encode(), *_dwords(packet.payload)])

    async def receive_packet(self) -> Packet:
        """Read a Vendor Defined Packet, waiting for all of it."""
        (dword,) = await self.uart_read_dwords(1)
        header = VendorDefinedPacket.decode(dword)
        payload = await self.uart_read_dwords(header.length + 1)
        return Packet(header.vendor_id, header.type, _bytes(payload))

    async def counters(self) -> dict[str, int]:
        """Every counter at one and the same moment; they wrap around at 2^32."""
        copied = {name: word for name, word in self.bus.table.registers.items() if word.snapshot}
        for register in {word.snapshot: None for word in copied.values()}:
            await self.bus.write(str(register), start=1)
        return {name: await self.bus.read(name, "count") for name in copied}

    async def events(self) -> set[str]:
        """What has happened since the last call, cleared by it."""
        word = await self.bus.read("events")
        await self.bus.write_word(self.bus.table["events"].offset, word)
        return {name for name, field in self.bus.table["events"].fields.items() if field.value(word)}

    async def wait_until(self, condition: Callable[[], Awaitable[object]], what: str) -> None:
        """Wait until ``condition()``, asked again and again, is true; ``what`` names it in FirmwareTimeout."""
        for _ in range(self.patience):
            if await condition():
                return
        raise FirmwareTimeout(f"waited in vain for {what}")

    async def _wait_for(self, register: str, field: str, value: int, what: str) -> None:
        async def there() -> bool:
            return await self.bus.read(register, field) == value

        await self.wait_until(there, what)

    async def _ask(self, register: str, attempts: int, **settings: int) -> None:
        """Start what ``register`` starts and wait for its end; withdraw and start again when it does not come."""
        for attempt in range(attempts):
            await self.bus.write(register, start=1, **settings)
            try:
                return await self._wait_for(register, "start", 0, f"the end of {register}")
            except FirmwareTimeout:
                await self.bus.write(register, start=0, **settings)
                if attempt == attempts - 1:
                    raise
        raise ValueError(f"attempts is {attempts}; it must be 1 or more")


def _dwords(data: bytes) -> list[int]:
    return [int.from_bytes(data[n : n + DWORD_BYTES], "little") for n in range(0, len(data), DWORD_BYTES)]


def _bytes(dwords: Iterable[int]) -> bytes:
    return b"".join(dword.to_bytes(DWORD_BYTES, "little") for dword in dwords)
