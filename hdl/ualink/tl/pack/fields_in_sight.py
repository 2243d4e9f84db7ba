"""The fields among which the packer chooses: what it decides by, and a cycle later what they hold."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.tl.format.half_flits import FIELD_FORM_LAYOUT

from .limits import within
from .look_ahead import LookAheadQueue, exactly
from .stack import RESPONSES_IN_SIGHT, STACKS_LAYOUT, stacks

__all__ = ["FORM_LIMITS_LAYOUT", "FieldsInSight", "content_layout"]

FORM_LIMITS_LAYOUT = data.StructLayout({"compressed": 4, "uncompressed": 4})
"""Most fields of each form in a Control half-flit (UALink_200 §5.10); 0 counts as 1."""


def content_layout(field_layout) -> data.StructLayout:
    """What the flit carries of a field: ``field`` and ``auth_tag``."""
    return data.StructLayout({name: field_layout[name].shape for name in ("field", "auth_tag")})


class FieldsInSight(wiring.Component):
    """Queue of ``depth`` fields of ``layout``, all in sight; one enters and up to ``depth`` leave per cycle.

    A field is decided upon by its form, and put into a half-flit in the next cycle; so its content stays a cycle longer
    than its form. A field accepted in one cycle is in sight in the next; ``i.ready`` is a register.

    How many leave is known late. So what the packer asks of the fields is worked out for each number that may leave,
    and comes from registers in the next cycle.

    Attributes
    ----------
    i : fields in.
    limits : backoff limits; they hold from the next cycle on.
    forms, valid : the fields, entry 0 is the oldest, and in bit n whether entry n is there; 0 after reset.
    eligible : bit n: entry n is there, and within the limits with those before it; 0 after reset.
    stacks : of Responses: how they come to stand.
    take : bit n: field n leaves ``forms`` in this cycle; the first ones do.
    contents : of the fields that were in ``forms`` in the cycle before, in the same order.
    """

    def __init__(self, layout, depth: int, *, responses: bool = False):
        self.layout, self.depth, self.responses = layout, depth, responses
        stacked = {"stacks": Out(STACKS_LAYOUT)} if responses else {}
        super().__init__(
            stacked
            | {
                "i": In(stream.Signature(layout)),
                "forms": Out(FIELD_FORM_LAYOUT).array(depth),
                "limits": In(FORM_LIMITS_LAYOUT),
                "valid": Out(depth),
                "eligible": Out(depth),
                "take": In(depth),
                "contents": Out(content_layout(layout)).array(depth),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.forms = forms = LookAheadQueue(FIELD_FORM_LAYOUT, self.depth)
        # Contents leave a cycle later, by a register. Where there is room among the forms and none among the contents,
        # some of these leave now.
        m.submodules.contents = contents = LookAheadQueue(content_layout(self.layout), self.depth)
        taken = Signal(self.depth)
        m.d.sync += taken.eq(self.take)
        m.d.comb += [
            self.i.ready.eq(forms.i.ready),
            forms.i.valid.eq(self.i.valid & forms.i.ready),
            contents.i.valid.eq(self.i.valid & forms.i.ready),
            forms.i.p.compressed.eq(self.i.p.compressed),
            forms.i.p.job.eq(self.i.p.job),
            contents.i.p.field.eq(self.i.p.field),
            contents.i.p.auth_tag.eq(self.i.p.auth_tag),
            self.valid.eq(forms.valid),
            forms.take.eq(self.take),
            contents.take.eq(taken),
        ]
        self._foresee(m, forms)
        m.d.comb += [sink.eq(source) for sink, source in zip(self.forms, forms.entries, strict=True)]
        m.d.comb += [sink.eq(source) for sink, source in zip(self.contents, contents.entries, strict=True)]
        return m

    def _foresee(self, m, forms):
        """``eligible`` and ``stacks`` of the next cycle, for each number of fields that leave in this one."""
        new = self.i.p.compressed
        comes = self.i.valid & forms.i.ready
        short = Signal(self.depth)
        m.d.comb += short.eq(Cat(Mux(there, entry.compressed, new) for there, entry in zip(forms.valid, forms.entries)))
        eligible, stacked = [], []
        for gone in range(self.depth + 1):
            # One comes at most behind those that stay.
            most = min(self.depth, self.depth - gone + 1)
            left = Cat(forms.valid[gone:], 0)[:most]
            compressed = Signal(most, name=f"compressed_without_{gone}")
            uncompressed = Signal(most, name=f"uncompressed_without_{gone}")
            here = Signal(self.depth, name=f"eligible_without_{gone}")
            m.d.comb += [
                compressed.eq(Cat(short[gone:], new)),
                uncompressed.eq(~compressed),
                here.eq(
                    (left | Mux(comes, Cat(1, left[:-1]), 0))
                    & within(m, compressed, self.limits.compressed, f"compressed_{gone}")
                    & within(m, uncompressed, self.limits.uncompressed, f"uncompressed_{gone}")
                ),
            ]
            eligible.append(here)
            if self.responses:
                padded = Cat(compressed, Const(0, RESPONSES_IN_SIGHT - most))
                stacked.append(stacks(m, padded, f"without_{gone}_"))
        ways = Signal(self.depth + 1)
        m.d.comb += ways.eq(Cat(exactly(self.take)))
        m.d.sync += self.eligible.eq(select_one(ways, eligible))
        if self.responses:
            after = Signal(STACKS_LAYOUT, reset_less=True)
            m.d.sync += after.eq(select_one(ways, stacked))
            m.d.comb += self.stacks.eq(after)
