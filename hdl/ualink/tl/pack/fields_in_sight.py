"""The fields among which the packer chooses: what it decides by, and a cycle later what they hold."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.tl.format.half_flits import FIELD_FORM_LAYOUT, TAGS

from .limits import full_at, halves, joined_halves, room_behind, within_full, zeros
from .look_ahead import LookAheadQueue, exactly
from .request_share import SHARE, rows_of
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
    limits : backoff limits; they hold from the next cycle but one on.
    authentication : from the next cycle on fields go with tags, of which a half-flit has room for ``TAGS``.
    allowance : source rate limit of this cycle, as in ``SourceRateLimit``; a Control half-flit that takes fields is the
        last before that of the next cycle.
    grows : a flit without Control half-flit will be behind those that have left, which it was not yet in this cycle: if
        no Control half-flit is taken, the allowance of the next cycle is one more.
    forms, valid : the fields, entry 0 is the oldest, and in bit n whether entry n is there; 0 after reset.
    eligible : bit n: entry n is there, and within the limits, the source rate limit and the room for tags with those
        before it; 0 after reset.
    tagged : the first two bits of ``eligible`` with ``authentication``, 0 without.
    rows : of Requests: what ``rows_of`` says of those ``eligible``; none but bit 0 after reset.
    stacks, fits : of Responses: how they come to stand, and whether those ``eligible`` have room, as none do after
        reset.
    chosen : one bit is set: bit 0, no Control half-flit is taken in this cycle, or bit n + 1, one with what
        ``takes[n]`` says.
    takes : bit n: field n leaves ``forms``; the first ones do.
    contents : of the fields that were in ``forms`` in the cycle before, in the same order.
    """

    def __init__(self, layout, depth: int, *, responses: bool = False, alternatives: int = 1):
        self.layout, self.depth, self.responses, self.alternatives = layout, depth, responses, alternatives
        asked = (
            {"stacks": Out(STACKS_LAYOUT), "fits": Out(FITS_LAYOUT)} if responses else {"rows": Out(len(SHARE), init=1)}
        )
        super().__init__(
            asked
            | {
                "i": In(stream.Signature(layout)),
                "forms": Out(FIELD_FORM_LAYOUT).array(depth),
                "limits": In(FORM_LIMITS_LAYOUT),
                "authentication": In(1),
                "valid": Out(depth),
                "eligible": Out(depth),
                "tagged": Out(2),
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
        """What is asked of the fields in the next cycle, for each number of them that leave in this one."""
        new = self.i.p.compressed
        comes = self.i.valid & forms.i.ready
        short = Signal(self.depth)
        m.d.comb += short.eq(Cat(Mux(there, entry.compressed, new) for there, entry in zip(forms.valid, forms.entries)))
        # How many are not: of each half, so that it is not long from there to those of all.
        long_without = [
            halves(m, ~Cat(short[gone:], new.replicate(gone)), f"uncompressed_without_{gone}")
            for gone in range(self.depth + 1)
        ]
        uncompressed = Signal(len(long_without[0]), reset_less=True)
        stacked = [Const(0, 0)] * (self.depth + 1)
        pairs, pairs_without = Signal(2 * self.depth), [Const(0, 0)] * (self.depth + 1)
        if self.responses:
            together, pairs_without = self._pairs(pairs, forms, new, comes)
            stacked = stacks_from(m, Cat(short, new), self.depth + 1, together)
        tags = Cat(Const(-1, min(TAGS, self.depth)), (~self.authentication).replicate(max(0, self.depth - TAGS)))
        room = [tags & Cat(1, self.allowance[gone:], Const(0, gone))[: self.depth] for gone in range(self.depth + 1)]
        full = {
            form: Signal(self.depth + 1, name=f"{form}_at_limit", reset_less=True)
            for form in FORM_LIMITS_LAYOUT.members
        }
        m.d.sync += [full[form].eq(full_at(m, self.limits[form], self.depth + 1, form)) for form in full]
        long = [*joined_halves(m, uncompressed, self.depth, "uncompressed"), []]
        gone_with = []
        for gone in range(self.depth + 1):
            here = Signal(self.depth, name=f"here_without_{gone}")
            m.d.comb += here.eq(self._within_limits(forms, long[gone], full, new, comes))
            forms_of = stacked[gone] if self.responses else Cat(short[gone:], new)
            known = Cat(pairs_without[gone], long_without[gone])
            gone_with.append(Cat(known, self._outlook(m, here & room[gone], forms_of, f"{gone}_gone")))
            if gone == 0:
                stays = Cat(known, self._outlook(m, here & tags & self.allowance, forms_of, "held"))
        following = [Mux(self.grows, gone_with[0], stays)]
        for alternative, take in enumerate(self.takes):
            ways = Signal(self.depth + 1, name=f"ways_{alternative}")
            m.d.comb += ways.eq(Cat(exactly(take)))
            following.append(select_one(ways, gone_with))
        if self.responses:
            after, fit = Signal(STACKS_LAYOUT, reset_less=True), Signal(FITS_LAYOUT, init=_NONE)
            m.d.comb += [self.stacks.eq(after), self.fits.eq(fit)]
            asked = Cat(pairs, uncompressed, self.eligible, self.tagged, after, fit)
        else:
            asked = Cat(uncompressed, self.eligible, self.tagged, self.rows)
        m.d.sync += asked.eq(select_one(self.chosen, following))

    def _within_limits(self, forms, long, full, new, comes):
        """Which fields are there and within the backoff limits when only those are left of which ``long`` says how many
        are uncompressed up to each; where one comes, the form of the ``new`` one only chooses between what is known for
        both."""
        gone = self.depth - len(long)
        # Before the first of them, and up to each.
        before = [Const(0, 0)]
        numbers = {"compressed": before + [zeros(count) for count in long], "uncompressed": before + long}
        # The first of those that are gone stands for whatever is before the first one left.
        there = Cat(1, forms.valid)[gone:]
        able = []
        for n in range(min(self.depth, self.depth - gone + 1)):
            short_before, long_before = numbers["compressed"][n], numbers["uncompressed"][n]
            short_may = room_behind(short_before, full["compressed"]) & within_full(long_before, full["uncompressed"])
            long_may = room_behind(long_before, full["uncompressed"]) & within_full(short_before, full["compressed"])
            free = there[n] if n + 1 == len(there) else there[n] & ~there[n + 1]
            may = comes & free & Mux(new, short_may, long_may)
            if n + 1 < len(there):
                may |= there[n + 1] & Cat(within_full(numbers[form][n + 1], full[form]) for form in full).all()
            able.append(may)
        return Cat(able)

    def _pairs(self, pairs, forms, new, comes):
        """Of each field whether it and the next one are both compressed, with the one that is ``new`` behind the last.

        The register ``pairs`` has of each field that is there, whether this is so, and whether it is compressed and the
        last; so little is left to do when the new one is known. Gives also what it becomes, by the number of fields
        that leave.
        """
        both, last = pairs[: self.depth], pairs[self.depth :]
        there = Cat(1, forms.valid)
        first_free = there[: self.depth] & ~forms.valid
        # One by one: as parts of a vector they would look to simulators as if they made each other.
        together = [pair | (end & new) for pair, end in zip(both, last)]
        following_both = both | (last & (new & comes).replicate(self.depth))
        following_last = Mux(comes, first_free & new.replicate(self.depth), last)
        without = [
            Cat(*(Cat(bits[gone:], Const(0, gone)) for bits in (following_both, following_last)))
            for gone in range(self.depth + 1)
        ]
        return together, without

    def _outlook(self, m, eligible, forms, name):
        """Bits of ``eligible``, ``tagged`` and ``rows``, of Requests whose ``forms`` these are (1: compressed), or of
        ``eligible``, ``tagged``, ``stacks`` and ``fits``, of Responses that come to stand as ``forms`` says."""
        able = Signal(self.depth, name=f"eligible_{name}")
        m.d.comb += able.eq(eligible)
        tagged = able[:2] & self.authentication.replicate(2)
        if not self.responses:
            rows = Signal(len(SHARE), name=f"rows_{name}")
            m.d.comb += rows.eq(rows_of(forms, able))
            return Cat(able, tagged, rows)
        room = Signal(FITS_LAYOUT, name=f"fits_{name}")
        m.d.comb += room.as_value().eq(fits(data.View(STACKS_LAYOUT, forms), able))
        return Cat(able, tagged, forms, room)


_NONE = {"low": (1 << FITS_LAYOUT["low"].width) - 1, "high": (1 << FITS_LAYOUT["high"].width) - 1}
