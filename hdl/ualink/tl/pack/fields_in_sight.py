"""The fields among which the packer chooses: what it decides by, and a cycle later what they hold."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.tl.format.half_flits import FIELD_FORM_LAYOUT

from .limits import full_at, within_full
from .look_ahead import LookAheadQueue, exactly
from .stack import FITS_LAYOUT, STACKS_LAYOUT, fits, stacks_from

__all__ = ["FORM_LIMITS_LAYOUT", "FieldsInSight", "content_layout"]

FORM_LIMITS_LAYOUT = data.StructLayout({"compressed": 4, "uncompressed": 4})
"""Most fields of each form in a Control half-flit (UALink_200 §5.10); 0 counts as 1."""


def content_layout(field_layout) -> data.StructLayout:
    """What the flit carries of a field: ``field`` and ``auth_tag``, and their ``code``."""
    return data.StructLayout({name: field_layout[name].shape for name in ("field", "auth_tag", "code")})


class FieldsInSight(wiring.Component):
    """Queue of ``depth`` fields of ``layout``, all in sight; one enters and up to ``depth`` leave per cycle.

    A field is decided upon by its form, and put into a half-flit in the next cycle; so its content stays a cycle longer
    than its form. A field accepted in one cycle is in sight in the next; ``i.ready`` is a register.

    How many leave is known late. So what the packer asks of the fields is worked out for each number that may leave,
    and comes from registers in the next cycle.

    Parameters
    ----------
    alternatives : how many may leave is known in so many ways.

    Attributes
    ----------
    i : fields in.
    limits : backoff limits; they hold from the next cycle on.
    allowance : source rate limit of this cycle, as in ``SourceRateLimit``; a Control half-flit that takes fields is the
        last before that of the next cycle.
    grows : a flit without Control half-flit will be behind those that have left, which it was not yet in this cycle: if
        no Control half-flit is taken, the allowance of the next cycle is one more.
    forms, valid : the fields, entry 0 is the oldest, and in bit n whether entry n is there; 0 after reset.
    eligible : bit n: entry n is there, and within the limits and the source rate limit with those before it; 0 after
        reset.
    stacks, fits : of Responses: how they come to stand, and whether those ``eligible`` have room, as none do after
        reset.
    chosen : one bit is set: bit 0, no Control half-flit is taken in this cycle, or bit n + 1, one with what
        ``takes[n]`` says.
    takes : bit n: field n leaves ``forms``; the first ones do.
    contents : of the fields that were in ``forms`` in the cycle before, in the same order.
    """

    def __init__(self, layout, depth: int, *, responses: bool = False, alternatives: int = 1):
        self.layout, self.depth, self.responses, self.alternatives = layout, depth, responses, alternatives
        stacked = {"stacks": Out(STACKS_LAYOUT), "fits": Out(FITS_LAYOUT)} if responses else {}
        super().__init__(
            stacked
            | {
                "i": In(stream.Signature(layout)),
                "forms": Out(FIELD_FORM_LAYOUT).array(depth),
                "limits": In(FORM_LIMITS_LAYOUT),
                "valid": Out(depth),
                "eligible": Out(depth),
                "allowance": In(depth),
                "grows": In(1),
                "chosen": In(alternatives + 1),
                "takes": In(depth).array(alternatives),
                "contents": Out(content_layout(layout)).array(depth),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.forms = forms = LookAheadQueue(FIELD_FORM_LAYOUT, self.depth, self.alternatives)
        # Contents leave a cycle later, by a register. Where there is room among the forms and none among the contents,
        # some of these leave now.
        m.submodules.contents = contents = LookAheadQueue(content_layout(self.layout), self.depth)
        taken = Signal(self.depth)
        m.d.sync += taken.eq(select_one(self.chosen[1:], self.takes))
        m.d.comb += [
            self.i.ready.eq(forms.i.ready),
            forms.i.valid.eq(self.i.valid & forms.i.ready),
            contents.i.valid.eq(self.i.valid & forms.i.ready),
            forms.i.p.compressed.eq(self.i.p.compressed),
            forms.i.p.job.eq(self.i.p.job),
            contents.i.p.field.eq(self.i.p.field),
            contents.i.p.auth_tag.eq(self.i.p.auth_tag),
            contents.i.p.code.eq(self.i.p.code),
            self.valid.eq(forms.valid),
            forms.chosen.eq(self.chosen),
            contents.chosen.eq(0b10),
            contents.takes[0].eq(taken),
        ]
        m.d.comb += [sink.eq(source) for sink, source in zip(forms.takes, self.takes, strict=True)]
        self._foresee(m, forms)
        m.d.comb += [sink.eq(source) for sink, source in zip(self.forms, forms.entries, strict=True)]
        m.d.comb += [sink.eq(source) for sink, source in zip(self.contents, contents.entries, strict=True)]
        return m

    def _foresee(self, m, forms):
        """``eligible``, ``stacks`` and ``fits`` of the next cycle, for each number of fields that leave in this one."""
        new = self.i.p.compressed
        comes = self.i.valid & forms.i.ready
        short = Signal(self.depth)
        m.d.comb += short.eq(Cat(Mux(there, entry.compressed, new) for there, entry in zip(forms.valid, forms.entries)))
        stacked = [Const(0, 0)] * (self.depth + 1)
        if self.responses:
            stacked = stacks_from(m, Cat(short, new), self.depth + 1)
        room = [Cat(1, self.allowance[gone:], Const(0, gone))[: self.depth] for gone in range(self.depth + 1)]
        full_short = full_at(m, self.limits.compressed, self.depth, "compressed")
        full_long = full_at(m, self.limits.uncompressed, self.depth, "uncompressed")
        gone_with = []
        for gone in range(self.depth + 1):
            # One comes at most behind those that stay.
            most = min(self.depth, self.depth - gone + 1)
            left = Cat(forms.valid[gone:], 0)[:most]
            compressed = Signal(most, name=f"compressed_without_{gone}")
            uncompressed = Signal(most, name=f"uncompressed_without_{gone}")
            here = Signal(self.depth, name=f"here_without_{gone}")
            m.d.comb += [
                compressed.eq(Cat(short[gone:], new)),
                uncompressed.eq(~compressed),
                here.eq(
                    (left | Mux(comes, Cat(1, left[:-1]), 0))
                    & within_full(m, compressed, full_short, f"compressed_{gone}")
                    & within_full(m, uncompressed, full_long, f"uncompressed_{gone}")
                ),
            ]
            gone_with.append(self._outlook(m, here & room[gone], stacked[gone], f"{gone}_gone"))
            if gone == 0:
                stays = self._outlook(m, here & self.allowance, stacked[0], "held")
        following = [Mux(self.grows, gone_with[0], stays)]
        for alternative, take in enumerate(self.takes):
            ways = Signal(self.depth + 1, name=f"ways_{alternative}")
            m.d.comb += ways.eq(Cat(exactly(take)))
            following.append(select_one(ways, gone_with))
        if self.responses:
            after, fit = Signal(STACKS_LAYOUT, reset_less=True), Signal(FITS_LAYOUT, init=_NONE)
            m.d.comb += [self.stacks.eq(after), self.fits.eq(fit)]
            m.d.sync += Cat(self.eligible, after, fit).eq(select_one(self.chosen, following))
        else:
            m.d.sync += self.eligible.eq(select_one(self.chosen, following))

    def _outlook(self, m, eligible, stacked, name):
        """Bits of ``eligible``, ``stacks`` and ``fits``."""
        able = Signal(self.depth, name=f"eligible_{name}")
        m.d.comb += able.eq(eligible)
        if not self.responses:
            return able
        room = Signal(FITS_LAYOUT, name=f"fits_{name}")
        m.d.comb += room.as_value().eq(fits(data.View(STACKS_LAYOUT, stacked), able))
        return Cat(able, stacked, room)


_NONE = {"low": (1 << FITS_LAYOUT["low"].width) - 1, "high": (1 << FITS_LAYOUT["high"].width) - 1}
