"""The registers and memories in which a TL transmitter holds items, struck under traffic, and what comes of it."""

import itertools
import random
import re
from collections import deque

from amaranth.sim import Simulator

from support.tl.flits import byte_parity
from support.tl.stimulus import CHANNELS, CLASSES, random_traffic
from support.upsets import Memory, Strike, collect, name_of
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.tl.format.half_flits import REQUEST_FIELD_LAYOUT, RESPONSE_FIELD_LAYOUT
from ualink.tl.transmit.top import Transmit
from ualink.upli.channels import CODE_LAYOUTS, PROTECTED_BITS

__all__ = ["CONFIG", "OFFERED", "THIN", "TransmitBench", "UpsetBench", "flit_good"]

CONFIG = TLConfig(
    **{name: Credits(pool=4) for name in CLASSES},
    tx_cache=AddressCacheConfig(rows=4, ways=2),
    authentication=True,
)

NO_ITEMS = {
    r"^(credits|release|request_limit|response_limit)\.": "credits",
    r"^compression\.cache\.": "decides on forms; entries have a parity of their own",
    r"^(requests|responses)\.(forms\.|(taken|eligible|tagged|rows|pairs|after|fit|\$signal)$)": "what is decided by",
    r"^(requests|responses)\.(uncompressed|(un)?compressed_at_limit)$": "what is decided by",
    r"\.(valid|inside\w*|level|free|oldest|others|third|newest|direct|\$signal)$": "what is there, and where",
    r"^(orig|rd)_data\.((read|write)_index|following)$": "where something is, in a lean transmitter's plain queue",
    r"^rd_data\.data\.(turn|source|(read|write)_\d_(before|moved))$": "where something is",
    r"^gearbox\.(requests?|responses?)_": "which data are owed",
    r"^gearbox\.(below|beat|carried|some_\w+)$": "which data are owed",
    r"^packer\.(choice|places|fresh|share\..*)$": "what is decided; FC fields, which are credits",
    r"^packer\.share\b": "whose turn it is",
    r"^sequence\.(slots\.|leaves$)": "what is decided by counts",
    r"^(was_online|(orig|rd)_residue\..*|response_intake\.(rest|wr_turn|o__valid))$": "where a transfer is",
    r"^compression\.error$": "told to firmware",
    r"^authentication$": "a mode, which stays while the link is online",
}
"""Registers in which no item is."""

FIELDS = {
    "compression.coming": REQUEST_FIELD_LAYOUT,
    "compression.held": REQUEST_FIELD_LAYOUT,
    "response_intake.stored": RESPONSE_FIELD_LAYOUT,
}
"""Registers of fields with what is decided of them: ``compressed`` and ``job``, which are not struck."""

OFFERED = [
    (channel, name, bit)
    for channel, layout in CODE_LAYOUTS.items()
    for name, field in layout
    for bit in sorted({0, field.width - 1})
]
"""Strikes at the code of a beat that comes: the first and the last bit of each part."""

WINDOW, SETTLES = 30, 6
"""Cycles after which the next strike comes, if an upset has not shown, and if it has."""

RECENT, AGAIN = 6, 20
"""The last strikes that may show in one flit; cycles for which they are watched after that flit, when made again."""

ROUND = 800
"""Cycles from reset to reset at most: what has to be made again begins there, too."""

OPENS = 40
"""Cycles from reset until traffic moves."""

BUSY, THIN = 0.9, 0.1
"""How likely a beat of a Read Response comes in a cycle; any other is ``BUSY``. With ``THIN`` their queue is empty now
and then and data go round its memories, which with ``BUSY`` they never do."""


def _parity(value: int) -> int:
    return value.bit_count() & 1


def code_of(beat: dict) -> dict:
    """The code of a beat, of ``CODE_LAYOUTS``."""
    code = {"control": sum(_parity(value) for name, value in beat.items() if name not in PROTECTED_BITS) & 1}
    for name, bits in PROTECTED_BITS.items():
        if name in beat:
            words = range(0, 512 if name == "data" else 64, bits)
            code[name] = sum(_parity(beat[name] >> low & (1 << bits) - 1) << n for n, low in enumerate(words))
    return code


def flit_good(flit) -> bool:
    """``flit`` has right parity over data and over control."""
    data, message, error, parity, control_parity = flit
    return parity == byte_parity(data) and control_parity == (message.bit_count() + error) & 1


class TransmitBench:
    """A transmitter with traffic that is the same in each run; ``run`` gives its flits by cycle."""

    def __init__(self, dut, seed, *, design=None):
        self.dut, self.seed, self.coded = dut, seed, dut.coded
        self._simulator = Simulator(dut if design is None else design)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._testbench)
        self._used = False

    def run(self, cycles, act=None, *, read_share=BUSY) -> dict[int, tuple]:
        """So many cycles from reset, ``read_share`` of them with a beat of a Read Response. In each of them
        ``act(ctx, cycle, flit)`` is called with the flit that is taken or None, and gives what is to be spoilt of a
        beat offered, as (channel, name in the code, bit), or None."""
        if self._used:
            self._simulator.reset()
        self._used, self._stopped, self._cycles, self._act = True, False, cycles, act
        self._share = dict.fromkeys(CHANNELS, BUSY) | {"rd_rsp": read_share}
        self.flits: dict[int, tuple] = {}
        self._simulator.run()
        return self.flits

    async def _testbench(self, ctx):
        rng, dut = random.Random(self.seed), self.dut
        ctx.set(dut.online, 1)
        ctx.set(dut.restart, 0)
        ctx.set(dut.authentication, 1)
        ctx.set(dut.status.buffers_free, 1)
        waiting = {channel: deque() for channel in CHANNELS}
        offered = dict.fromkeys(CHANNELS)
        returned = dict.fromkeys(CLASSES, 0)
        spoil, pace = None, 0.5
        for cycle in range(self._cycles):
            if min(map(len, waiting.values())) <= 8:
                _more(rng, waiting)
            if cycle % 64 == 0:
                pace = rng.choice((0.35, 0.6, 1.0))
            for channel, port in ((name, getattr(dut, f"tx_{name}")) for name in CHANNELS):
                if offered[channel] is None and cycle > OPENS and rng.random() < self._share[channel]:
                    offered[channel] = waiting[channel].popleft()
                    code = code_of(offered[channel]) if self.coded else {}
                    if spoil is not None and spoil[0] == channel:
                        code[spoil[1]] ^= 1 << spoil[2]
                        spoil = None
                    ctx.set(port.payload, {**offered[channel], **({"code": code} if self.coded else {})})
                ctx.set(port.valid, offered[channel] is not None)
            self._status(ctx, cycle, returned)
            ctx.set(dut.tx_flit.ready, rng.random() < pace)
            for channel in CHANNELS:
                port, beat = getattr(dut, f"tx_{channel}"), offered[channel]
                if beat is not None and ctx.get(port.ready):
                    _give_back(returned, channel, beat)
                    offered[channel] = None
            flit = None
            if ctx.get(dut.tx_flit.valid) and ctx.get(dut.tx_flit.ready):
                payload = ctx.get(dut.tx_flit.payload)
                flit = payload.data, payload.message, payload.error, payload.parity, payload.control_parity
                self.flits[cycle] = flit
            if self._act is not None:
                spoil = self._act(ctx, cycle, flit) or spoil
            if self._stopped:
                return
            await ctx.tick()

    def stop(self):
        """End the run with this cycle."""
        self._stopped = True

    def _status(self, ctx, cycle, returned):
        """Credits without end: what is spent comes back."""
        counts = {}
        if cycle < 20:
            counts = dict.fromkeys(CLASSES, 3)
        elif cycle > 24:
            counts = {name: min(count, 3) for name, count in returned.items()}
            for name, count in counts.items():
                returned[name] -= count
        ctx.set(self.dut.status.peer_init_done, cycle > 22)
        fc = {name: {"pool": counts.get(name, 0), "vc": [0] * 4} for name in CLASSES}
        ctx.set(self.dut.status.fc, {"valid": any(counts.values()), **fc})


def _more(rng, waiting):
    """Transfers of all kinds, more to come of each."""
    for channel, beats in random_traffic(rng, 8, errors=0.1).beats().items():
        for beat in beats:
            tag = {} if channel == "orig_data" else {"auth_tag": rng.getrandbits(64)}
            waiting[channel].append({**beat, **tag})


def _give_back(returned, channel, beat):
    if channel == "orig_data":
        returned["req_data"] += 1
    elif channel == "req":
        returned["req_cmd"] += 1
    elif channel == "wr_rsp":
        returned["rsp_cmd"] += 1
    else:
        returned["rsp_data"] += 1
        # The first beat takes one for its field; a burst's other beats have another offset.
        returned["rsp_cmd"] += beat["num_beats"] == 0 or beat["offset"] == 0


class UpsetBench:
    """A coded transmitter; ``campaign`` strikes places one after the other and judges every flit."""

    def __init__(self, seed, *, config=CONFIG):
        dut = Transmit(config, coded=True)
        design, registers, memories = collect(dut)
        everything = [*registers, *memories]
        self.left_out = [place for place in everything if _matches(place)]
        self.places = [place for place in everything if not _matches(place)]
        self.bench, self.rng = TransmitBench(dut, seed, design=design), random.Random(seed)
        self._read_share, self._whole = BUSY, {}

    @property
    def whole(self) -> dict[int, tuple]:
        """The flits of a run without upsets, with as many beats of Read Responses as now."""
        if self._read_share not in self._whole:
            self._whole[self._read_share] = self.bench.run(ROUND, read_share=self._read_share)
            assert all(flit_good(flit) for flit in self._whole[self._read_share].values())
        return self._whole[self._read_share]

    def campaign(self, strikes, cycles) -> dict:
        """Make each of ``strikes`` until it shows, for so many cycles in all; those that did not, with their number of
        attempts. A strike is a place, or of a beat offered (channel, name in the code, bit).

        Whatever differs from a run without upsets has wrong parity, and nothing comes earlier or later. Only two upsets
        in one flit may hide each other: what may have been two is made again, apart from each other. In every third
        run few beats of Read Responses come.
        """
        queue, shares = deque((strike, 0) for strike in strikes), itertools.cycle((BUSY, BUSY, THIN))
        while queue and cycles > OPENS:
            self._read_share = next(shares)
            done, made = self._round(queue, min(cycles, ROUND))
            cycles -= done
            if made:
                self._apart(made, done + AGAIN)
        self._read_share = BUSY
        return {name_of(one) if not isinstance(one, tuple) else one: number for one, number in queue}

    def _round(self, queue, cycles):
        """Strikes from reset on, until a flit that differs has right parity: the cycles until then, and the last
        strikes, each as (cycle, how)."""
        state = {"left": OPENS + self.rng.randrange(40), "found": True, "doubt": None}
        made = deque(maxlen=RECENT)

        def act(ctx, cycle, flit):
            if not self._as_it_should(cycle, flit, made):
                state["doubt"] = cycle
                self.bench.stop()
                return None
            if flit is not None and not flit_good(flit) and not state["found"]:
                state.update(found=True, left=SETTLES)
                queue.popleft()
            state["left"] -= 1
            if state["left"] > 0 or not queue:
                return None
            if not state["found"]:
                strike, number = queue.popleft()
                queue.append((strike, number + 1))
            state.update(left=WINDOW + self.rng.randrange(5), found=False)
            made.append((cycle, self._choose(queue[0][0], cycle)))
            return _make(ctx, made[-1][1])

        self._traffic(cycles, act)
        if state["doubt"] is None:
            return cycles, []
        assert len(made) > 1, (made, state["doubt"])
        return state["doubt"], list(made)

    def _apart(self, strikes, cycles):
        """Every second of ``strikes``, each as (cycle, how), and then the others; if need be each alone."""
        for some in (strikes[::2], strikes[1::2]):
            if self._again(some, min(cycles, ROUND)):
                assert len(some) > 1, some
                self._apart(some, cycles)

    def _again(self, strikes, cycles) -> bool:
        """Make ``strikes`` from reset on; a flit that differs has right parity."""
        due, doubts = dict(strikes), []

        def act(ctx, cycle, flit):
            if not self._as_it_should(cycle, flit, strikes):
                doubts.append(cycle)
                self.bench.stop()
            return _make(ctx, due[cycle]) if cycle in due else None

        self._traffic(cycles, act)
        return bool(doubts)

    def _traffic(self, cycles, act):
        assert self.whole, "what ``act`` compares with has to be there: it is made by the same simulator"
        self.bench.run(cycles, act, read_share=self._read_share)

    def _as_it_should(self, cycle, flit, strikes) -> bool:
        """``flit`` is that of the run without upsets, or has wrong parity."""
        reference = self.whole.get(cycle)
        assert (flit is None) == (reference is None), (strikes, cycle, "another time")
        return flit is None or not flit_good(flit) or flit[:3] == reference[:3]

    def _choose(self, strike, cycle):
        if isinstance(strike, tuple):
            return strike
        layout = FIELDS.get(name_of(strike))
        row = self.rng.randrange(strike.depth) if isinstance(strike, Memory) else None
        items = [layout[name] for name in ("field", "auth_tag", "code")] if layout else []
        bits = [field.offset + n for field in items for n in range(field.width)] or range(strike.bits)
        return Strike(strike, row, self.rng.choice(bits), cycle)


def _make(ctx, strike):
    """Flip a bit, or say what is to be spoilt of a beat."""
    if isinstance(strike, tuple):
        return strike
    strike.flip(ctx)
    return None


def _matches(place):
    return any(re.search(rule, name_of(place)) for rule in NO_ITEMS)
