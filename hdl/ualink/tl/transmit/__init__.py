"""The transmit half of the transaction layer (UALink_200 §5.5)."""

from .top import Transmit

__all__ = ["Transmit"]
