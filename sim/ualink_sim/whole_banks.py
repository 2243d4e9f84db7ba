"""Parts of a switch core that are compiled once for all that are alike."""

from itertools import product

from ualink.config import SwitchConfig
from ualink.emit.shared_parts import SharedParts, part_name
from ualink.emit.verilog import to_verilog
from ualink.switch.core_agent import SIDES, CoreAgent
from ualink.switch.grid import Grid
from ualink.switch.merging.request_merge import RequestMerge
from ualink.switch.merging.response_merge import ResponseMerge
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_bank import RequestBank
from ualink.switch.request_egress import RequestEgress
from ualink.switch.request_ingress import RequestIngress
from ualink.switch.response_bank import ResponseBank
from ualink.switch.response_egress import ResponseEgress
from ualink.switch.response_ingress import ResponseIngress

from .late_inputs import BANK, core_agent
from .verilation import Blocks

__all__ = ["WholeBanks"]

MANY = 16
"""Ports of a core of several rows, from which on the other parts that each port has are compiled once, too."""

RESPONSES = ("rd_rsp", "wr_rsp")
BANKS = (RequestBank, ResponseBank)


class WholeBanks(SharedParts):
    """``stand_in`` of a ``Switch`` or a ``SwitchCore`` of ``config``: banks and the agents before the stations are
    instances of one module each, and in a large core of several rows so is each part that every port has.

    Attributes
    ----------
    blocks : modules of a core to compile apart: banks, and where rows are many ingresses, merges and egresses.
    agents : those of a ``Switch``: the agents before its stations.
    """

    def __init__(self, config: SwitchConfig):
        grid = Grid(config.stations * config.station.ports, config.ports_per_row)
        depths = QueueDepths.of_credits(config.station.upli)
        rows, columns = grid.rows, grid.columns
        sizes = sorted({(len(row), len(column)) for row, column in product(rows, columns)})
        many = len(rows) > 1 and grid.ports >= MANY
        banks, others = [], []
        for size in sizes:
            banks.append(part_name(RequestBank, *size))
            banks += [
                part_name(ResponseBank, channel, *size, getattr(depths, channel), depths.shared)
                for channel in RESPONSES
            ]
        if many:
            others += [part_name(RequestMerge, len(rows)), part_name(RequestEgress)]
            others += [part_name(RequestIngress, grid.ports)]
            for channel in RESPONSES:
                others += [part_name(ResponseMerge, channel, len(rows)), part_name(ResponseEgress, channel)]
                others += [part_name(ResponseIngress, channel, grid.ports)]
        self.blocks: Blocks = dict.fromkeys(banks, BANK) | dict.fromkeys(others)
        self.agents: Blocks = {part_name(CoreAgent, side): core_agent(side, config.station) for side in SIDES}
        super().__init__(lambda kind: many or kind in (*BANKS, CoreAgent))

    def verilog(self) -> dict[str, str]:
        """The modules once the core is elaborated: those to compile apart each in a file of its own."""
        texts = {name: to_verilog(part, name) for name, part in self.parts.items()}
        apart = {f"{name}.v": texts.pop(name) for name in (*self.agents, *self.blocks) if name in texts}
        return {**apart, "core_parts.v": "\n".join(texts.values())}
