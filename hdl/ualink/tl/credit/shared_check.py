"""Receive side of the data credits in Shared Data Buffer mode: has the partner spent more than it was given?"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ualink.config import Credits

from .check import CreditCheck
from .data_signatures import AccountSignature, of_both

__all__ = ["SharedCreditCheck"]


class SharedCreditCheck(wiring.Component):
    """Counts the free buffers of both data classes, of which the Pools are one (UALink_200 §5.8, Shared Data Buffer
    mode); VC credits stay with their class. In place of two ``CreditCheck``.

    A buffer is free from the cycle after its release. When both classes spend in one cycle and the joint Pool has
    enough for the Response alone, the Request is the one that takes too much.

    Parameters
    ----------
    req_data, rsp_data : the buffers announced; either may be none at all.

    Attributes
    ----------
    accounts : of each class.
    """

    def __init__(self, req_data: Credits, rsp_data: Credits):
        self.credits = {"request": req_data, "response": rsp_data}
        super().__init__({"accounts": In(of_both(AccountSignature()))})

    def elaborate(self, platform):
        m = Module()
        joint = self.credits["request"].pool + self.credits["response"].pool
        free = Signal(range(joint + 1), init=joint)
        spent, freed, vcs = {}, {}, {}
        for kind, credits in self.credits.items():
            account = getattr(self.accounts, kind)
            event, release = account.spent, account.release
            m.submodules[f"{kind}_vcs"] = vcs[kind] = CreditCheck(Credits(vc=credits.vc))
            spent[kind], freed[kind] = Signal(3, name=f"{kind}_pool_spent"), Signal(3, name=f"{kind}_pool_freed")
            m.d.comb += [
                vcs[kind].spent.eq(event),
                vcs[kind].spent.valid.eq(event.valid & ~event.pool),
                vcs[kind].release[0].eq(release),
                vcs[kind].release[0].valid.eq(release.valid & ~release.pool),
                spent[kind].eq(Mux(event.valid & event.pool, event.count, 0)),
                freed[kind].eq(Mux(release.valid & release.pool, release.count, 0)),
            ]
        for kind, before in (("request", spent["response"]), ("response", 0)):
            short = (spent[kind] != 0) & (spent[kind] + before > free)
            m.d.comb += getattr(self.accounts, kind).underflow.eq(vcs[kind].underflow | short)
        m.d.sync += free.eq(free + freed["request"] + freed["response"] - spent["request"] - spent["response"])
        return m
