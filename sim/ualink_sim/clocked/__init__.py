"""Modules that are compiled apart and whose outputs come from registers: one evaluation a cycle, several at a time."""
