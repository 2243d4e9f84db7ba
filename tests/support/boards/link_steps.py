"""What a person does at the serial lines of two links, step by step; of a link in a larger design by its windows."""

import cocotb

__all__ = ["WindowsOf", "both", "bring_up", "enable", "run_traffic", "wait_until_up"]


class WindowsOf:
    """The windows of one link of a design with several: ``dl`` is ``<name>_dl`` of ``console``."""

    def __init__(self, console, name: str):
        self._console, self._name = console, name

    async def read(self, register: str) -> dict[str, int]:
        return await self._console.read(f"{self._name}_{register}")

    async def write(self, register: str, **values: int) -> None:
        await self._console.write(f"{self._name}_{register}", **values)

    async def until(self, register: str, what: str, tries: int = 400, **values: int) -> dict[str, int]:
        return await self._console.until(f"{self._name}_{register}", f"{what} of {self._name}", tries, **values)

    async def counters(self, window: str) -> dict[str, int]:
        return await self._console.counters(f"{self._name}_{window}")


async def both(consoles, step):
    """``step(console, number)`` at both boards at once."""
    tasks = [cocotb.start_soon(step(console, number)) for number, console in enumerate(consoles)]
    for task in tasks:
        await task


async def enable(console) -> None:
    """Let the link come up once its lanes are there."""
    await console.until("phy.status", "aligned", aligned=1, flits_aligned=1)
    await console.write("dl.link_control", enable=1)


async def wait_until_up(console) -> None:
    """Both ends are enabled: until Requests may go."""
    await console.until("dl.link_status", "online", online=1)
    await console.until("tl.status", "credits", credits_ready=1)
    await console.until("phy.status", "no fault", link_fault=0, fault=0)


async def bring_up(console, number: int) -> None:
    """From lanes to link, of one end while somebody does the same at the other."""
    await enable(console)
    await wait_until_up(console)


async def run_traffic(console, number: int, requests: int, **mode: int) -> None:
    """A run of the traffic engine that asks the other link for its 64 blocks."""
    own = 1 + number
    await console.write("traffic.identity", own=own)
    await console.write("traffic.destination", first=3 - own, count=1)
    await console.write("traffic.region", region=6)
    await console.write("traffic.new_seed", new_seed=77 + own)
    await console.write("traffic.old_seed", old_seed=77 + own)
    await console.write("traffic.requests", requests=requests)
    await console.write("traffic.outstanding", outstanding=16)
    await console.write("traffic.time_out", time_out=0)
    mix = {name: mode.pop(name) for name in ("read", "write") if name in mode}
    await console.write("traffic.mix", **{"read": 0, "write": 0, **mix})
    await console.write("traffic.mode", **mode)
    await console.write("traffic.run", start=1)
