"""Verilator's warnings that say nothing about generated Verilog, each with the reason why."""

__all__ = ["WAIVERS", "waivers"]

WAIVERS = (
    ("DECLFILENAME", "*", "All modules of a design are in one file, named after the module on top."),
    (
        "PROCASSINIT",
        "*",
        "A register has its reset value at power-up as well; where there is a reset, it gives the same value.",
    ),
    (
        "CASEOVERLAP",
        "*",
        "Yosys prints a multiplexer as a casez of single select bits; each compares one signal with another constant.",
    ),
    (
        "WIDTHEXPAND",
        "Operator *",
        "Amaranth's operands have their own widths; Verilog extends the narrower with zeros, as Amaranth does.",
    ),
    ("CMPCONST", "*", "A count is compared with its limit also where the parameters never let it grow beyond."),
    ("WIDTHTRUNC", "Logical operator LOGNOT *", "Yosys prints a comparison of a vector with zero as !vector."),
    (
        "WIDTHTRUNC",
        "Operator ASSIGNW *SHIFTR *",
        "A part selected by a variable index is the low end of the shifted vector.",
    ),
    (
        "SYNCASYNCNET",
        "*",
        "The pointers of a FIFO between two clocks are held from the reset of one at once until a clock of the other.",
    ),
    (
        "VARHIDDEN",
        "Declaration of signal hides declaration in upper scope: '_*_'",
        "Yosys numbers the functions of each module; one of the module around it may have the same number.",
    ),
    (
        "UNUSEDSIGNAL",
        "Bits of signal are not used*",
        "A beat crosses the layers whole, and a sum has its carry, also where only a part of them is used.",
    ),
    (
        "UNUSEDSIGNAL",
        "Signal is not used*",
        "An instance gives all its outputs and a component takes all its inputs, also where none is used.",
    ),
)
"""Rule, pattern of the message and reason; every other warning of ``verilator --lint-only -Wall`` is an error."""


def waivers(name: str) -> str:
    """The Verilator configuration file that waives ``WAIVERS`` in ``<name>.v``."""
    lines = ["`verilator_config"]
    for rule, message, reason in WAIVERS:
        match = "" if message == "*" else f' -match "{message}"'
        lines += [f"// {reason}", f'lint_off -rule {rule} -file "*{name}.v"{match}']
    return "\n".join(lines) + "\n"
