"""The receive half of the transaction layer (UALink_200 §5.5)."""

from .top import Receive

__all__ = ["Receive"]
