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

__all__ = ["WholeBanks"]

FEW = 2
"""So many banks of each size compile faster as parts of the core: each module takes a compiler of its own."""
MANY = 16
"""Ports of a core of several rows, from which on the other parts that each port has are compiled once, too."""

RESPONSES = ("rd_rsp", "wr_rsp")
BANKS = (RequestBank, ResponseBank)
_AGENTS = tuple(part_name(CoreAgent, side) for side in SIDES)
"""Names of the modules of the agents before the stations of a ``Switch``. Those of one port are small: apart they
would gain nothing."""


class WholeBanks(SharedParts):
    """``stand_in`` of a ``Switch`` or a ``SwitchCore`` of ``config``: agents of several ports before the stations are
    instances of one module each, banks are if there are many, and in a large core of several rows so is each part that
    every port has.

    Attributes
    ----------
    blocks : names of the modules of a core to compile apart: banks, and where rows are many ingresses, merges and
        egresses.
    agents : names of those of a ``Switch`` to compile apart: the agents before its stations.
    """

    def __init__(self, config: SwitchConfig):
        grid = Grid(config.stations * config.station.ports, config.ports_per_row)
        depths = QueueDepths.of_credits(config.station.upli)
        rows, columns = grid.rows, grid.columns
        sizes = sorted({(len(row), len(column)) for row, column in product(rows, columns)})
        many = len(rows) > 1 and grid.ports >= MANY
        blocks = []
        if len(rows) * len(columns) > FEW * len(sizes):
            for size in sizes:
                blocks.append(part_name(RequestBank, *size))
                blocks += [
                    part_name(ResponseBank, channel, *size, getattr(depths, channel), depths.shared)
                    for channel in RESPONSES
                ]
        if many:
            blocks += [part_name(RequestMerge, len(rows)), part_name(RequestEgress)]
            blocks += [part_name(RequestIngress, grid.ports)]
            for channel in RESPONSES:
                blocks += [part_name(ResponseMerge, channel, len(rows)), part_name(ResponseEgress, channel)]
                blocks += [part_name(ResponseIngress, channel, grid.ports)]
        self.blocks = tuple(blocks)
        self.agents = _AGENTS if config.station.ports > 1 else ()
        super().__init__(
            lambda kind: many or (bool(blocks) and kind in BANKS) or (kind is CoreAgent and self.agents != ())
        )

    def verilog(self) -> dict[str, str]:
        """The modules once the core is elaborated: those to compile apart each in a file of its own."""
        texts = {name: to_verilog(part, name) for name, part in self.parts.items()}
        apart = {f"{name}.v": texts.pop(name) for name in (*self.agents, *self.blocks) if name in texts}
        return {**apart, "core_parts.v": "\n".join(texts.values())}
