"""The compiled model of a pod of this kind."""

from pathlib import Path

from ualink.config import SwitchConfig
from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog

from ...simulator import Model, build_once
from ...whole_banks import WholeBanks
from .accelerator import Accelerator
from .top import UPLIPodTop

__all__ = ["build_upli_pod", "core_config", "upli_compile_minutes"]

BLOCK = "upli_accelerator"
"""The module of an accelerator, which is compiled once for all."""


def upli_compile_minutes(accelerators: int) -> int:
    """About how long a model of so many ``accelerators`` compiles on two idle cores, rounded up.

    Measured up to 16, and of 64 in rows of 16; for what is between it is a guess.
    """
    return 1 + accelerators * accelerators // 600


def core_config(config: SwitchConfig) -> SwitchConfig:
    """What of ``config`` the core of the switch is built of: the links of its stations are not."""
    default = SwitchConfig().station.replace(ports=1)
    return config.replace(station=default.replace(upli=config.station.upli))


def build_upli_pod(config: SwitchConfig, *, trace: bool = False) -> Model:
    """The model of as many accelerators as the switch ``config`` has stations, compiled or found again."""
    core = core_config(config)

    banks = WholeBanks(core)

    def sources() -> dict[str, str]:
        accelerator = Accelerator(core.stations)
        top = UPLIPodTop(core, lambda _: Blackbox(accelerator, BLOCK), banks)
        modules = {"upli_pod.v": to_verilog(top, "upli_pod"), f"{BLOCK}.v": to_verilog(accelerator, BLOCK)}
        return {**modules, **banks.verilog()}

    hardware = ("accelerator", "delay", "layouts", "requester", "responder", "top")
    own_code = [Path(__file__).with_name(f"{name}.py").read_text() for name in hardware]
    blocks = {BLOCK: None, **banks.blocks}
    return build_once(sources, "upli_pod", "\0".join([repr(core), *own_code]), blocks=blocks, trace=trace)
