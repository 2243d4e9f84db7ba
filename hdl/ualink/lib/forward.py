"""Hand members of an inner component through to the outer one."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In

__all__ = ["forward", "forward_member", "show"]


def forward(m: Module, inner, outer) -> None:
    """Join ``outer``, which shows the signature of component ``inner`` to the outside, to it: outputs out, inputs in.

    Unlike ``wiring.connect`` this takes two interfaces of the same direction.
    """
    for path, member, value in inner.signature.flatten(inner):
        _join(m, member, value, _at(outer, path))


def forward_member(m: Module, inner, name: str, outer) -> None:
    """Join ``outer`` to member ``name`` of component ``inner``: a port, an interface or an array of them."""
    for path, member, value in inner.signature.flatten(inner):
        if path[0] == name:
            _join(m, member, value, _at(outer, path[1:]))


def show(m: Module, inner, status, names=None) -> None:
    """Drive each output in the interface ``status``, or only those in ``names``, from the member of ``inner`` of the
    same name."""
    for name in status.signature.members if names is None else names:
        m.d.comb += getattr(status, name).eq(getattr(inner, name))


def _at(place, path):
    for part in path:
        place = place[part] if isinstance(part, int) else getattr(place, part)
    return place


def _join(m: Module, member, value, target) -> None:
    m.d.comb += [value.eq(target)] if member.flow == In else [target.eq(value)]
