"""A Verilog bench of a generated controller on a loopback plug, in which every unknown bit of an output is told.

It knows of the controller only what its JSON says. The reconciliation sublayer hands over what it was given; all other
inputs are tied to their idle values, but for clocks, resets and what firmware says to start a link. A second one at the
other end would do the same in the same cycles.
"""

import random
import re
import subprocess
from pathlib import Path

__all__ = ["bench", "random_at_power_up", "simulate"]

RESET_CYCLES = 8
BEAT_BITS = 519
"""Of the reconciliation sublayer: the payload, and above it whether there is one."""
FIRMWARE = re.compile(r"dl_config__\d+__enable|upli_clock_may_change")
ONLINE = re.compile(r"dl_status__\d+__online|tl_status__\d+__credits_ready")
AS_RECEIVED = "{beat[517:516] == 0 ? 2'd0 : 2'd2, beat[515:0]}"
"""A transmitted beat as it comes back: ``kind`` DATA is ``status`` GOOD, all else is CONTROL."""
_REGISTER = re.compile(r"^(  reg (?:\[(\d+):0\] )?(?:\\\S+ |\w+)) ?= [^;]*;", re.MULTILINE)


def bench(description: dict, cycles: int) -> str:
    """Module ``bench``: it ends when the controller is online on all ports, at the latest after ``cycles``.

    It prints a line "unknown PORT CYCLE" for each output that is X outside of reset while it means something, "not idle
    PORT VALUE" for each that has not its idle value in reset, and "online CYCLE".
    """
    ports = {row["name"]: row for row in description["ports"]}
    clocks = [name for name in ("clk", "upli_clk") if name in ports]
    resets = [name for name in ("rst", "upli_rst") if name in ports]
    lines = ["`timescale 1ns/1ps", "module bench;", "integer cycle = 0;"]
    lines += [f"reg {clock} = 0; always #{half} {clock} = ~{clock};" for clock, half in zip(clocks, ("1.0", "1.7"))]
    lines += [f"reg {reset} = 1;" for reset in resets]
    lines += [f"wire [{row['width'] - 1}:0] {name};" for name, row in ports.items() if name not in (*clocks, *resets)]
    values = {name: f"{row['width']}'d{row['idle']}" for name, row in ports.items() if row["direction"] == "input"}
    values |= {name: "1'b1" for name in values if FIRMWARE.fullmatch(name)} | {"rs__tx__ready": "1'b1"}
    values |= {"rs__rx__valid": "beat[518]", "rs__rx__payload": AS_RECEIVED}
    lines += [f"assign {name} = {value};" for name, value in values.items() if name not in (*clocks, *resets)]
    lines += _wire(description["parameters"]["ports"])
    lines.append(f"{description['module']} dut ({', '.join(f'.{name}({name})' for name in ports)});")
    lines += [_watch(row, ports) for row in ports.values() if row["direction"] == "output"]
    online = " & ".join(name for name in ports if ONLINE.fullmatch(name))
    lines += [
        "always @(negedge clk) begin",
        f"  cycle <= cycle + 1; if (cycle == {RESET_CYCLES}) begin {' '.join(f'{name} <= 0;' for name in resets)} end",
        f'  if (({online}) === 1\'b1) begin $display("online %0d", cycle); $finish; end',
        f"  if (cycle == {cycles}) $finish;",
        "end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _wire(ports: int) -> list[str]:
    """What is sent comes back one round of the ports later, and so in a cycle of the same port."""
    sent = "{rs__tx__valid, rs__tx__payload}"
    return [
        f"reg [{BEAT_BITS * ports - 1}:0] loop = 0; wire [{BEAT_BITS - 1}:0] beat;",
        f"assign beat = loop[{BEAT_BITS * ports - 1}:{BEAT_BITS * (ports - 1)}];",
        f"always @(posedge clk) loop <= rst ? 0 : {sent if ports == 1 else f'{{loop, {sent}}}'};",
    ]


def _watch(row: dict, ports: dict) -> str:
    """What goes with a valid says something only then."""
    name = row["name"]
    companions = {name.rpartition("__")[0] + f"__{valid}" for valid in ("vld", "valid")}
    valid = "".join(f" && {other} !== 0" for other in companions if other in ports and other != name)
    if name.endswith(("ready", "vld_parity", "auth_tag")):
        valid = ""
    return (
        f"always @(negedge {row['clock']}) begin "
        f'if (!rst && cycle > {RESET_CYCLES} && ^{name} === 1\'bx{valid}) $display("unknown {name} %0d", cycle); '
        f"if (rst && cycle > {RESET_CYCLES // 2} && {name} !== {row['width']}'d{row['idle']}{valid}) "
        f'$display("not idle {name} %0d", {name}); end'
    )


def random_at_power_up(verilog: str, seed: int) -> str:
    """``verilog`` with random values at power-up in its registers, in place of those that simulators take for granted.

    Silicon has none, so reset alone must bring up what matters.
    """
    rng = random.Random(seed)
    return _REGISTER.sub(lambda m: f"{m[1]} = {int(m[2] or 0) + 1}'h{rng.getrandbits(int(m[2] or 0) + 1):x};", verilog)


def simulate(folder: Path, **sources: str) -> list[str]:
    """What Icarus Verilog prints for module ``bench`` of ``sources``, file name without ending to text."""
    for name, text in sources.items():
        (folder / f"{name}.v").write_text(text)
    files = [f"{name}.v" for name in sources]
    for command in (["iverilog", "-g2001", "-o", "bench.vvp", "-s", "bench", *files], ["vvp", "-n", "bench.vvp"]):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout.splitlines()
