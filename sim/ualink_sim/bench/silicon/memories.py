"""The memory macro that is assumed: what Yosys may use, and its timing as a liberty file.

One write and one read port, 64 bits wide, 16 to 1,024 words, without write-through. These figures belong to no library;
they are what a compiler of memories gives in a process of 7 nm, roughly.
"""

__all__ = ["ADDRESS_BITS", "CLOCK_TO_OUTPUT_PS", "SET_UP_PS", "macro_pins", "macro_timing", "macros_for_yosys"]

WIDTH = 64
ADDRESS_BITS = range(4, 11)
CLOCK_TO_OUTPUT_PS = 200
SET_UP_PS = 50
CAPACITANCE_FF = 2.0
SLEW_PS = 40

_MACRO = """ram block $__RAM{abits} {{
  abits {abits};
  width {width};
  cost {cost};
  port sr "R" {{
    clock posedge;
    rden;
  }}
  port sw "W" {{
    clock posedge;
  }}
}}
"""

_PINS = """(* techmap_celltype = "$__RAM{abits}" *)
module pins{abits} (
  PORT_R_CLK, PORT_R_ADDR, PORT_R_RD_EN, PORT_R_RD_DATA, PORT_W_CLK, PORT_W_ADDR, PORT_W_WR_EN, PORT_W_WR_DATA
);
  input PORT_R_CLK, PORT_R_RD_EN, PORT_W_CLK, PORT_W_WR_EN;
  input [{abits}-1:0] PORT_R_ADDR, PORT_W_ADDR;
  input [{width}-1:0] PORT_W_WR_DATA;
  output [{width}-1:0] PORT_R_RD_DATA;
  wire r_en, w_en;
  wire [{abits}-1:0] r_addr, w_addr;
  \\$_BUF_ r (.A(PORT_R_RD_EN), .Y(r_en));
  \\$_BUF_ w (.A(PORT_W_WR_EN), .Y(w_en));
  genvar i;
  generate for (i = 0; i < {abits}; i = i + 1) begin
    \\$_BUF_ r (.A(PORT_R_ADDR[i]), .Y(r_addr[i]));
    \\$_BUF_ w (.A(PORT_W_ADDR[i]), .Y(w_addr[i]));
  end endgenerate
  __RAM{abits} _TECHMAP_REPLACE_ (
    .PORT_R_CLK(PORT_R_CLK), .PORT_R_ADDR(r_addr), .PORT_R_RD_EN(r_en), .PORT_R_RD_DATA(PORT_R_RD_DATA),
    .PORT_W_CLK(PORT_W_CLK), .PORT_W_ADDR(w_addr), .PORT_W_WR_EN(w_en), .PORT_W_WR_DATA(PORT_W_WR_DATA)
  );
endmodule
"""

_HEAD = """library (ram) {
  delay_model : table_lookup;
  capacitive_load_unit (1,ff);
  current_unit : "1mA";
  leakage_power_unit : "1pW";
  pulling_resistance_unit : "1kohm";
  time_unit : "1ps";
  voltage_unit : "1V";
  nom_process : 1;
  nom_temperature : 25;
  nom_voltage : 1;
  input_threshold_pct_fall : 50;
  input_threshold_pct_rise : 50;
  output_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50;
  slew_lower_threshold_pct_fall : 10;
  slew_lower_threshold_pct_rise : 10;
  slew_upper_threshold_pct_fall : 90;
  slew_upper_threshold_pct_rise : 90;
"""


def macros_for_yosys() -> str:
    """A file for ``memory_libmap``."""
    return "".join(_MACRO.format(abits=abits, width=WIDTH, cost=100 + abits) for abits in ADDRESS_BITS)


def macro_pins() -> str:
    """A file for ``techmap`` that gives each pin of a macro a net of its own.

    ABC takes a net to be one pin, whatever it drives; with these it knows how many macros share an address, and puts
    buffers before them. The cells are then those of ``macro_timing``.
    """
    return "".join(_PINS.format(abits=abits, width=WIDTH) for abits in ADDRESS_BITS)


def macro_timing() -> str:
    """A liberty file; the cells are ``__RAM4`` to ``__RAM10``, after the number of address bits."""
    types = "".join(
        f"  type (b{width}) {{ base_type : array; data_type : bit; "
        f"bit_width : {width}; bit_from : {width - 1}; bit_to : 0; }}\n"
        for width in sorted({WIDTH, *ADDRESS_BITS})
    )
    return f"{_HEAD}{types}{''.join(map(_cell, ADDRESS_BITS))}}}\n"


def _cell(abits: int) -> str:
    text = [f"  cell (__RAM{abits}) {{\n    area : 0;\n"]
    for side in "RW":
        clock = f"PORT_{side}_CLK"
        text.append(f"    pin ({clock}) {{ direction : input; clock : true; capacitance : {CAPACITANCE_FF}; }}\n")
        text.append(_bus(f"PORT_{side}_ADDR", abits, _input(clock)))
    text += [
        f"    pin (PORT_R_RD_EN) {{ {_input('PORT_R_CLK')} }}\n",
        _bus("PORT_R_RD_DATA", WIDTH, _output("PORT_R_CLK")),
        f"    pin (PORT_W_WR_EN) {{ {_input('PORT_W_CLK')} }}\n",
        _bus("PORT_W_WR_DATA", WIDTH, _input("PORT_W_CLK")),
        "  }\n",
    ]
    return "".join(text)


def _bus(name: str, width: int, body: str) -> str:
    return f"    bus ({name}) {{ bus_type : b{width}; {body} }}\n"


def _input(clock: str) -> str:
    return (
        f'direction : input; capacitance : {CAPACITANCE_FF}; timing () {{ related_pin : "{clock}"; '
        f'timing_type : setup_rising; rise_constraint (scalar) {{ values ("{SET_UP_PS}"); }} '
        f'fall_constraint (scalar) {{ values ("{SET_UP_PS}"); }} }}'
    )


def _output(clock: str) -> str:
    delay, slew = f'{{ values ("{CLOCK_TO_OUTPUT_PS}"); }}', f'{{ values ("{SLEW_PS}"); }}'
    return (
        f'direction : output; max_capacitance : 50; timing () {{ related_pin : "{clock}"; '
        f"timing_type : rising_edge; cell_rise (scalar) {delay} cell_fall (scalar) {delay} "
        f"rise_transition (scalar) {slew} fall_transition (scalar) {slew} }}"
    )
