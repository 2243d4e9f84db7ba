"""A standard-cell library of four cells: at a load of one pin delays are whole numbers, to be added up by hand."""

__all__ = [
    "BUFFER_PS",
    "CLOCK_TO_OUTPUT_PS",
    "GATE_PS",
    "LARGE_DFF",
    "SET_UP_PS",
    "TINY_LIBRARY",
    "large_dff",
    "without",
]

CLOCK_TO_OUTPUT_PS = 20
SET_UP_PS = 5
GATE_PS = 10
BUFFER_PS = 15

_HEAD = """library (tiny_typical) {
  delay_model : table_lookup;
  capacitive_load_unit (1,ff);
  current_unit : "1mA";
  leakage_power_unit : "1nW";
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
  default_max_transition : 320;
  lu_table_template (by_slew_and_load) {
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1 ("1, 100");
    index_2 ("1, 10, 100");
  }
"""


def _table(kind, value):
    row = f"{value}, {2 * value}, {12 * value}"  # ABC needs three loads to see that delays grow with them
    axes = 'index_1 ("1, 100"); index_2 ("1, 10, 100");'
    return f'      {kind} (by_slew_and_load) {{ {axes} values ("{row}", "{row}"); }}\n'


def _timing(related, delay, kind):
    tables = "".join(
        _table(name, value)
        for name, value in (
            ("cell_rise", delay),
            ("cell_fall", delay),
            ("rise_transition", 10),
            ("fall_transition", 10),
        )
    )
    return f'    timing () {{\n      related_pin : "{related}";\n      {kind};\n{tables}    }}\n'


def _gate(name, area, function, inputs, sense, delay):
    pins = "".join(f"    pin ({pin}) {{\n      direction : input;\n      capacitance : 1;\n    }}\n" for pin in inputs)
    timing = "".join(_timing(pin, delay, f"timing_sense : {sense}") for pin in inputs)
    return (
        f"  cell ({name}) {{\n    area : {area};\n{pins}    pin (Y) {{\n      direction : output;\n"
        f'      function : "{function}";\n      max_capacitance : 1000;\n{timing}    }}\n  }}\n'
    )


def _flip_flop(name, area, delay):
    checks = "".join(
        f'      timing () {{ related_pin : "CLK"; timing_type : {kind}; '
        f'rise_constraint (scalar) {{ values ("{value}"); }} '
        f'fall_constraint (scalar) {{ values ("{value}"); }} }}\n'
        for kind, value in (("setup_rising", SET_UP_PS), ("hold_rising", 0))
    )
    return (
        f"  cell ({name}) {{\n    area : {area};\n"
        '    ff (IQ, IQN) {\n      next_state : "D";\n      clocked_on : "CLK";\n    }\n'
        "    pin (CLK) {\n      direction : input;\n      clock : true;\n      capacitance : 1;\n    }\n"
        f"    pin (D) {{\n      direction : input;\n      capacitance : 1;\n{checks}    }}\n"
        '    pin (Q) {\n      direction : output;\n      function : "IQ";\n      max_capacitance : 1000;\n'
        f"{_timing('CLK', delay, 'timing_type : rising_edge')}    }}\n  }}\n"
    )


_CELLS = {
    "DFF": _flip_flop("DFF", 4, CLOCK_TO_OUTPUT_PS),
    "NAND2": _gate("NAND2", 1, "!(A & B)", "AB", "negative_unate", GATE_PS),
    "INV": _gate("INV", 0.5, "!A", "A", "negative_unate", GATE_PS),
    "BUF": _gate("BUF", 0.8, "A", "A", "positive_unate", BUFFER_PS),
}


def without(*cells: str) -> str:
    """The library without some of its cells."""
    return _HEAD + "".join(text for name, text in _CELLS.items() if name not in cells) + "}\n"


LARGE_DFF = (6, 10)
"""Area of a larger flip-flop, and ps from its clock to its output."""


def large_dff(name: str) -> str:
    """The library with a larger flip-flop, which is fast."""
    return without().removesuffix("}\n") + _flip_flop(name, *LARGE_DFF) + "}\n"


TINY_LIBRARY = without()
"""The text of the library: DFF, NAND2, INV and BUF."""
