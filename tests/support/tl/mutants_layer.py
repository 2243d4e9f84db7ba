"""Wrong versions of the transaction layer that show in its traffic: a short soak must notice most of them."""

from support.tl.mutant import SOAK, Mutant

__all__ = ["LAYER_MUTANTS"]

TRANSMIT, RECEIVE_DATA = "ualink.tl.transmit.top", "ualink.tl.receive.data"

LAYER_MUTANTS = (
    Mutant(
        "allowances recover without flits",
        "TL-132",
        TRANSMIT,
        "limit.flit.eq(sequence.flit_between)",
        "limit.flit.eq(sequence.between)",
        "transmit/test_top.py::test_a_flit_that_waits_pushes_nothing_on",
    ),
    Mutant(
        "sequence survives a restart",
        "TL-221",
        TRANSMIT,
        "m.submodules.sequence = in_link(sequence)",
        "m.submodules.sequence = sequence",
        SOAK,
    ),
    Mutant(
        "credits survive a restart",
        "TL-221",
        TRANSMIT,
        "m.submodules.credits = in_link(credits)",
        "m.submodules.credits = credits",
        SOAK,
    ),
    Mutant(
        "byte enables survive a restart",
        "TL-221",
        RECEIVE_DATA,
        "ResetInserter(self.flush & ~self.request.busy)(queue)",
        "queue",
        SOAK,
    ),
)
