"""What was decided about a Control half-flit, put into its sectors (UALink_200 §5.1.1, §5.5)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.select import select_one
from ualink.tl.credit.release import FC_FIELDS
from ualink.tl.format.fields import FLOW_CONTROL, MessageType
from ualink.tl.format.half_flits import (
    CONTROL_CONTENT_LAYOUT,
    REQUEST_FIELD_LAYOUT,
    RESPONSE_FIELD_LAYOUT,
    SECTORS,
    TAGS,
)
from ualink.upli.code import code_of

from .fields_in_sight import content_layout
from .placement import PackerPlacement
from .share import REQUESTS_IN_SIGHT, RESPONSES_IN_SIGHT
from .stack import LAYOUTS

__all__ = ["CHOICE_LAYOUT", "PackerFill"]

CHOICE_LAYOUT = data.StructLayout(
    {
        "message": 1,
        "request_compressed": REQUESTS_IN_SIGHT,
        "response_compressed": RESPONSES_IN_SIGHT,
        "candidates": RESPONSES_IN_SIGHT,
        "requests": REQUESTS_IN_SIGHT,
        "responses": RESPONSES_IN_SIGHT,
        "layout": len(LAYOUTS),
        "places": data.ArrayLayout(FC_FIELDS, SECTORS),
        "flow_control": data.ArrayLayout(FLOW_CONTROL.size, FC_FIELDS),
    }
)
"""What goes, as ``PackerShare`` says it; ``flow_control`` fields in their order, of which field n stands where bit n of
``places`` is set. With ``message`` Initial Credit Release Complete goes instead, and nothing with it."""


_MESSAGE = Const(MessageType.INITIAL_CREDIT_RELEASE_COMPLETE.value, 8)


class PackerFill(wiring.Component):
    """Fills the sectors of a Control half-flit and its AuthTags half-flit. Latency 0.

    Attributes
    ----------
    choice : what goes.
    requests, responses : contents of the fields in sight when it was chosen.
    shared_data : announce Shared Data Buffer mode with Initial Credit Release Complete.
    content : the half-flit; its tags are 0 if ``config`` does not build their path. Its codes are wrong if one of what
        goes is, or if what goes has not the form that was chosen for it.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "choice": In(CHOICE_LAYOUT),
                "requests": In(content_layout(REQUEST_FIELD_LAYOUT)).array(REQUESTS_IN_SIGHT),
                "responses": In(content_layout(RESPONSE_FIELD_LAYOUT)).array(RESPONSES_IN_SIGHT),
                "shared_data": In(1),
                "content": Out(CONTROL_CONTENT_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.placement = placement = PackerPlacement()
        for name in ("request_compressed", "response_compressed", "candidates", "requests", "responses", "layout"):
            m.d.comb += getattr(placement, name).eq(self.choice[name])
        m.d.comb += self.content.message.eq(self.choice.message)
        self._fill_sectors(m, placement)
        self._add_code(m)
        if self.config.authentication:
            self._fill_tags(m, placement)
        return m

    def _fill_sectors(self, m, placement):
        message = Cat(_MESSAGE, self.shared_data)
        flow_control = list(self.choice.flow_control)
        for sector in range(SECTORS):
            pair, half = sector // 2, slice(32 * (sector % 2), 32 * (sector % 2) + 32)
            # At least one sector for each Response before it.
            answers = self.responses[: sector + 1]
            words = [
                select_one(placement.request_low[pair], [request.field[:64][half] for request in self.requests]),
                select_one(placement.request_high[pair], [request.field[64:][half] for request in self.requests]),
                select_one(placement.response_low[sector], [answer.field[:32] for answer in answers]),
                select_one(placement.response_high[sector], [answer.field[32:] for answer in answers]),
                select_one(self.choice.places[sector], flow_control),
            ]
            if sector == 0:
                words.append(Mux(self.choice.message, message, 0))
            m.d.comb += self.content.data[32 * sector : 32 * sector + 32].eq(reduce(or_, words))

    def _add_code(self, m):
        """All that goes stands once in some sector: so no sector is looked at."""
        choice = self.choice
        shares = Signal(REQUESTS_IN_SIGHT + RESPONSES_IN_SIGHT, name="code_shares")
        fields = Signal(FC_FIELDS, name="flow_control_codes")
        goes, short = (
            Cat(choice.requests, choice.responses),
            Cat(choice.request_compressed, choice.response_compressed),
        )
        codes = [field.code for field in (*self.requests, *self.responses)]
        message = code_of(_MESSAGE, self.shared_data, Const(1))
        m.d.comb += [
            *(
                share.eq(there & code_of(code.low, compressed, code.high & ~compressed))
                for share, there, compressed, code in zip(shares, goes, short, codes, strict=True)
            ),
            *(
                made.eq(Cat(place[n] for place in choice.places).any() & code_of(choice.flow_control[n]))
                for n, made in enumerate(fields)
            ),
            self.content.code.eq(code_of(shares, fields, choice.message & message)),
        ]

    def _fill_tags(self, m, placement):
        codes = []
        for slot in range(TAGS):
            codes.append(
                select_one(placement.tag_request[slot], [request.code.auth_tag for request in self.requests])
                | select_one(
                    placement.tag_response[slot], [response.code.auth_tag for response in self.responses[:TAGS]]
                )
            )
            m.d.comb += self.content.tags[64 * slot : 64 * slot + 64].eq(
                select_one(placement.tag_request[slot], [request.auth_tag for request in self.requests])
                | select_one(placement.tag_response[slot], [response.auth_tag for response in self.responses[:TAGS]])
            )
        m.d.comb += self.content.tags_code.eq(code_of(*codes))
