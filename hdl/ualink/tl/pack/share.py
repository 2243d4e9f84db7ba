"""How many Requests and Responses the next Control half-flit takes (UALink_200 §5.1.1, §5.5, §5.7, §5.10)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one

from .request_share import REQUESTS_IN_SIGHT, SHARE, RequestShare
from .stack import FITS_LAYOUT, LAYOUTS, PAIRS, REGIONS, RESPONSES_IN_SIGHT, STACKS_LAYOUT

__all__ = ["FC_PATIENCE", "REQUESTS_IN_SIGHT", "RESPONSES_IN_SIGHT", "PackerShare"]

FC_PATIENCE = 1
"""Control half-flits in a row that may leave without a waiting FC field."""


class PackerShare(wiring.Component):
    """Divides the sectors of a half-flit between Requests, Responses and Flow Control. Latency 0.

    Both kinds of field go in order, oldest first, as many as count, source rate limit and backoff limits let. With
    authentication no more than four go together, two of each kind where both compete; in a swap slot none.

    If all of that has room, all goes. If not, Requests and Responses take turns. In the Requests' turn Requests cover
    up to six sectors, or all eight with two uncompressed ones; in the Responses' turn up to four; in both at least
    what the Responses in sight leave free: the table of ``RequestShare``. Responses take the rest. It is the Responses'
    turn after a half-flit that left some of them behind and held more Requests than Responses, or as many in their turn
    already; otherwise it is the Requests' turn. So some Request goes whenever one may, and some Response at the latest
    with the next half-flit.

    A waiting FC field gets a sector before the Responses if it is due: when it is urgent, and when ``FC_PATIENCE``
    half-flits in a row had no sector free for it. The Responses stand above the lowest pair of
    the free sectors if they have room there, else above its lowest sector if they have room there or FC is due.

    Attributes
    ----------
    pack : the half-flit leaves in this cycle.
    message : it is a Message half-flit; then no field is eligible.
    swap, authentication : it stands in a swap slot; AuthTags half-flits are sent.
    request_eligible : of the Requests in sight, oldest in bit 0, whether they are there and no limit holds them back.
    request_rows, request_tagged : of these, as in ``FieldsInSight``.
    response_stacks, response_fits : how the Responses in sight come to stand, and whether those that are
        ``response_eligible`` have room.
    response_eligible, response_tagged : as those of Requests.
    fc_waiting, fc_urgent, fc_placed : some FC field waits; it must not wait any more; the first has a sector.
    offered : some Request or Response can go; then one does.
    candidates : bit n: Response n goes if there is a sector for it and for those before it.
    barred : neither goes, because of where the half-flit stands.
    requests, responses : bit n: Request n, Response n goes.
    request_take, left, takes : of what is not barred, for who hears of that apart: the ``requests``; what they leave is
        n pairs of sectors where bit n of ``left`` is set; then the ``responses`` are ``takes[n]``, which does not wait
        for it.
    layout : what Requests leave free and where Responses start in it, one-hot by the index in ``LAYOUTS``; 0: nothing.
    responses_turn : it is the Responses' turn; 0 after reset.
    fc_due : an FC field that waits is due even if it is not urgent; 0 after reset.
    """

    def __init__(self):
        super().__init__(
            {
                "pack": In(1),
                "message": In(1),
                "swap": In(1),
                "authentication": In(1),
                "request_eligible": In(REQUESTS_IN_SIGHT),
                "request_rows": In(len(SHARE)),
                "request_tagged": In(2),
                "response_stacks": In(STACKS_LAYOUT),
                "response_fits": In(FITS_LAYOUT),
                "response_eligible": In(RESPONSES_IN_SIGHT),
                "response_tagged": In(2),
                "fc_waiting": In(1),
                "fc_urgent": In(1),
                "fc_placed": In(1),
                "offered": Out(1),
                "candidates": Out(RESPONSES_IN_SIGHT),
                "barred": Out(1),
                "requests": Out(REQUESTS_IN_SIGHT),
                "responses": Out(RESPONSES_IN_SIGHT),
                "request_take": Out(REQUESTS_IN_SIGHT),
                "left": Out(PAIRS + 1),
                "takes": Out(RESPONSES_IN_SIGHT).array(PAIRS + 1),
                "layout": Out(len(LAYOUTS)),
                "responses_turn": Out(1),
                "fc_due": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Whether anything may go holds up nothing: it decides last.
        barred = self.barred
        m.d.comb += barred.eq(self.swap & self.authentication)
        rows, responses = self._candidates(m)
        m.d.comb += [
            self.offered.eq((self.request_eligible[0] | responses[0]) & ~barred),
            self.candidates.eq(Mux(barred, 0, responses)),
        ]

        passed_over = Signal(range(FC_PATIENCE + 1))
        due = Signal()
        m.d.comb += [
            self.fc_due.eq(passed_over == FC_PATIENCE),
            due.eq(self.fc_waiting & (self.fc_due | self.fc_urgent)),
        ]

        # All Responses that may go have room in so many pairs of sectors, from the first or from the second sector on.
        low, high = (list(start) for start in self.response_stacks)
        fit_low, fit_high = Signal(PAIRS + 1), Signal(PAIRS)
        m.d.comb += [
            fit_low.eq(self.response_fits.low | Cat(self._fits_fewer(held) for held in low)),
            fit_high.eq(self.response_fits.high | Cat(self._fits_fewer(held) for held in high[1:])),
        ]

        # For each number of pairs it is known how the Responses would use them before the Requests are chosen, and how
        # Requests are chosen with a due FC field and without one before it is known whether there is one.
        ways = []
        for with_due, fit in enumerate((fit_low, Cat(0, fit_high))):
            m.submodules[f"request_share_{with_due}"] = request_share = RequestShare()
            m.d.comb += [
                request_share.rows.eq(rows),
                request_share.responses_turn.eq(self.responses_turn),
                request_share.due.eq(with_due),
                request_share.fit.eq(fit),
            ]
            ways.append(request_share)
        regions = Signal(len(REGIONS))
        m.d.comb += [
            self.request_take.eq(Mux(due, ways[1].requests, ways[0].requests)),
            self.requests.eq(Mux(barred, 0, self.request_take)),
            self.left.eq(Mux(due, ways[1].left, ways[0].left)),
            regions.eq(Mux(due, ways[1].regions, ways[0].regions)),
        ]
        layout = []
        for region, (_, pairs) in zip(regions, REGIONS):
            leave_two = fit_low[pairs - 1] if pairs > 1 else Const(0)
            leave_one = ~leave_two & (due | fit_high[pairs - 1])
            leave_none = ~leave_two & ~due & ~fit_high[pairs - 1]
            layout += [region & leave_none, region & leave_one, *([region & leave_two] if pairs > 1 else [])]
        m.d.comb += self.layout.eq(Mux(barred, 1 << LAYOUTS.index((0, PAIRS, 2)), Cat(layout)))
        for pairs in range(1, PAIRS + 1):
            room = Mux(due | fit_high[pairs - 1], _first(high[pairs]), _first(low[pairs]))
            m.d.comb += self.takes[pairs].eq(responses & room)
        m.d.comb += self.responses.eq(Mux(barred, 0, select_one(self.left, self.takes)))

        # The first ones go of either kind.
        more = (self.requests & ~self.responses[:REQUESTS_IN_SIGHT]).any()
        fewer = (self.responses & ~Cat(self.requests, Const(0, RESPONSES_IN_SIGHT - REQUESTS_IN_SIGHT))).any()
        left_behind = (responses & ~self.responses).any()
        with m.If(self.pack & ~barred & ~self.message):
            m.d.sync += self.responses_turn.eq(left_behind & (more | self.responses_turn & ~fewer))
        with m.If(self.pack & ~self.message):
            with m.If(~self.fc_waiting | self.fc_placed):
                m.d.sync += passed_over.eq(0)
            with m.Elif(passed_over != FC_PATIENCE):
                m.d.sync += passed_over.eq(passed_over + 1)
        return m

    def _fits_fewer(self, held):
        """Whether as many Responses as may go beside the Requests because of their tags have room, where so many are
        ``held``."""
        one, two = self.request_tagged
        return (one & ~held[:3].any()) | (two & ~held[:2].any())

    def _candidates(self, m):
        """By which rows Requests, and which Responses, may go together if there are sectors for them."""
        rows, responses = Signal(len(SHARE)), Signal(RESPONSES_IN_SIGHT)
        beside = Const(1), Const(1), Const(1), ~self.response_tagged[1], ~self.response_tagged[0]
        m.d.comb += [
            rows.eq(Cat(match & beside[len(row.forms)] for match, row in zip(self.request_rows, SHARE))),
            responses.eq(
                self.response_eligible & ~Cat(0, 0, self.request_tagged[1], self.request_tagged[0], Const(0, 4))
            ),
        ]
        return rows, responses


def _first(number):
    """Bits of the first n, of ``number`` one-hot."""
    return Cat(number[n + 1 :].any() for n in range(len(number) - 1))
