"""The fields among which the packer chooses: what it decides by, and a cycle later what they hold."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.format.half_flits import FIELD_FORM_LAYOUT

from .look_ahead import LookAheadQueue

__all__ = ["FieldsInSight", "content_layout"]


def content_layout(field_layout) -> data.StructLayout:
    """What the flit carries of a field: ``field`` and ``auth_tag``."""
    return data.StructLayout({name: field_layout[name].shape for name in ("field", "auth_tag")})


class FieldsInSight(wiring.Component):
    """Queue of ``depth`` fields of ``layout``, all in sight; one enters and up to ``depth`` leave per cycle.

    A field is decided upon by its form, and put into a half-flit in the next cycle; so its content stays a cycle longer
    than its form. A field accepted in one cycle is in sight in the next; ``i.ready`` is a register.

    Attributes
    ----------
    i : fields in.
    forms, valid : the fields, entry 0 is the oldest, and in bit n whether entry n is there; 0 after reset.
    take : bit n: field n leaves ``forms`` in this cycle; the first ones do.
    contents : of the fields that were in ``forms`` in the cycle before, in the same order.
    """

    def __init__(self, layout, depth: int):
        self.layout, self.depth = layout, depth
        super().__init__(
            {
                "i": In(stream.Signature(layout)),
                "forms": Out(FIELD_FORM_LAYOUT).array(depth),
                "valid": Out(depth),
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
        m.d.comb += [sink.eq(source) for sink, source in zip(self.forms, forms.entries, strict=True)]
        m.d.comb += [sink.eq(source) for sink, source in zip(self.contents, contents.entries, strict=True)]
        return m
