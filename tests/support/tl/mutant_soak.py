"""A short soak of the version of the transaction layer that ``TL_MUTANT`` names; exit code 3 if it is noticed."""

import json
import os
import sys
import tempfile
from pathlib import Path

import support.tl.mutant_modules  # noqa: F401  the mutant comes before everything that imports its module
from support.tl.soak_cases import MODELS, cases
from support.tl.soak_tap import TAP_VERILOG
from support.tl.soak_top import SoakTop
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import RunOptions, SimulatorError, build

NAME, CASES, CYCLES = "tiny", 8, 12_000
OFTEN = {"restart": 30_000, "coupled": 1, "take": 20_000, "req": 0xFFFF, "reads": 5000}
"""Links that restart every few hundred cycles, amid writes; the second half of the cases is so."""


def main() -> int:
    chosen = MODELS[NAME]
    bench = SoakTop(chosen.configs, chosen.ports, chosen.latency)
    model = build({"tl_mutant.v": to_verilog(bench, "tl_mutant"), "soak_tap.v": TAP_VERILOG}, "tl_mutant")
    made = cases(NAME, CASES, CYCLES)
    for case in made[CASES // 2 :]:
        case.update(OFTEN)
    with tempfile.TemporaryDirectory() as folder:
        results, log = Path(folder, "results.json"), Path(folder, "log")
        environment = {"MODEL": NAME, "CASES": json.dumps(made), "RESULTS": str(results)}
        # In the simulation only the Verilog is wrong.
        environment["TL_MUTANT"] = ""
        try:
            model.run("support.tl.soak_bench", environment=environment, options=RunOptions(log=log))
        except SimulatorError:
            text = log.read_text(errors="replace")
            noticed = [line.strip() for line in text.splitlines() if "AssertionError" in line]
            print(noticed[-1][-300:] if noticed else text[-2000:])
            return 3 if noticed else 1
        return 0 if results.exists() else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
