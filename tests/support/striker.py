"""Wires that are struck once: in a cycle in which they show what is waited for, some of them are flipped."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import UPLISignature

__all__ = ["StrikeSignature", "Striker", "directed", "join_struck", "places"]


class StrikeSignature(wiring.Signature):
    """What a bench says where ``width`` wires are struck, seen from the bench.

    Attributes
    ----------
    armed : level, waits for the cycle.
    care, value : the cycle is the first one in which all wires of ``care`` show ``value``.
    mask : wires to flip in it.
    hit : from the cycle after it on, until ``armed`` falls.
    """

    def __init__(self, width: int):
        super().__init__({"armed": Out(1), "care": Out(width), "value": Out(width), "mask": Out(width), "hit": In(1)})


class Striker(wiring.Component):
    """Strikes ``width`` wires on their way from ``wires`` to ``struck``, which is without latency.

    Members
    -------
    strike : ``StrikeSignature``.
    wires, struck : before and behind.
    """

    def __init__(self, width: int):
        super().__init__({"strike": In(StrikeSignature(width)), "wires": In(width), "struck": Out(width)})

    def elaborate(self, platform):
        m = Module()
        strike, now = self.strike, Signal()
        m.d.comb += [
            now.eq(strike.armed & ~strike.hit & (((self.wires ^ strike.value) & strike.care) == 0)),
            self.struck.eq(self.wires ^ Mux(now, strike.mask, 0)),
        ]
        m.d.sync += strike.hit.eq(strike.armed & (strike.hit | now))
        return m


def directed(upli, flow) -> list[Value]:
    """The wires of ``upli``, any interface with the members of ``UPLISignature``, that its Originator drives (``Out``)
    or its Completer (``In``)."""
    flows = [member.flow for _, member, _ in UPLISignature().flatten(UPLISignature().create())]
    leaves = [value for _, _, value in upli.signature.flatten(upli)]
    return [Value.cast(value) for value, driven in zip(leaves, flows, strict=True) if driven == flow]


def places(flow) -> dict[str, tuple[int, int]]:
    """Lowest bit and width of each wire that ``directed`` gives, in one word; by path, such as
    "rd_rsp.credit.port_num.2"."""
    found, low = {}, 0
    for path, member, value in UPLISignature().flatten(UPLISignature().create()):
        if member.flow == flow:
            found[".".join(map(str, path))] = low, len(Value.cast(value))
            low += len(Value.cast(value))
    return found


def join_struck(m: Module, name: str, strike, wires: list[Value], struck: list[Value]) -> None:
    """Drive ``struck`` from ``wires`` through a ``Striker`` called ``name`` that obeys ``strike``."""
    striker = Striker(sum(map(len, wires)))
    m.submodules[name] = striker
    wiring.connect(m, wiring.flipped(strike), striker.strike)
    m.d.comb += [striker.wires.eq(Cat(wires)), Cat(struck).eq(striker.struck)]
