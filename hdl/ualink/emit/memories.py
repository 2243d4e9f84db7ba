"""What RTLIL says of memories: contents at power-up, reads of a row that is being written, what they are made of."""

import re

__all__ = ["drop_zero_contents", "free_collisions", "prefer_block_rams"]

_CONTENTS = re.compile(r"^ *cell \$meminit_v2 \S+\n(?: +(?:parameter|connect) .*\n)+ *end\n", re.MULTILINE)
_MODULE = re.compile(r"^module .*?^end\n", re.MULTILINE | re.DOTALL)
_MEET_NEVER = re.compile(
    r"^ *attribute \\reads_and_writes_never_meet 1\n(?: *attribute .*\n)* *memory .* (\\\S+)\n", re.MULTILINE
)
_MEMORY = re.compile(r"^((?: *attribute .*\n)*)( *)memory width (\d+) size (\d+) (\\\S+)\n", re.MULTILINE)
_UNCLOCKED_READ = re.compile(
    r"^ *cell \$memrd_v2 \S+\n *parameter \\MEMID \"\\(\\\S+)\"\n(?: *parameter .*\n)*? *parameter \\CLK_ENABLE 0\n",
    re.MULTILINE,
)
_READ_PORT = re.compile(
    r"^( *cell \$memrd_v2 \S+\n *parameter \\MEMID \"\\(\\\S+)\"\n"
    r"(?: *parameter .*\n)*? *parameter \\COLLISION_X_MASK) (\d+)'0+$",
    re.MULTILINE,
)
_ALL_ZERO = re.compile(r"^ *connect \\DATA \d+'0+$", re.MULTILINE)


def drop_zero_contents(rtlil: str) -> str:
    """The same design without initial contents for the memories in which these are all zero.

    Amaranth gives every memory initial contents. No block reads a row that it has not written, so zeros say nothing,
    but a RAM macro has no initial contents at all, and a netlist spends a line on each row. Tables are kept.
    """
    return _CONTENTS.sub(lambda found: "" if _ALL_ZERO.search(found[0]) else found[0], rtlil)


def free_collisions(rtlil: str) -> str:
    """The same design in which a read of a row that is written in that cycle may give anything, for the memories that
    are marked ``NEVER_MEET``.

    Without this a synthesizer builds what keeps the old row on show out of registers and multiplexers, one of each and
    one more register per bit, around a block RAM that does not do so by itself.
    """

    return _MODULE.sub(_free_in_module, rtlil)


def prefer_block_rams(rtlil: str, *, bits: int, rows: int) -> str:
    """The same design in which memories of ``bits`` bits and ``rows`` rows or more are to be made of block RAMs, where
    each read of them has a clock.

    A synthesizer that weighs the two takes LUT RAMs for memories that are wide and not deep, although block RAMs are
    left over and logic is what the device runs out of. With fewer rows than a LUT RAM has nothing is gained: a block
    RAM gives few bits at one place, and what is wide needs so many of them that its wires cross the device.
    """

    def prefer_in_module(module) -> str:
        unclocked = set(_UNCLOCKED_READ.findall(module[0]))

        def prefer(memory) -> str:
            attributes, indent, width, size, name = memory.groups()
            itself = memory[0].removeprefix(attributes)
            small = int(width) * int(size) < bits or int(size) < rows
            if small or name in unclocked or "ram_style" in attributes:
                return memory[0]
            return f'{attributes}{indent}attribute \\ram_style "block"\n{itself}'

        return _MEMORY.sub(prefer, module[0])

    return _MODULE.sub(prefer_in_module, rtlil)


def _free_in_module(module):
    names = set(_MEET_NEVER.findall(module[0]))
    return _READ_PORT.sub(lambda port: _freed(port) if port[2] in names else port[0], module[0])


def _freed(port) -> str:
    return f"{port[1]} {port[3]}'{'1' * int(port[3])}"
