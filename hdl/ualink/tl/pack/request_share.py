"""Which Requests go with the next Control half-flit (UALink_200 §5.1.1, §5.5, §5.10)."""

from dataclasses import dataclass
from enum import Enum

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .stack import PAIRS, REGIONS

__all__ = ["REQUESTS_IN_SIGHT", "SHARE", "Asks", "RequestShare", "Row", "rows_of"]

REQUESTS_IN_SIGHT = 4


class Asks(Enum):
    """When Requests may take their sectors without asking whether those they leave are enough for the others."""

    NOT = "always"
    IN_TURN = "in the Requests' turn"
    IN_TURN_WITHOUT_FC = "in the Requests' turn if no FC is due"
    ALWAYS = "–"


@dataclass(frozen=True)
class Row:
    """Requests of these ``forms`` (C: Compressed, U: Uncompressed; oldest first) leave ``pairs`` pairs of sectors, the
    lowest of them number ``lowest``; the last of them goes by ``asks``, and else if the others have room."""

    forms: str
    pairs: int
    lowest: int
    asks: Asks


SHARE = (
    Row("", 4, 0, Asks.NOT),
    Row("C", 3, 0, Asks.NOT),
    Row("U", 2, 0, Asks.NOT),
    Row("CC", 2, 0, Asks.NOT),
    Row("CU", 1, 0, Asks.IN_TURN),
    Row("UC", 1, 2, Asks.IN_TURN),
    Row("UU", 0, 0, Asks.IN_TURN_WITHOUT_FC),
    Row("CCC", 1, 1, Asks.IN_TURN),
    Row("CCU", 0, 0, Asks.ALWAYS),
    Row("UCC", 0, 0, Asks.ALWAYS),
    Row("CCCC", 0, 0, Asks.ALWAYS),
)
"""The truth table of ``RequestShare``."""


def rows_of(compressed: Value, may: Value) -> Cat:
    """Bit n: the oldest Requests have the forms of ``SHARE[n]``, and all of them may go.

    ``compressed`` and ``may`` have a bit for each Request, oldest in bit 0; of ``may`` the first ones are set.
    """
    return Cat(_matches(row.forms, compressed, may) for row in SHARE)


def _matches(forms, compressed, may):
    if len(forms) > len(may):
        return Const(0)
    wanted = sum((form == "C") << n for n, form in enumerate(forms))
    return (may[len(forms) - 1] & (compressed[: len(forms)] == wanted)) if forms else Const(1)


class RequestShare(wiring.Component):
    """Chooses how many of the Requests in sight go, by the rows of ``SHARE`` that they match. Latency 0.

    The Requests of a row go if all that may go before the last of them do, and the last one goes as the row says, or
    if the Responses and a due FC field have room in the pairs of sectors that are left. C is a Compressed Request, one
    pair; U an Uncompressed one, two pairs. Other mixes have no place in a half-flit.

    ======== ===== ======= ======================================
    Requests pairs  lowest  the last one goes without asking
    ======== ===== ======= ======================================
    none     4     0       always
    C        3     0       always
    U        2     0       always
    CC       2     0       always
    CU       1     0       in the Requests' turn
    UC       1     2       in the Requests' turn
    UU       0     –       in the Requests' turn if no FC is due
    CCC      1     1       in the Requests' turn
    CCU      0     –       –
    UCC      0     –       –
    CCCC     0     –       –
    ======== ===== ======= ======================================

    Attributes
    ----------
    rows : 11 bits, as ``rows_of`` says of the Requests that may go.
    responses_turn : 1 bit, it is not the Requests' turn.
    due : 1 bit, an FC field waits and is due.
    fit : 5 bits, bit n: the Responses and a due FC field have room in n pairs, and so in more.
    requests : 4 bits, bit n: Request n goes; the first ones do.
    left : 5 bits, one-hot: how many pairs are left.
    regions : 6 bits, one-hot by the index in ``REGIONS``: which; 0: none.
    """

    def __init__(self):
        super().__init__(
            {
                "rows": In(len(SHARE)),
                "responses_turn": In(1),
                "due": In(1),
                "fit": In(PAIRS + 1),
                "requests": Out(REQUESTS_IN_SIGHT),
                "left": Out(PAIRS + 1),
                "regions": Out(len(REGIONS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        without_asking = {
            Asks.NOT: Const(1),
            Asks.IN_TURN: ~self.responses_turn,
            Asks.IN_TURN_WITHOUT_FC: ~self.responses_turn & ~self.due,
            Asks.ALWAYS: Const(0),
        }
        goes: list[list[Value]] = [[] for _ in range(REQUESTS_IN_SIGHT)]
        left: list[list[Value]] = [[] for _ in range(PAIRS + 1)]
        regions: list[list[Value]] = [[] for _ in REGIONS]
        for row, match in zip(SHARE, self.rows):
            count, exactly = len(row.forms), match
            if count:
                goes[count - 1].append(match & (without_asking[row.asks] | self.fit[row.pairs]))
                exactly = exactly & self.requests[count - 1]
            if count < REQUESTS_IN_SIGHT:
                exactly = exactly & ~self.requests[count]
            left[row.pairs].append(exactly)
            if row.pairs:
                regions[REGIONS.index((row.lowest, row.pairs))].append(exactly)
        m.d.comb += [
            self.requests.eq(_any_of_each(goes)),
            self.left.eq(_any_of_each(left)),
            self.regions.eq(_any_of_each(regions)),
        ]
        return m


def _any_of_each(sets):
    return Cat(Cat(conditions).any() for conditions in sets)
