"""Which Accelerator ID is the row of an Address Cache (UALink_200 §5.5)."""

from amaranth.hdl import Mux

from ualink.config import TLConfig

__all__ = ["at_this_end"]


def at_this_end(config: TLConfig, is_switch, of_accelerator, of_switch):
    """``of_accelerator`` or ``of_switch``, as ``config.device`` says; of "either" ``is_switch`` decides."""
    if config.device == "either":
        return Mux(is_switch, of_switch, of_accelerator)
    return of_switch if config.device == "switch" else of_accelerator
