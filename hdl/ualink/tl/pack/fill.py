"""What was decided about a Control half-flit, put into its sectors (UALink_200 §5.1.1, §5.5)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux
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
)

from .contents_ring import turned
from .fields_in_sight import content_layout
from .placement import TAGS, PackerPlacement
from .share import REQUESTS_IN_SIGHT, RESPONSES_IN_SIGHT
from .stack import LAYOUTS

__all__ = ["CHOICE_LAYOUT", "PackerFill", "first_members"]

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


def first_members(config: TLConfig) -> dict[str, wiring.Member]:
    """Where the contents in sight begin, which only those that do not move must tell."""
    if not config.lean:
        return {}
    return {"request_first": In(config.requests_in_sight), "response_first": In(config.responses_in_sight)}


class PackerFill(wiring.Component):
    """Fills the sectors of a Control half-flit and its AuthTags half-flit. Latency 0.

    Attributes
    ----------
    choice : what goes.
    requests, responses : contents of the fields in sight when it was chosen; with ``config.lean`` from the places of
        ``request_first`` and ``response_first`` on.
    shared_data : announce Shared Data Buffer mode with Initial Credit Release Complete.
    content : the half-flit; its tags are 0 if ``config`` does not build their path.
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
                **first_members(self.config),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.placement = placement = PackerPlacement()
        for name in ("request_compressed", "response_compressed", "candidates", "requests", "responses", "layout"):
            m.d.comb += getattr(placement, name).eq(self.choice[name])
        m.d.comb += self.content.message.eq(self.choice.message)
        self._fill_sectors(m, placement)
        if self.config.authentication:
            self._fill_tags(m, placement)
        return m

    def _fill_sectors(self, m, placement):
        message = Cat(Const(MessageType.INITIAL_CREDIT_RELEASE_COMPLETE, 8), self.shared_data)
        flow_control = list(self.choice.flow_control)
        for sector in range(SECTORS):
            pair, half = sector // 2, slice(32 * (sector % 2), 32 * (sector % 2) + 32)
            # At least one sector for each Response before it.
            low, high = (bits[sector][: sector + 1] for bits in (placement.response_low, placement.response_high))
            words = [
                self._request(placement.request_low[pair], [request.field[:64][half] for request in self.requests]),
                self._request(placement.request_high[pair], [request.field[64:][half] for request in self.requests]),
                self._response(low, [answer.field[:32] for answer in self.responses]),
                self._response(high, [answer.field[32:] for answer in self.responses]),
                select_one(self.choice.places[sector], flow_control),
            ]
            if sector == 0:
                words.append(Mux(self.choice.message, message, 0))
            m.d.comb += self.content.data[32 * sector : 32 * sector + 32].eq(reduce(or_, words))

    def _fill_tags(self, m, placement):
        for slot in range(TAGS):
            m.d.comb += self.content.tags[64 * slot : 64 * slot + 64].eq(
                self._request(placement.tag_request[slot], [request.auth_tag for request in self.requests])
                | self._response(placement.tag_response[slot], [response.auth_tag for response in self.responses])
            )

    def _request(self, chosen, parts):
        """Of ``parts`` that of the Request whose bit of ``chosen`` is set."""
        if self.config.lean:
            chosen = turned(chosen, self.request_first)
        return select_one(chosen, parts)

    def _response(self, chosen, parts):
        """Of ``parts`` that of the Response whose bit of ``chosen`` is set."""
        if self.config.lean:
            chosen = turned(chosen, self.response_first)
        return select_one(chosen, parts)
