"""The Requests of a receiver rebuilt as they are behind its catch buffer."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from ualink.config import TLConfig
from ualink.lib.forward import forward_member
from ualink.tl.receive.request_reconstruction import RequestReconstruction, named_entry

__all__ = ["NamedReconstruction"]


class NamedReconstruction(wiring.Component):
    """``RequestReconstruction`` whose fields tell their entries by themselves; ``following`` is the field of the next
    cycle."""

    def __init__(self, config: TLConfig):
        self.inner = RequestReconstruction(config)
        members = dict(self.inner.signature.members)
        del members["field"], members["following_row"]
        # The stream of Requests has a constant for ``ready``, which cannot be driven.
        self._same = [name for name in members if name != "request"]
        field = data.StructLayout({"field": 128, "auth_tag": 64})
        named = {"field": In(stream.Signature(field, always_ready=True)), "following": In(128), "is_switch": In(1)}
        super().__init__(members | named)

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
            self.request.valid.eq(inner.request.valid),
            self.request.p.eq(inner.request.p),
        ]
        for name in self._same:
            forward_member(m, inner, name, getattr(self, name))
        return m
