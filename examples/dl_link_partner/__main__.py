"""``python examples/dl_link_partner``: compile the data link, run the bench, say what it covered."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dl_link_partner.data_link_top import MODEL

from ualink_sim.simulator import RunOptions, build_once

LOG = Path("dl_link_partner.log")

print("compiling the data link (a minute the first time)")
build_once(*MODEL).run("dl_link_partner.bench", options=RunOptions(log=LOG))
print(f"passed; functional coverage of the run is in {LOG}")
