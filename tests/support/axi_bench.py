"""A Verilog bench in which firmware brings a generated controller up over AXI4-Lite, on a loopback plug."""

from support.four_state import AS_RECEIVED, BEAT_BITS, RESET_CYCLES

__all__ = ["axi_bench"]

# One access at a time finds every channel ready.
_TASKS = """
reg [31:0] word; reg [1:0] answer;
task write(input [31:0] address, input [31:0] value); begin
  @(negedge clk); bus__awaddr <= address; bus__wdata <= value; bus__wstrb <= 15; bus__awvalid <= 1; bus__wvalid <= 1;
  @(negedge clk) bus__awvalid <= 0; bus__wvalid <= 0;
  while (!bus__bvalid) @(negedge clk); answer = bus__bresp; bus__bready <= 1; @(negedge clk) bus__bready <= 0;
end endtask
task read(input [31:0] address); begin
  @(negedge clk); bus__araddr <= address; bus__arvalid <= 1; @(negedge clk) bus__arvalid <= 0;
  while (!bus__rvalid) @(negedge clk); word = bus__rdata; answer = bus__rresp; bus__rready <= 1;
  @(negedge clk) bus__rready <= 0;
end endtask
task show; $display("%0d %0d %0d", answer, word, irq); endtask
"""


def axi_bench(description: dict, story: list[str]) -> str:
    """Module ``bench`` that runs ``story`` after reset: statements with ``write``, ``read`` and ``show``, which prints
    the answer, the word last read and the interrupt line. A clock stands still while its ``…_runs`` is 0."""
    ports = {row["name"]: row for row in description["ports"]}
    clocks = [name for name in ("clk", "upli_clk") if name in ports]
    resets = [name for name in ("rst", "upli_rst") if name in ports]
    lines = ["`timescale 1ns/1ps", "module bench;"]
    for clock, half in zip(clocks, ("1.0", "1.7")):
        lines.append(f"reg {clock} = 0, {clock}_runs = 1; always #{half} if ({clock}_runs) {clock} = ~{clock};")
    lines += [f"reg {reset} = 1;" for reset in resets]
    for name, row in ports.items():
        if name in (*clocks, *resets):
            continue
        driven = name.startswith("bus__") and row["direction"] == "input"
        lines.append(f"{'reg' if driven else 'wire'} [{row['width'] - 1}:0] {name}{' = 0' if driven else ''};")
        if row["direction"] == "input" and not driven:
            tied = {"rs__tx__ready": "1'b1", "rs__rx__valid": "beat[518]", "rs__rx__payload": AS_RECEIVED}
            lines.append(f"assign {name} = {tied.get(name, str(row['width']) + chr(39) + 'd' + str(row['idle']))};")
    lines += [
        f"reg [{BEAT_BITS - 1}:0] beat = 0;",
        "always @(posedge clk) beat <= rst ? 0 : {rs__tx__valid, rs__tx__payload};",
        f"{description['module']} dut ({', '.join(f'.{name}({name})' for name in ports)});",
        _TASKS,
        "initial begin",
        f"  repeat ({RESET_CYCLES}) @(negedge upli_clk); {' '.join(f'{name} = 0;' for name in resets)}",
        *(f"  {statement}" for statement in story),
        "  $finish;",
        "end",
        'initial begin #40000 $display("time out"); $finish; end',
        "endmodule",
    ]
    return "\n".join(lines) + "\n"
