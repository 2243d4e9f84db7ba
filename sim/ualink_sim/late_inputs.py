"""Of the parts of pods that are compiled apart, the inputs that act on outputs in the same cycle, as names in Verilog.

All other outputs come from registers. ``tests/sim/test_late_inputs.py`` compares this with the design.
"""

from ualink.config import StationConfig

__all__ = ["BANK", "CONTROLLER", "core_agent", "station", "switch_registers"]

BANK = CONTROLLER = ()
"""Of a bank of the core of a switch, and of a ``Controller`` with a register bus: none."""


def station(config: StationConfig) -> tuple[str, ...]:
    """Of a ``Station``: ``connected`` of both agents, ``pending`` of chosen ports, counts of beats of 64B/66B."""
    names = ["upli_completer__orig_clk_ack", "upli_originator__comp_clk_ack"]
    names += ["bifurcation__wanted"] if config.choosable_ports else []
    names += ["pcs__tx__ready"] if config.phy else []
    return tuple(names)


def switch_registers(config: StationConfig) -> tuple[str, ...]:
    """Of ``StationWindows``: ``ready`` of the UARTs, of which a read of a register takes words."""
    return ("bus__address", "bus__read", "bus__write", "slot", *(["used"] if config.choosable_ports else []))


def core_agent(side: str, config: StationConfig) -> tuple[str, ...]:
    """Of the ``CoreAgent`` of that side: ``connected``, ``dropping``, and ``moves`` of chosen ports."""
    ingress = side == "ingress"
    names = ["upli__orig_clk_ack" if ingress else "upli__comp_clk_ack", "upset"]
    if config.choosable_ports:
        requests, responses = ("req", "orig_data"), ("rd_rsp", "wr_rsp")
        beats, queues = (requests, responses) if ingress else (responses, requests)
        names += [f"upli__{channel}__vld" for channel in beats]
        names += [f"{channel}__{port}__valid" for channel in queues for port in range(config.ports)]
    return tuple(names)
