"""Which half-flit is what: the receive side of the half-flit sequence."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.tl.format.fields import MessageType

from .control_decoder import DATA_FIELD_LAYOUT
from .error import ReceiveError

__all__ = ["DATA_SLOT_LAYOUT", "ReceiveSequence"]

DATA_SLOT_LAYOUT = data.StructLayout(
    {"valid": 1, "is_request": 1, "byte_enables": 1, "half": 1, "poison": 1, "last": 1}
)
"""A Data half-flit: of a Request (else of a Read Response), byte enables or else lanes 0..31 (``half`` 0) or 32..63 of
a beat, which a Poisoned Data message replaces with ``poison``; ``last`` of its field."""

MESSAGE_TYPES = tuple(kind.value for kind in MessageType)


class ReceiveSequence(wiring.Component):
    """Classifies the two half-flits of a flit, which say nothing about their kind themselves (UALink_200 §5.1.1,
    §5.1.2).

    Combinational from the inputs; the state moves on with ``valid``. After reset a lower Control half-flit comes first
    and no Data half-flit is owed. A field owes two Data half-flits or more, so that at most one field ends in a flit. A
    Message half-flit may take the place of a MANDATORY NOP and of a swapped last Data half-flit (ruling D09); a message
    of unknown type takes its slot like any other and is reported (ruling D21).

    With ``authentication`` the upper half-flit beside a Control half-flit with Requests or Responses is its AuthTags
    half-flit, and no Data half-flit may be owed then; a Control half-flit without any brings a MANDATORY NOP or a
    message (ruling D11).

    Attributes
    ----------
    valid : a flit is present.
    message : M0 and M1.
    lower_type, upper_type : byte 0 of each half-flit.
    upper_is_zero : the upper half-flit is all zero.
    data_fields, data_field, tagged, too_many_tagged : of the lower half-flit, if it is a Control half-flit
        (``DECODED_LAYOUT``).
    authentication : level, constant while the link is online.
    control : the lower half-flit is a Control half-flit.
    tags : the upper half-flit is AuthTags.
    lower, upper : the Data half-flits; ``valid`` of each is already qualified.
    initial_credits : bit n: half-flit n is the message Initial Credit Release Complete.
    unknown_message : bit n: half-flit n is a message of a type that is not legal.
    error : ``AUTH_TAG_*``, ``POISON_SLOT``, ``MANDATORY_NOP`` or ``NONE``; qualified with ``valid``.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": In(1),
                "message": In(2),
                "lower_type": In(8),
                "upper_type": In(8),
                "upper_is_zero": In(1),
                "data_fields": In(8),
                "data_field": In(data.ArrayLayout(DATA_FIELD_LAYOUT, 8)),
                "tagged": In(1),
                "too_many_tagged": In(1),
                "authentication": In(1),
                "control": Out(1),
                "tags": Out(1),
                "lower": Out(DATA_SLOT_LAYOUT),
                "upper": Out(DATA_SLOT_LAYOUT),
                "initial_credits": Out(2),
                "unknown_message": Out(2),
                "error": Out(ReceiveError),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # The field that owes the next Data half-flit, and those behind it, by sector.
        active = Signal()
        owing = Signal(DATA_FIELD_LAYOUT)
        pending = Signal(8)
        pending_field = Signal(data.ArrayLayout(DATA_FIELD_LAYOUT, 8), reset_less=True)

        poison = Signal(2)
        for n, kind in enumerate((self.lower_type, self.upper_type)):
            m.d.comb += [
                poison[n].eq(self.message[n] & (kind == MessageType.POISONED_DATA.value)),
                self.initial_credits[n].eq(
                    self.valid & self.message[n] & (kind == MessageType.INITIAL_CREDIT_RELEASE_COMPLETE.value)
                ),
            ]
            known = reduce(or_, (kind == t for t in MESSAGE_TYPES))
            m.d.comb += self.unknown_message[n].eq(self.valid & self.message[n] & ~known)

        # A lower slot is a control slot unless two or more Data half-flits are owed.
        control_slot = Signal()
        m.d.comb += [
            control_slot.eq(~active | ((owing.left == 0) & ~pending.any())),
            self.control.eq(self.valid & control_slot & ~self.message[0]),
            self.tags.eq(self.authentication & self.control & self.tagged & ~active),
        ]

        # The next field, should the one that owes now end in this flit; a Control half-flit brings new ones.
        mask = Signal(8)
        fields = Signal(data.ArrayLayout(DATA_FIELD_LAYOUT, 8))
        first = Signal(8)
        next_field = Signal(DATA_FIELD_LAYOUT)
        m.d.comb += [
            mask.eq(Mux(self.control, self.data_fields, pending)),
            fields.eq(Mux(self.control, self.data_field, pending_field)),
            first.eq(mask & (~mask + 1)),
            next_field.eq(select_one(first, [fields[n] for n in range(8)])),
        ]

        lower_taken, lower_ends = Signal(), Signal()
        m.d.comb += [
            lower_taken.eq(~control_slot & (~self.message[0] | poison[0])),
            lower_ends.eq(Mux(control_slot, self.control & ~active, lower_taken & (owing.left == 0))),
        ]
        self._describe(m, self.lower, self.valid & lower_taken, owing, poison[0])

        upper_active = Signal()
        upper_owing = Signal(DATA_FIELD_LAYOUT)
        upper_taken = Signal()
        with m.If(lower_ends):
            m.d.comb += [upper_active.eq(mask.any()), upper_owing.eq(next_field)]
        with m.Else():
            m.d.comb += [
                upper_active.eq(active),
                upper_owing.eq(owing),
                upper_owing.left.eq(owing.left - lower_taken),
            ]
        m.d.comb += upper_taken.eq(upper_active & ~self.tags & (~self.message[1] | poison[1]))
        self._describe(m, self.upper, self.valid & upper_taken, upper_owing, poison[1])

        with m.If(self.valid):
            m.d.sync += pending_field.eq(fields)
            with m.If(upper_taken & (upper_owing.left == 0)):
                m.d.sync += [active.eq(mask.any()), owing.eq(next_field), pending.eq(mask & ~first)]
            with m.Else():
                m.d.sync += [
                    active.eq(upper_active),
                    owing.eq(upper_owing),
                    owing.left.eq(upper_owing.left - upper_taken),
                    pending.eq(Mux(lower_ends, mask & ~first, mask)),
                ]

        lower_poison_legal = ~control_slot & ~self.lower.byte_enables
        upper_poison_legal = upper_active & ~self.upper.byte_enables
        with m.If(self.valid):
            with m.If(self.authentication & self.control & self.tagged & active):
                m.d.comb += self.error.eq(ReceiveError.AUTH_TAG_SWAP)
            with m.Elif(self.authentication & self.control & self.too_many_tagged):
                m.d.comb += self.error.eq(ReceiveError.AUTH_TAG_COUNT)
            with m.Elif(self.tags & self.message[1]):
                m.d.comb += self.error.eq(ReceiveError.AUTH_TAG_MESSAGE)
            with m.Elif((poison[0] & ~lower_poison_legal) | (poison[1] & ~upper_poison_legal)):
                m.d.comb += self.error.eq(ReceiveError.POISON_SLOT)
            with m.Elif(~upper_active & ~self.tags & ~self.message[1] & ~self.upper_is_zero):
                m.d.comb += self.error.eq(ReceiveError.MANDATORY_NOP)
        return m

    def _describe(self, m, slot, valid, field, poison):
        """Tell what the Data half-flit is that ``field`` owes next."""
        m.d.comb += [
            slot.valid.eq(valid),
            slot.is_request.eq(field.is_request),
            slot.byte_enables.eq(field.byte_enables & (field.left == 0)),
            # Without byte enables the last half-flit is an upper half, with them the last but one is.
            slot.half.eq(~(field.left[0] ^ field.byte_enables)),
            slot.poison.eq(poison),
            slot.last.eq(field.left == 0),
        ]
