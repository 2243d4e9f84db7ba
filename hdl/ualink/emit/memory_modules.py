"""Every memory of a design a module of its own, whose place a macro can take."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

__all__ = ["MemoryModule", "with_memory_modules"]

_MODULE = re.compile(r"^module (\\\S+)\n.*?^end\n", re.MULTILINE | re.DOTALL)
_MEMORY = re.compile(r"^(?: *attribute .*\n)* *memory width (\d+) size (\d+) \\(\S+)\n+", re.MULTILINE)
_DECLARED = r"^(?: *attribute .*\n)* *memory width \d+ size \d+ \\{name}\n"
_CELL = re.compile(r"^  cell (\S+) \S+\n(?:    .*\n)*  end\n+", re.MULTILINE)
_PARAMETER = re.compile(r"^ *parameter \\(\w+) (\S+)$", re.MULTILINE)
_CONNECTION = re.compile(r"^ *connect \\(\w+) (.*)$", re.MULTILINE)
_BIT = re.compile(r"(\\\S+|\$\S+) \[(\d+)(?::(\d+))?\]")


@dataclass(frozen=True)
class MemoryModule:
    """A kind of memory: one port to write and one to read, a row each.

    ``enables``: equal parts of a row, each of which is written or left. ``latency``: cycles from the row to its data, 0
    without a clock. ``clocks``: 2 if the ports have one each. ``read_enable``: 1 if a read can be left out, which keeps
    the data of the one before. ``instances``: in the whole design.
    """

    module: str
    width: int
    depth: int
    enables: int
    latency: int
    clocks: int
    read_enable: int
    instances: int = 0

    @property
    def address_bits(self) -> int:
        """Of a row, 1 or more."""
        return max(1, (self.depth - 1).bit_length())


def with_memory_modules(rtlil: str, top: str) -> tuple[str, list[MemoryModule]]:
    """The same design, of module ``top``, with its memories in modules ``<top>_ram_<width>x<depth>…``, and these.

    They are nothing but memories: what must be seen of a row that is written while it is read goes around them.
    """
    kinds: dict[str, MemoryModule] = {}
    used: dict[str, Counter[str]] = {}

    def change(module: re.Match[str]) -> str:
        text = module[0]
        ports: dict[str, dict[str, list[str]]] = {}
        counts = used[module[1][1:]] = Counter()
        for cell in _CELL.finditer(text):
            if cell[1] in ("$memwr_v2", "$memrd_v2", "$meminit_v2"):
                name = dict(_PARAMETER.findall(cell[0]))["MEMID"].strip('"').replace("\\", "")
                ports.setdefault(name, {}).setdefault(cell[1], []).append(cell[0])
            else:
                counts[cell[1][1:]] += 1
        for width, depth, name in _MEMORY.findall(text):
            memory = _Memory(top, name, int(width), int(depth), ports[name])
            for cells in ports[name].values():
                for port in cells:
                    text = text.replace(port, "")
            text = re.sub(_DECLARED.format(name=re.escape(name)), "", text, flags=re.MULTILINE)
            text = text.removesuffix("end\n") + memory.wires() + memory.cells() + "end\n"
            kinds[memory.kind.module] = memory.kind
            counts[memory.kind.module] += 1
        return text

    changed = _MODULE.sub(change, rtlil)
    total = _instances(used, top)
    found = [replace(kind, instances=total[name]) for name, kind in sorted(kinds.items())]
    return changed + "".join(map(_module, found)), found


def _instances(used: dict[str, Counter[str]], top: str) -> Counter[str]:
    """How often each module stands in the design."""
    total: Counter[str] = Counter({top: 1})
    for child, count in used.get(top, Counter()).items():
        for name, below in _instances(used, child).items():
            total[name] += count * below
    return total


class _Memory:
    """One memory of a module, out of its cells."""

    def __init__(self, top: str, name: str, width: int, depth: int, ports: dict[str, list[str]]):
        if {kind: len(cells) for kind, cells in ports.items()} != {"$memwr_v2": 1, "$memrd_v2": 1}:
            raise ValueError(f"memory {name} of {top} has other ports than one to write and one to read, or contents")
        ((write,), (read,)) = ports["$memwr_v2"], ports["$memrd_v2"]
        parameters = dict(_PARAMETER.findall(read))
        self.name, self.write, self.read = name, dict(_CONNECTION.findall(write)), dict(_CONNECTION.findall(read))
        # The only row of a memory has an address without bits.
        self.write_row, self.read_row = (port["ADDR"] if depth > 1 else "1'0" for port in (self.write, self.read))
        clocked = parameters["CLK_ENABLE"] == "1"
        if clocked and not self.read["ARST"] == self.read["SRST"] == "1'0":
            raise ValueError(f"memory {name} of {top} has a read port with a reset")
        self.enable, enables = _parts(self.write["EN"], width)
        self.forwards = clocked and "1" in parameters["TRANSPARENCY_MASK"].split("'")[1]
        clocks = 1 if not clocked or self.read["CLK"] == self.write["CLK"] else 2
        read_enable = int(clocked and self.read["EN"] != "1'1")
        said = [f"{enables}_enables"] * (enables > 1) + ["unclocked"] * (not clocked) + ["two_clocks"] * (clocks == 2)
        self.kind = MemoryModule(
            module="_".join([top, "ram", f"{width}x{depth}", *said, *["read_enable"] * read_enable]),
            width=width,
            depth=depth,
            enables=enables,
            latency=int(clocked),
            clocks=clocks,
            read_enable=read_enable,
        )

    def wires(self) -> str:
        """Wires for what goes around it."""
        if not self.forwards:
            return ""
        width, enables = self.kind.width, self.kind.enables
        names = {"read": width, "written": width, "bypass": enables, "bypasses": enables, "meets": 1, "data": width}
        return "".join(f"  wire width {bits} \\{self.name}__{name}\n\n" for name, bits in names.items())

    def cells(self) -> str:
        """The module of the memory, and what goes around it."""
        own = {
            "write_clk" if self.kind.clocks == 2 else "clk": self.write["CLK"],
            "write_addr": self.write_row,
            "write_data": self.write["DATA"],
            "write_en": self.enable,
            "read_addr": self.read_row,
            "read_data": self._wire("read") if self.forwards else self.read["DATA"],
        }
        if self.kind.clocks == 2:
            own["read_clk"] = self.read["CLK"]
        if self.kind.read_enable:
            own["read_en"] = self.read["EN"]
        return _cell(f"\\{self.kind.module}", f"\\{self.name}", {}, own) + (self._bypass() if self.forwards else "")

    def _bypass(self) -> str:
        width, enables = self.kind.width, self.kind.enables
        part = width // enables
        sizes = {"A_SIGNED": 0, "B_SIGNED": 0}
        meets = {"A": self.write_row, "B": self.read_row, "Y": self._wire("meets")}
        both = {"A": self.enable, "B": _joined([self._wire("meets")] * enables), "Y": self._wire("bypass")}
        rows = {"A_WIDTH": self.kind.address_bits, "B_WIDTH": self.kind.address_bits, "Y_WIDTH": 1}
        widths = dict.fromkeys(("A_WIDTH", "B_WIDTH", "Y_WIDTH"), enables)
        text = _cell("$eq", self._named("eq"), sizes | rows, meets)
        text += _cell("$and", self._named("and"), sizes | widths, both)
        for source, sink, bits in (
            (self._wire("bypass"), "bypasses", enables),
            (self.write["DATA"], "written", width),
        ):
            parameters = {"WIDTH": bits, "CLK_POLARITY": 1}
            ends = {"D": source, "CLK": self.read["CLK"], "Q": self._wire(sink)}
            if self.kind.read_enable:
                parameters["EN_POLARITY"], ends["EN"] = 1, self.read["EN"]
            text += _cell("$dffe" if self.kind.read_enable else "$dff", self._named(sink), parameters, ends)
        for n in range(enables):
            place = f" [{part * n + part - 1}:{part * n}]"
            chosen = {
                "S": f"{self._wire('bypasses')} [{n}]",
                "A": self._wire("read") + place,
                "B": self._wire("written") + place,
                "Y": self._wire("data") + place,
            }
            text += _cell("$mux", self._named(f"mux_{n}"), {"WIDTH": part}, chosen)
        return text + f"  connect {self.read['DATA']} {self._wire('data')}\n\n"

    def _wire(self, name: str) -> str:
        return f"\\{self.name}__{name}"

    def _named(self, name: str) -> str:
        return f"$bypass${self.name}${name}"


def _cell(kind: str, name: str, parameters: Mapping[str, int | str], connections: Mapping[str, str]) -> str:
    lines = [f"  cell {kind} {name}"]
    lines += [f"    parameter \\{key} {value}" for key, value in parameters.items()]
    lines += [f"    connect \\{key} {value}" for key, value in connections.items()]
    return "\n".join([*lines, "  end\n\n"])


def _joined(parts: list[str]) -> str:
    """A signal of ``parts``, the lowest first."""
    return parts[0] if len(parts) == 1 else "{ " + " ".join(reversed(parts)) + " }"


def _parts(enable: str, width: int) -> tuple[str, int]:
    """The enables of the equal parts of a row, as a signal, and how many there are."""
    found = [
        f"{name} [{bit}]"
        for name, high, low in reversed(_BIT.findall(enable))
        for bit in range(int(low or high), int(high) + 1)
    ]
    if len(found) != width:
        return enable, width
    for count in (n for n in range(1, width + 1) if width % n == 0):
        part = width // count
        firsts = found[::part]
        if all(bit == firsts[n // part] for n, bit in enumerate(found)):
            return _joined(firsts), count
    raise AssertionError("a row has as many parts as bits at most")


def _module(kind: MemoryModule) -> str:
    bits = kind.address_bits
    two = kind.clocks == 2
    ports = [("input", "write_clk" if two else "clk", 1), ("input", "write_addr", bits)]
    ports += [("input", "write_data", kind.width), ("input", "write_en", kind.enables), ("input", "read_addr", bits)]
    ports += [("input", "read_clk", 1)] * two + [("input", "read_en", 1)] * kind.read_enable
    ports += [("output", "read_data", kind.width)]
    lines = [f"module \\{kind.module}", f"  memory width {kind.width} size {kind.depth} \\ram_rows", ""]
    for n, (direction, name, width) in enumerate(ports, start=1):
        lines += [f"  wire width {width} {direction} {n} \\{name}", ""]
    clock = "\\write_clk" if two else "\\clk"
    memory: dict[str, int | str] = {"MEMID": '"\\\\ram_rows"', "ABITS": bits, "WIDTH": kind.width, "CLK_POLARITY": 1}
    part = kind.width // kind.enables
    enable = [f"\\write_en [{n}]" for n in range(kind.enables) for _ in range(part)]
    write = _cell(
        "$memwr_v2",
        "$write",
        memory | {"CLK_ENABLE": 1, "PORTID": 0, "PRIORITY_MASK": 0},
        {"ADDR": "\\write_addr", "DATA": "\\write_data", "EN": _joined(enable), "CLK": clock},
    )
    unknown = f"{kind.width}'{'x' * kind.width}"
    read = _cell(
        "$memrd_v2",
        "$read",
        memory
        | {"TRANSPARENCY_MASK": "1'0", "COLLISION_X_MASK": "1'0", "CE_OVER_SRST": 0, "CLK_ENABLE": kind.latency}
        | {"ARST_VALUE": unknown, "SRST_VALUE": unknown, "INIT_VALUE": unknown},
        {
            "ADDR": "\\read_addr",
            "DATA": "\\read_data",
            "ARST": "1'0",
            "SRST": "1'0",
            "EN": "\\read_en" if kind.read_enable else "1'1",
            "CLK": ("\\read_clk" if two else "\\clk") if kind.latency else "1'0",
        },
    )
    return "\n".join(lines) + "\n" + write + read + "end\n"
