"""A UPLI interface seen from outside: every signal of both sides is an input (UALink_200 §2.7)."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ualink.upli.channels import UPLISignature

__all__ = ["WatchedSignature", "leaves", "watch"]


def _watched(signature: wiring.Signature) -> dict[str, wiring.Member]:
    members = {}
    for name, member in signature.members.items():
        of = wiring.Signature(_watched(member.signature)) if member.is_signature else member.shape
        members[name] = Out(of).array(*member.dimensions)
    return members


class WatchedSignature(wiring.Signature):
    """The members of ``UPLISignature``, or of the ``channel`` of it, all in one direction: that of an onlooker's
    inputs, as ``In(WatchedSignature())``."""

    def __init__(self, channel: str | None = None):
        upli = UPLISignature()
        super().__init__(_watched(upli if channel is None else upli.members[channel].signature))


def leaves(interface, signature: wiring.Signature) -> list:
    """The signals of ``interface``, which has the members of ``signature``, in the order of these."""
    found: list = []
    for name, member in signature.members.items():
        part = getattr(interface, name)
        if member.is_signature:
            found += leaves(part, member.signature)
        elif member.dimensions:
            found += [part[n] for n in range(member.dimensions[0])]
        else:
            found.append(part)
    return found


def watch(m: Module, watched, upli) -> None:
    """Let ``watched``, as of ``WatchedSignature``, show what is on ``upli``, any interface with the members of
    ``UPLISignature``."""
    signature = WatchedSignature()
    m.d.comb += [show.eq(seen) for show, seen in zip(leaves(watched, signature), leaves(upli, signature))]
