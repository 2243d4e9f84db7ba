"""Wrong versions of the replay RTL: what each one changes in the text of one module."""

from support.dl.mutant import Mutant
from support.dl.mutants_receive import RECEIVE_MUTANTS
from support.dl.mutants_transmit import TRANSMIT_MUTANTS

__all__ = ["MUTANTS", "Mutant"]

MUTANTS = RECEIVE_MUTANTS + TRANSMIT_MUTANTS
