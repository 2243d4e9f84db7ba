"""Which half-flit is what: the receive side of the half-flit sequence."""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal
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
        pending, some_pending = Signal(8), Signal()
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
            control_slot.eq(~active | ((owing.left == 0) & ~some_pending)),
            self.control.eq(self.valid & control_slot & ~self.message[0]),
            self.tags.eq(self.authentication & self.control & self.tagged & ~active),
        ]

        # The next field, should the one that owes now end in this flit; a Control half-flit brings new ones. Which they
        # are is known late.
        brought, kept = self._foremost(m, "brought"), self._foremost(m, "kept")
        m.d.comb += [
            brought.mask.eq(self.data_fields),
            brought.fields.eq(self.data_field),
            kept.mask.eq(pending),
            kept.fields.eq(pending_field),
        ]
        follows, next_field, one_less, rest = Signal(), Signal(DATA_FIELD_LAYOUT), Signal(4), Signal(8)
        m.d.comb += [
            follows.eq(Mux(self.control, self.data_fields.any(), some_pending)),
            next_field.eq(Mux(self.control, brought.field, kept.field)),
            one_less.eq(Mux(self.control, brought.field.left - 1, kept.field.left - 1)),
            rest.eq(Mux(self.control, brought.rest, kept.rest)),
        ]

        last, last_but_one = owing.left == 0, owing.left == 1
        lower_taken, lower_ends = Signal(), Signal()
        m.d.comb += [
            lower_taken.eq(~control_slot & (~self.message[0] | poison[0])),
            lower_ends.eq(Mux(control_slot, self.control & ~active, lower_taken & last)),
        ]
        now, one_later, upper_next = (
            Signal(DATA_SLOT_LAYOUT, name=name) for name in ("now", "one_later", "upper_next")
        )
        self._describe(m, now, owing, owing.left)
        self._describe(m, one_later, owing, (owing.left - 1)[: len(owing.left)])
        self._describe(m, upper_next, next_field, next_field.left)
        m.d.comb += [
            self.lower.eq(now),
            self.lower.valid.eq(self.valid & lower_taken),
            self.lower.poison.eq(poison[0]),
        ]

        upper_active, upper_takes, upper_taken, upper_ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            upper_active.eq(Mux(lower_ends, follows, active)),
            upper_takes.eq(~self.tags & (~self.message[1] | poison[1])),
            upper_taken.eq(upper_active & upper_takes),
            # A field that has only begun in this flit does not end in it.
            upper_ends.eq(active & ~lower_ends & upper_takes & Mux(lower_taken, last_but_one, last)),
            self.upper.eq(Mux(lower_ends, upper_next, Mux(lower_taken, one_later, now))),
            self.upper.valid.eq(self.valid & upper_taken),
            self.upper.poison.eq(poison[1]),
        ]

        with m.If(self.valid):
            with m.If(self.control):
                m.d.sync += pending_field.eq(self.data_field)
            with m.If(lower_ends | upper_ends):
                m.d.sync += [active.eq(follows), pending.eq(rest), owing.eq(next_field)]
                m.d.sync += some_pending.eq(Mux(self.control, brought.rest.any(), kept.rest.any()))
                m.d.sync += owing.left.eq(Mux(upper_takes & lower_ends, one_less, next_field.left))
            with m.Else():
                with m.If(self.control):
                    m.d.sync += [pending.eq(self.data_fields), some_pending.eq(self.data_fields.any())]
                with m.If(lower_taken & upper_takes):
                    m.d.sync += owing.left.eq(owing.left - 2)
                with m.Elif(lower_taken | upper_takes):
                    m.d.sync += owing.left.eq(owing.left - 1)

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

    def _foremost(self, m, name):
        """The first of ``fields`` that is in ``mask``, and the ``rest`` of the mask."""
        layout = {"mask": 8, "fields": data.ArrayLayout(DATA_FIELD_LAYOUT, 8), "field": DATA_FIELD_LAYOUT, "rest": 8}
        parts = {part: Signal(shape, name=f"{name}_{part}") for part, shape in layout.items()}
        mask, first = parts["mask"], Signal(8, name=f"{name}_first")
        m.d.comb += [
            first.eq(Cat(mask[n] & ~mask[:n].any() for n in range(8))),
            parts["field"].eq(select_one(first, [parts["fields"][n] for n in range(8)])),
            parts["rest"].eq(mask & ~first),
        ]
        return SimpleNamespace(**parts)

    def _describe(self, m, slot, field, left):
        """Tell what the Data half-flit is that ``field`` owes, which owes ``left`` behind it."""
        m.d.comb += [
            slot.is_request.eq(field.is_request),
            slot.byte_enables.eq(field.byte_enables & (left == 0)),
            # Without byte enables the last half-flit is an upper half, with them the last but one is.
            slot.half.eq(~(left[0] ^ field.byte_enables)),
            slot.last.eq(left == 0),
        ]
