"""Parts of a switch core that are compiled once for all that are alike."""

from itertools import product

from ualink.config import SwitchConfig
from ualink.emit.shared_parts import SharedParts, part_name
from ualink.emit.verilog import to_verilog
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


class WholeBanks(SharedParts):
    """``stand_in`` of a ``SwitchCore`` of ``config``: banks are instances of one module if there are many; in a large
    core of several rows so is each part that every port has.

    Attributes
    ----------
    blocks : names of the modules to compile apart: banks, and where rows are many ingresses, merges and egresses.
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
        super().__init__(lambda kind: many or (bool(blocks) and kind in BANKS))

    def verilog(self) -> str:
        """The modules, once the core is elaborated."""
        return "\n".join(to_verilog(part, name) for name, part in self.parts.items())
