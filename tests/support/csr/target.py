"""Registers behind a bridge in Amaranth's simulator: slow at random, strict about the bus."""

from random import Random


class Target:
    """Answers the accesses on ``bus`` after 1 to 5 cycles; ``log`` has each write as (address, word), each read as
    (address, None). Reads give ``word_at(address)``; every access to an address in ``faulty`` is answered with an
    error."""

    def __init__(self, bus, seed: int, faulty=()):
        self.bus, self.faulty = bus, faulty
        self.log: list[tuple[int, int | None]] = []
        self._random = Random(seed)

    @staticmethod
    def word_at(address: int) -> int:
        """What is read there."""
        return (0x9E37_79B1 * (address + 1)) & 0xFFFF_FFFF

    async def run(self, ctx):
        """The background process of the simulation."""
        bus = self.bus
        while True:
            _, _, read, write, address, data = await ctx.tick().sample(bus.read, bus.write, bus.address, bus.write_data)
            if not read | write:
                continue
            assert not read & write
            self.log.append((address, data if write else None))
            for _ in range(self._random.randrange(5)):
                _, _, *now = await ctx.tick().sample(bus.read | bus.write, bus.address, bus.write_data)
                assert now == [0, address, data], "the access changed while it went on"
            error = address in self.faulty
            ctx.set(bus.done, 1)
            ctx.set(bus.error, error)
            ctx.set(bus.read_data, 0 if write or error else self.word_at(address))
            _, _, read, write = await ctx.tick().sample(bus.read, bus.write)
            for signal in (bus.done, bus.error, bus.read_data):
                ctx.set(signal, 0)
            assert not read | write, "these bridges start nothing in the cycle of done"
