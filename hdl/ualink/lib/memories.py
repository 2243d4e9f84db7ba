"""What RTLIL says of the contents of memories at power-up."""

import re

__all__ = ["drop_zero_contents"]

_CONTENTS = re.compile(r"^ *cell \$meminit_v2 \S+\n(?: +(?:parameter|connect) .*\n)+ *end\n", re.MULTILINE)
_ALL_ZERO = re.compile(r"^ *connect \\DATA \d+'0+$", re.MULTILINE)


def drop_zero_contents(rtlil: str) -> str:
    """The same design without initial contents for the memories in which these are all zero.

    Amaranth gives every memory initial contents. No block reads a row that it has not written, so zeros say nothing,
    but a RAM macro has no initial contents at all, and a netlist spends a line on each row. Tables are kept.
    """
    return _CONTENTS.sub(lambda found: "" if _ALL_ZERO.search(found[0]) else found[0], rtlil)
