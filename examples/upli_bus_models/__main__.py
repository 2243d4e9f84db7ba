"""``python examples/upli_bus_models [SIMULATOR]``: run ``bench.py`` on a Verilog file with cocotb's own runner."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cocotb_tools.runner import get_results
from relay import Relay

from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import runner

simulator = sys.argv[1] if len(sys.argv) > 1 else "verilator"
folder = Path("sim_build", f"upli_bus_models_{simulator}")
folder.mkdir(parents=True, exist_ok=True)
(folder / "relay.v").write_text(to_verilog(Relay(), "relay"))

with runner(simulator) as run:
    print(f"compiling {folder / 'relay.v'}")
    run.build(
        sources=[folder / "relay.v"],
        hdl_toplevel="relay",
        build_dir=folder,
        timescale=("1ns", "1ps"),
        build_args=["-Wno-fatal", "-Wno-lint"] if simulator == "verilator" else [],
        log_file=folder / "build.log",
    )
    results = run.test(
        hdl_toplevel="relay",
        test_module="bench",
        build_dir=folder,
        test_dir=folder,
        log_file=folder / "run.log",
        timescale=("1ns", "1ps"),
    )
tests, failed = get_results(results)
if failed or not tests:
    sys.exit(f"{failed} of {tests} tests failed; see {folder / 'run.log'}")
print(f"passed; what the simulator said is in {folder / 'run.log'}")
