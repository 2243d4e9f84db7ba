"""The Requests of a receiver rebuilt as they are behind its catch buffer."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.receive.request_reconstruction import REQUEST_ENTRY_LAYOUT, RequestReconstruction, named_entry

__all__ = ["NamedReconstruction"]


class NamedReconstruction(wiring.Component):
    """``RequestReconstruction`` whose fields tell their entries by themselves; ``following`` is the field of the next
    cycle."""

    def __init__(self, config: TLConfig):
        self.inner = RequestReconstruction(config)
        field = data.StructLayout({"field": 128, "auth_tag": 64})
        super().__init__(
            {
                "field": In(stream.Signature(field, always_ready=True)),
                "following": In(128),
                "consume": In(1),
                "is_switch": In(1),
                "disable": In(1),
                "ready": Out(1),
                "request": Out(stream.Signature(REQUEST_ENTRY_LAYOUT, always_ready=True)),
                "missing": Out(1),
                "load_outside": Out(1),
                "cache_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self.inner
        row, way = named_entry(inner.config, self.is_switch, self.field.p.field)
        following_row, _ = named_entry(inner.config, self.is_switch, self.following)
        m.d.comb += [
            inner.field.valid.eq(self.field.valid),
            inner.field.p.field.eq(self.field.p.field),
            inner.field.p.auth_tag.eq(self.field.p.auth_tag),
            inner.field.p.row.eq(row),
            inner.field.p.way.eq(way),
            inner.following_row.eq(following_row),
            inner.consume.eq(self.consume),
            inner.disable.eq(self.disable),
            self.request.valid.eq(inner.request.valid),
            self.request.p.eq(inner.request.p),
        ]
        m.d.comb += [
            getattr(self, name).eq(getattr(inner, name)) for name in ("ready", "missing", "load_outside", "cache_error")
        ]
        return m
