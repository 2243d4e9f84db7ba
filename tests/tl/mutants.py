"""Wrong versions of the transaction layer: what each one changes in the text of one module, and who must notice."""

from tl.mutant import SOAK, Mutant
from tl.mutants_layer import LAYER_MUTANTS
from tl.mutants_receive import RECEIVE_MUTANTS
from tl.mutants_transmit import TRANSMIT_MUTANTS

__all__ = ["MUTANTS", "SOAK", "Mutant"]

MUTANTS = TRANSMIT_MUTANTS + RECEIVE_MUTANTS + LAYER_MUTANTS
