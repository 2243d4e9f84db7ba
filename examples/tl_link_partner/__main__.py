"""``python examples/tl_link_partner``: compile the transaction layer, run the bench, say what it covered."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tl_link_partner.transaction_layer_top import TransactionLayerTop

from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import RunOptions, build

LOG = Path("tl_link_partner.log")

print("compiling the transaction layer (a minute the first time)")
model = build({"transaction_layer.v": to_verilog(TransactionLayerTop(), "transaction_layer")}, "transaction_layer")
model.run("tl_link_partner.bench", options=RunOptions(log=LOG))
print(f"passed; functional coverage of the run is in {LOG}")
