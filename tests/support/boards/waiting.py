"""Waiting for a board that is simulated."""

import time

from ualink_boards.console import readings

__all__ = ["TIMEOUT", "until"]

TIMEOUT = 60
"""Seconds for an answer: a thousand cycles take a tenth of one, where nothing else runs."""
_PATIENCE = 300


def until(board, name, value=1):
    """Wait until a field is as named; simulated time goes on with every request."""
    end = time.monotonic() + _PATIENCE
    while (found := readings.peek(board, name)[0].value) != value:
        assert time.monotonic() < end, f"{name} is {found}"
