"""For every rule of the UPLI checker a script that breaks it and nothing else."""

from support.upli.violations import interface, requests, responses
from support.upli.violations.common import SCRIPTS

__all__ = ["SCRIPTS", "interface", "requests", "responses"]
