"""The memory macro that is assumed: what Yosys may use, and its timing as a liberty file.

One write and one read port, 64 bits wide, 16 to 1,024 words, without write-through. These figures belong to no library;
they are what a compiler of memories gives in a process of 7 nm, roughly.
"""

__all__ = ["ADDRESS_BITS", "CLOCK_TO_OUTPUT_PS", "SET_UP_PS", "macro_timing", "macros_for_yosys"]

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
