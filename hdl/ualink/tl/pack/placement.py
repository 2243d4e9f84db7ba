"""Which sector of a Control half-flit holds what (UALink_200 §5.1.1)."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.credit.release import FC_FIELDS
from ualink.tl.format.half_flits import SECTORS, TAGS

from .look_ahead import exactly
from .share import REQUESTS_IN_SIGHT
from .stack import LAYOUTS, PAIRS, RESPONSES_IN_SIGHT, STACKS_LAYOUT, stacks_from

__all__ = ["FlowControlPlacement", "PackerPlacement", "one_stands_below"]


class PackerPlacement(wiring.Component):
    """Places the fields that ``PackerShare`` lets go. Latency 0. All outputs are bits to select by, none or one of a
    sector's set.

    ====================  ==============================  =========================
    Requests (U, C: un-   sectors                         left to others (the
    compressed, -ed)                                      region)
    ====================  ==============================  =========================
    C; CC; CCC; CCCC      76; 54, 76; 10, 54, 76; all     10 to 54; 10, 32; 32; none
    U; UU                 7654; 3210, 7654                10, 32; none
    C U; C C U            32, 7654; 10, 32, 7654          10; none
    U C; U C C            3210, 76; 3210, 54, 76          54; none
    ====================  ==============================  =========================

    Responses stand upwards in the region from the sector where ``layout`` starts them.

    Attributes
    ----------
    request_compressed, requests, response_compressed, candidates, responses, layout : as in ``PackerShare``.
    request_low, request_high : for each pair of sectors, bit n: it holds the low 64 bits of Request n, or the high 64.
    response_low, response_high : for each sector, bit n: it holds the low 32 bits of Response n, or the high 32.
    tag_request, tag_response : for each tag slot of an AuthTags half-flit, bit n: the tag of Request or Response n;
        they have meaning when no more fields go than there are slots.
    """

    def __init__(self):
        super().__init__(
            {
                "request_compressed": In(REQUESTS_IN_SIGHT),
                "requests": In(REQUESTS_IN_SIGHT),
                "response_compressed": In(RESPONSES_IN_SIGHT),
                "candidates": In(RESPONSES_IN_SIGHT),
                "responses": In(RESPONSES_IN_SIGHT),
                "layout": In(len(LAYOUTS)),
                "request_low": Out(REQUESTS_IN_SIGHT).array(PAIRS),
                "request_high": Out(REQUESTS_IN_SIGHT).array(PAIRS),
                "response_low": Out(RESPONSES_IN_SIGHT).array(SECTORS),
                "response_high": Out(RESPONSES_IN_SIGHT).array(SECTORS),
                "tag_request": Out(TAGS).array(TAGS),
                "tag_response": Out(TAGS).array(TAGS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._place_requests(m)
        self._place_responses(m)
        self._place_tags(m)
        return m

    def _place_requests(self, m):
        short, goes = self.request_compressed, self.requests
        one, two, three, four = exactly(goes)[1:]
        quad = ~short[0] & goes[1]  # Request 0 covers the lower quad
        low = [[Const(0)] * REQUESTS_IN_SIGHT for _ in range(PAIRS)]
        high = [[Const(0)] * REQUESTS_IN_SIGHT for _ in range(PAIRS)]
        low[0][0] = quad | goes[2]
        high[1][0] = quad
        low[1][0] = two & short[0] & ~short[1]
        low[1][1] = (three & short[0] & ~short[2]) | four
        # The last Request stands at the top, one before it below if there is room.
        for n, last in enumerate((one, two, three, four)):
            low[3][n] = last & short[n]
            high[3][n] = last & ~short[n]
            low[2][n] |= last & ~short[n]
            if n:
                low[2][n - 1] |= last & short[n] & short[n - 1]
        for pair in range(PAIRS):
            m.d.comb += [self.request_low[pair].eq(Cat(low[pair])), self.request_high[pair].eq(Cat(high[pair]))]

    def _place_responses(self, m):
        """Candidates have their sectors for each start; those go whose sectors are in the region. So little is left
        to do when the layout is known."""
        short = self.response_compressed
        held = data.View(STACKS_LAYOUT, stacks_from(m, short, 1)[0])
        stacks = [_stack(short, list(held[start]), start) for start in (0, 1)]
        for sector, words in enumerate(_words_of_sectors(m, stacks, self.candidates, self.layout)):
            low, high = Const(0, RESPONSES_IN_SIGHT), Const(0, RESPONSES_IN_SIGHT)
            for chosen, here in words:
                low |= chosen.replicate(RESPONSES_IN_SIGHT) & here[:RESPONSES_IN_SIGHT]
                high |= chosen.replicate(RESPONSES_IN_SIGHT) & here[RESPONSES_IN_SIGHT:]
            m.d.comb += [self.response_low[sector].eq(low), self.response_high[sector].eq(high)]

    def _place_tags(self, m):
        """Tags stand in the order of the sectors: one Request may stand below the Responses, no more."""
        below = Signal()
        m.d.comb += below.eq(one_stands_below(self.layout))
        answered = exactly(self.responses[:TAGS])
        for slot in range(TAGS):
            requests = [self.requests[n] & answered[slot - n] if n <= slot else Const(0) for n in range(TAGS)]
            requests[0] = self.requests[0] & ((below if slot == 0 else Const(0)) | ~below & answered[slot])
            responses = [Const(0)] * TAGS
            responses[slot] |= self.responses[slot] & ~below
            if slot:
                responses[slot - 1] |= self.responses[slot - 1] & below
            m.d.comb += [self.tag_request[slot].eq(Cat(requests)), self.tag_response[slot].eq(Cat(responses))]


class FlowControlPlacement(wiring.Component):
    """Places FC fields in what the Responses leave free of their region: the first ones below them, the next ones from
    the top of the region down. Latency 0.

    Attributes
    ----------
    response_compressed : forms of the Responses in sight.
    response_stacks, candidates, layout : as in ``PackerShare``.
    fc : for each sector, bit n: it is free for the n-th FC field.
    placed : bit n: some sector is.
    """

    def __init__(self):
        super().__init__(
            {
                "response_compressed": In(RESPONSES_IN_SIGHT),
                "response_stacks": In(STACKS_LAYOUT),
                "candidates": In(RESPONSES_IN_SIGHT),
                "layout": In(len(LAYOUTS)),
                "fc": Out(FC_FIELDS).array(SECTORS),
                "placed": Out(FC_FIELDS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Where Responses stand from each start on is known before the layout.
        stood = [_stack(self.response_compressed, list(self.response_stacks[first]), first) for first in (0, 1)]
        free = [[Const(0)] * FC_FIELDS for _ in range(SECTORS)]
        placed = [Const(0)] * FC_FIELDS
        occupied = {}
        for layout, (base, pairs, start) in zip(self.layout, LAYOUTS):
            below, above = range(2 * base, start), range(start, 2 * (base + pairs))
            for n, sector in enumerate([*below, *reversed(above)][:FC_FIELDS]):
                if (start, sector) not in occupied:
                    word = Cat(*stood[start % 2][sector - (start & ~1)]) & self.candidates.replicate(2)
                    occupied[start, sector] = taken = Signal(name=f"sector_{sector}_occupied_from_{start}")
                    m.d.comb += taken.eq(word.any())
                here = layout & ~occupied[start, sector]
                free[sector][n] |= here
                placed[n] |= here
        m.d.comb += [sink.eq(Cat(those)) for sink, those in zip(self.fc, free, strict=True)]
        m.d.comb += self.placed.eq(Cat(placed))
        return m


def one_stands_below(layout):
    """Whether Request 0 stands below the Responses; all other Requests stand above them."""
    return Cat(chosen for chosen, (base, _, _) in zip(layout, LAYOUTS) if base).any()


def _words_of_sectors(m, stacks, candidates, layout):
    """For each sector pairs of a condition, no two of a sector true at once, and of which Response it then holds the
    low (bits 0 to 7) and of which the high word (bits 8 to 15)."""
    sectors = []
    for sector in range(SECTORS):
        covering: dict[int, list] = {}
        for one, (base, pairs, start) in zip(layout, LAYOUTS):
            if start & ~1 <= sector < 2 * (base + pairs):
                covering.setdefault(start, []).append(one)
        words = []
        for start, those in covering.items():
            chosen = Signal(name=f"sector_{sector}_from_{start}")
            here = Signal(2 * RESPONSES_IN_SIGHT, name=f"in_sector_{sector}_from_{start}")
            m.d.comb += [
                chosen.eq(Cat(those).any()),
                here.eq(Cat(word & candidates for word in stacks[start % 2][sector - (start & ~1)])),
            ]
            words.append((chosen, here))
        sectors.append(words)
    return sectors


def _stack(short, held, start):
    """For each sector of which Response it holds the low and of which the high word."""
    none = Const(0, RESPONSES_IN_SIGHT)
    followed = Cat(0, short[:-1] & short[1:])  # stands above the one before it in the same pair
    words = []
    for pair in range(PAIRS):
        next_one = held[pair][:RESPONSES_IN_SIGHT]
        if pair == 0 and start == 1:
            words += [(none, none), (short[0] & Const(1, RESPONSES_IN_SIGHT), none)]
        else:
            words += [(next_one, none), ((next_one << 1)[:RESPONSES_IN_SIGHT] & followed, next_one & ~short)]
    return words
