"""Authentication tags beside what they belong to, in memories and registers that may have no room for them."""

from amaranth.lib import data

__all__ = ["assign", "stored"]


def stored(layout: data.StructLayout, authentication: bool) -> data.StructLayout:
    """``layout`` as it is stored: without ``authentication`` its ``auth_tag``, then always 0, takes no bits."""
    if authentication:
        return layout
    members = {}
    for name, field in layout:
        nested = isinstance(field.shape, data.StructLayout)
        members[name] = 0 if name == "auth_tag" else stored(field.shape, False) if nested else field.shape
    return data.StructLayout(members)


def assign(target, source):
    """Statements that give each member of ``target`` the value it has in ``source``; one is stored, the other whole."""
    for name, field in target.shape():
        if isinstance(field.shape, data.StructLayout):
            yield from assign(target[name], source[name])
        else:
            yield target[name].eq(source[name])
