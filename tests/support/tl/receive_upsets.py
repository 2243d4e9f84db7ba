"""The registers and memories in which a TL receiver holds items, struck under traffic, and what comes of it."""

import random
import re
from dataclasses import replace
from functools import cache

from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.tl.flits import tl_flit
from support.tl.receive import CHANNELS, OPENS
from support.tl.stimulus import READ, WRITE_FULL
from support.tl.traffic import Traffic
from support.upsets import Memory, Place, Register, Strike, collect, name_of
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.lib.parity import WithoutDataParity
from ualink.tl.format.fields import CompressedCmd
from ualink.tl.receive.stages import CLASSIFIED_LAYOUT, PARSED_LAYOUT
from ualink.tl.receive.top import Receive
from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, CODED_LAYOUTS, PROTECTED_BITS
from ualink_sim.model.tl.fields import CompressedResponse
from ualink_sim.model.tl.sequence import POISONED_DATA

__all__ = ["CONFIG", "ReceiveUpsets"]

CONFIG = TLConfig(
    rx_cache=AddressCacheConfig(rows=2, ways=2),
    **{name: Credits(pool=60, vc=(20,) * 4) for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")},
)
"""Enough credits for all traffic of a run, so that none need be returned."""

NO_ITEMS = {
    r"^(present|waiting|accepted|places)$": "whether a flit is there, and where which of its fields go",
    r"^(status__|data\.accounts__)": "credits, and what is told of the partner",
    r"^(session|sequence|errors)\.": "which half-flit is what; states and counts",
    r"^(request|response)_rate\.": "counts",
    r"_?(credits|room)\.": "counts",
    r"^(requests|responses|data)\.release__\d$": "credits",
    r"^requests\.(checked|missing|mismatch)$|^responses\.(reads|writes)_valid$": "whether something is there",
    r"\.assembler\.(ended|\w+_(comes|from_lower))$": "which half-flit is what",
    r"\.catch\.(valid|left|rest|row|free_row|shown|field|masks|output__valid)$": "which fields are there, and the next",
    r"\.cache\.(ready|sweeping|sweep_row|last_row|last_way|last_valid)$": "which entry is in the Address CAM",
    r"\.unload\.(index|busy|complete|some_complete|may_go)$": "how much of a transfer has left",
    r"queue\.(level|inside\w*|waiting\w*|read_index|write_index|following|direct|free|fill)$": "a queue",
    r"queue\.(oldest|others|third|newest)$": "where the oldest and the next of a queue are",
    r"queue\.(found|found_not|astray)$": "a queue",
    r"(half|byte_enables)\.(level|inside\w*|read_index|write_index|following|around)$": "a queue",
    r"^data\.buffer\.(freed_by|request_buffers|response_buffers)": "which buffers are free, which are next",
    r"^data\.buffer\.beats__\w+__complete$": "whether a transfer is there",
    r"^data\.buffer\.(unused|started|current|oldest|waiting|read)$": "which buffers are free, which are next",
}
"""Registers and memories in which no item is. Those without a name are of the same kinds, of ``FEW`` bits at most."""

FEW = 8

MEMBERS = {
    "parsed": (PARSED_LAYOUT, "flit", "decoded.tag_slot"),
    "classified": (
        *(CLASSIFIED_LAYOUT, "data", "code", "tags", "tag_slot", "tag_slot_code"),
        *("slots.0.poison", "slots.1.poison"),
    ),
}
"""Of these stages the members that are parts of items; the others tell which half-flit and which sector is what."""

COUNTS = {"kept": "$signal", "last": "last_valid"}
"""Registers written in every cycle that count only while a bit of their module is set: what goes round the memory of a
queue, where that bit has no name, and the entry of the Rx Address Cache that was loaded just now."""

FLITS, CYCLES = 80, 150
"""Flits that may start something, and cycles of a run."""

SAME = 5
"""Runs with the same traffic, as long as there are more places than that to strike."""

SHORT, LONG = 10, 24
"""Cycles after a strike in a register, and in a memory, before the next one, if nobody finds it."""


def _bits_of(layout, member):
    """Which bits of ``layout`` the member with this path is."""
    first = 0
    for name in member.split("."):
        field = layout[int(name) if name.isdigit() else name]
        first, layout, width = first + field.offset, field.shape, field.width
    return range(first, first + width)


@cache
def _parity_masks(channel):
    """What each bit of the code of a beat covers, itself too, in bits of the coded beat: of control, and of data."""
    layout = CODED_LAYOUTS[channel]
    code = layout["code"].offset

    def mask(name, low=0, bits=None):
        field = layout[name]
        return (1 << (field.width if bits is None else bits)) - 1 << field.offset + low

    fields = [name for name, _ in CHANNEL_LAYOUTS[channel]]
    control = sum(mask(name) for name in fields if name not in PROTECTED_BITS) | 1 << code
    own = []
    for name, field in CODE_LAYOUTS[channel]:
        if name != "control":
            bits = PROTECTED_BITS[name]
            own += [mask(name, bits * n, bits) | 1 << code + field.offset + n for n in range(field.width)]
    return control, own


def wrong_of(channel, beat) -> str:
    """What the code of ``beat``, an integer, says: ``control`` or ``data`` is wrong, or nothing."""
    control, own = _parity_masks(channel)
    if (beat & control).bit_count() % 2:
        return "control"
    return "data" if any((beat & mask).bit_count() % 2 for mask in own) else ""


def _poison_mask(channel, beat, wrong):
    """The bits of ``beat`` that do not matter if its data are ``wrong`` or it is poisoned: that mark, and data."""
    layout, poison = CHANNEL_LAYOUTS[channel], {"orig_data": "error", "rd_rsp": "data_error"}.get(channel)
    if poison is None or not (wrong or beat >> layout[poison].offset & 1):
        return 0
    away = 1 << layout[poison].offset | 1 << CODED_LAYOUTS[channel]["code"].offset
    return away | sum(_parity_masks(channel)[1])


class ShortTraffic(Traffic):
    """Many Requests and Responses, now those, now these, with few data, so that there is something everywhere.

    What counts in one cycle only needs more. Data that go round the memory of an empty queue leave at once only if
    their field waits for no others: messages before them let it be there first, and change which halves of beats share
    a flit. The entry that was loaded just now counts for a Compressed Request behind it. Of some poisoned beats one
    half is good, so that what is poison shows for either half.
    """

    def __init__(self, config, seed, **chances):
        super().__init__(config, seed, **chances)
        self.loaded = {}

    def _disguise(self, issues, data, message):
        data, message = super()._disguise(issues, data, message)
        halves = [data[:32], data[32:]]
        for n, half in enumerate(halves):
            if message >> n & 1 and half[0] == POISONED_DATA and self.meaningless.random() < 0.4:
                halves[n] = self.meaningless.randbytes(32)
                message ^= 1 << n
        return b"".join(halves), message

    def _try(self, sector, control):
        issue = super()._try(sector, control)
        if issue and getattr(control, "cload", 0):
            self.loaded = {name: getattr(control, name) for name in (self.cache.row_member, "cway")}
        return issue

    def _issues(self):
        self.requests = self.random.choice((0.1, 0.7))
        return super()._issues()

    def _request(self):
        return self._shorten(super()._request(), {"cmd": READ}, {"cmd": WRITE_FULL})

    def _compressed_request(self):
        control = super()._compressed_request()
        if control and self.random.random() < 0.5:
            control = replace(control, **self.loaded)
        return control and self._shorten(
            control, {"cmd": CompressedCmd.READ.value}, {"cmd": CompressedCmd.WRITE_FULL.value}
        )

    def _uncompressed_response(self):
        return self._shorten(super()._uncompressed_response(), {"rd_wr": 0})

    def _single(self):
        control = super()._single() or super()._single()
        if isinstance(control, CompressedResponse) and self.random.random() < 0.7:
            return replace(control, rd_wr=0, len=0)
        return control

    def _shorten(self, control, without_data, without_byte_enables=None):
        chance = self.random.random()
        if chance < 0.4:
            return replace(control, **without_data)
        if chance > 0.8:
            return control
        one_beat = {"num_beats" if hasattr(control, "num_beats") else "len": 0}
        return replace(control, **one_beat, **(without_byte_enables or {} if chance < 0.6 else {}))


class ReceiveUpsets:
    """A coded receiver that gets the same traffic in several runs, and whose beats are taken in the same cycles.

    ``strike_all`` flips bits, one after the other, and judges all beats that come: of each channel they are
    those that come without upsets, in order, or their code is wrong, or they are poisoned.

    Behind a beat whose control is wrong nothing is delivered any more: the one to whom it goes drops all. Here what
    follows is judged all the same. If it is not what it should be, or if two strikes have hit one item, the strikes
    that nobody has found are repeated, each alone.
    """

    def __init__(self, config, seed, *, flits=None, protected=True):
        self.config, self.rng = config, random.Random(seed)
        self.dut = Receive(config, coded=True)
        fragment, registers, memories = collect(self.dut if protected else WithoutDataParity(self.dut))
        self.protected = protected
        self.places: list[Place] = []
        self.left_out: list[Place] = []
        for place in (*registers, *memories):
            (self.places if _holds_items(place) else self.left_out).append(place)
        self._counts = _counts(registers)
        self._simulator = Simulator(fragment)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._bench)
        self._used = False
        self.right: dict[str, list[int]] | None = None
        self.begin(seed, flits)

    def begin(self, seed, flits=None):
        """Other traffic from now on."""
        authentication, rng = self.config.authentication, random.Random(seed)
        chances = {"density": 1.0, "messages": 0.35, "poison": 0.2, "idle": 0.2}
        traffic = ShortTraffic(self.config, seed, authentication=authentication, **chances)
        self.flits = flits or [*traffic.flits(FLITS)]
        # Queues are empty now and then, and now and then have more than their registers hold.
        self.ready = [[rng.random() < (0.1 if cycle // 12 % 2 else 0.9) for _ in CHANNELS] for cycle in range(CYCLES)]
        self.right = None
        self.right = self._run([])

    def strike_all(self, places, runs) -> list[str]:
        """Strike each of ``places`` until that is found, in at most so many ``runs``; names of those where it never
        was."""
        pending = list(places)
        for run in range(runs):
            if not pending:
                break
            if run % SAME == SAME - 1 or (run and len(pending) <= SAME):
                self.begin(f"{run}")
            self._run(pending)
            strikes, struck = self._strikes, self._found
            if self._doubtful:
                for strike in strikes:
                    if id(strike) not in struck:
                        self.repeat(strike)
                        struck = struck | self._found
            found = {id(strike.place) for strike in strikes if id(strike) in struck}
            pending = [place for place in pending if id(place) not in found]
        return [name_of(place) for place in pending]

    def repeat(self, strike) -> dict[str, str]:
        """Strike once; what came wrong, by channel."""
        self._run([], strike)
        assert not self._doubtful or self._dropping
        return self._wrong

    def _run(self, pending, repeated=None):
        if self._used:
            self._simulator.reset()
        self._used = True
        self._pending, self._repeated = list(pending), repeated
        self._strikes: list[Strike] = []
        self._found: set[int] = set()
        self._wrong: dict[str, str] = {}
        self._before: dict = {}
        self._rows: dict[int, int] = {}
        self._dropping = self._doubtful = False
        self.got: dict[str, list[int]] = {channel: [] for channel in CHANNELS}
        self._simulator.run()
        return self.got

    async def _bench(self, ctx):
        dut = self.dut
        streams = [getattr(dut, f"rx_{channel}") for channel in CHANNELS]
        ctx.set(dut.authentication, self.config.authentication)
        await ctx.tick().repeat(self.config.rx_cache.rows + 4)
        ctx.set(dut.online, 1)
        await ctx.tick().repeat(OPENS)
        for cycle, readies in enumerate(self.ready):
            flit = self.flits[cycle] if cycle < len(self.flits) else None
            ctx.set(dut.rx_flit.valid, flit is not None)
            if flit:
                ctx.set(dut.rx_flit.payload, tl_flit(int.from_bytes(flit[0], "little"), flit[1]))
            for stream, ready in zip(streams, readies, strict=True):
                ctx.set(stream.ready, ready)
            self._strike(ctx, cycle)
            for channel, stream, ready in zip(CHANNELS, streams, readies, strict=True):
                if ready and ctx.get(stream.valid):
                    self._judge(channel, ctx.get(stream.payload.as_value()))
            if ctx.get(dut.error_valid):
                self._finds(True)
                return
            if self._doubtful:
                return
            await ctx.tick()
        if self.right and any(len(self.got[channel]) != len(self.right[channel]) for channel in CHANNELS):
            self._differs("a beat is missing")

    def _strike(self, ctx, cycle):
        if self._repeated:
            if cycle == self._repeated.cycle:
                self._strikes.append(self._repeated)
                self._repeated.flip(ctx)
            return
        written = [(place, row) for place in self._pending for row in self._written(ctx, place)]
        last = self._strikes[-1] if self._strikes else None
        if (
            last
            and id(last) not in self._found
            and cycle < last.cycle + (LONG if isinstance(last.place, Memory) else SHORT)
        ):
            return
        if written:
            struck = {id(strike.place) for strike in self._strikes}
            fresh = [one for one in written if id(one[0]) not in struck] or written
            place, row = self.rng.choice(fresh)
            strike = Strike(place, row, self._bit(place), cycle)
            self._strikes.append(strike)
            strike.flip(ctx)

    def _written(self, ctx, place):
        """Yield that ``place`` has something new that counts, or the row that has; rows are written in their order."""
        counts = self._counts.get(id(place))
        if counts is not None and not ctx.get(counts):
            return
        row = self._rows.get(id(place), 0) if isinstance(place, Memory) else None
        value = ctx.get(_value(place, row))
        if value == self._before.get((id(place), row), 0):
            return
        self._before[id(place), row] = value
        if row is not None:
            self._rows[id(place)] = (row + 1) % place.depth
        yield row

    def _bit(self, place):
        if isinstance(place, Register) and place.path[0] in MEMBERS:
            layout, *members = MEMBERS[place.path[0]]
            return self.rng.choice(_bits_of(layout, self.rng.choice(members)))
        return self.rng.randrange(place.bits)

    def _finds(self, dropping):
        self._dropping |= dropping
        if self._strikes:
            self._found.add(id(self._strikes[-1]))

    def _differs(self, what):
        """A wrong beat, or none, that nobody finds wrong: only if everything is dropped already, or if two strikes may
        have hit one item."""
        self._doubtful = True
        assert self._dropping or len(self._strikes) > 1, f"{what}: {self._strikes[-1]}"

    def _judge(self, channel, beat):
        got, wrong = self.got[channel], wrong_of(channel, beat)
        got.append(beat)
        if not self.right:
            assert not wrong or not self.protected
            return
        if wrong:
            self._wrong[channel] = wrong
        if wrong == "control":
            self._finds(True)
            return
        if len(got) > len(self.right[channel]):
            self._differs(f"one more of {channel}")
            return
        right = self.right[channel][len(got) - 1]
        if beat == right:
            return
        if (beat ^ right) & ~_poison_mask(channel, beat, wrong):
            self._differs(f"{channel} {beat ^ right:x}")
        else:
            self._finds(False)


def _value(place, row):
    return place.signal if row is None else Value.cast(place.rows[row])


def _counts(registers):
    """Of the registers of ``COUNTS`` the signals that say so, by the identity of the register."""
    bits = {place.path: place.signal for place in registers if place.bits == 1}
    others = ((place, (*place.path[:-1], COUNTS.get(place.path[-1]))) for place in registers)
    return {id(place): bits[path] for place, path in others if path in bits}


def _holds_items(place):
    if any(re.search(rule, name_of(place)) for rule in NO_ITEMS):
        return False
    return not (place.path[-1].startswith("$") and place.bits <= FEW)
