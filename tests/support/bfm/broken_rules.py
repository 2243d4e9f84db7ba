"""Hands that break each rule of the bus models once: ``CASES`` for test_rules.py."""

from support.bfm import broken_signals, broken_transactions  # noqa: F401
from support.bfm.rule_cases import CASES

__all__ = ["CASES"]
