"""Wrong versions of the transaction layer: what each one changes in the text of one module, and who must notice."""

from support.tl.mutant import SOAK, Mutant
from support.tl.mutants_layer import LAYER_MUTANTS
from support.tl.mutants_pack import PACK_MUTANTS
from support.tl.mutants_receive import RECEIVE_MUTANTS
from support.tl.mutants_transmit import TRANSMIT_MUTANTS

__all__ = ["MUTANTS", "SOAK", "Mutant"]

MUTANTS = PACK_MUTANTS + TRANSMIT_MUTANTS + RECEIVE_MUTANTS + LAYER_MUTANTS
