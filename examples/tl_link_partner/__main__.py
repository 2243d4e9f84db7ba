"""``python examples/tl_link_partner``: compile the transaction layer, run the bench, say what it covered."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tl_link_partner.transaction_layer_top import MODEL

from ualink_sim.simulator import RunOptions, build_once

LOG = Path("tl_link_partner.log")

print("compiling the transaction layer (a minute the first time)")
build_once(*MODEL).run("tl_link_partner.bench", options=RunOptions(log=LOG))
print(f"passed; functional coverage of the run is in {LOG}")
