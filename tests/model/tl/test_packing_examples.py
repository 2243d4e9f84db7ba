"""The standard's packing examples through the transmit and the receive automaton."""

import pytest

from support.packing_grids import AUTHENTICATED, GRIDS, control_items, is_control, rows
from ualink_sim.model.tl.fields import (
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl.sequence import (
    POISONED_DATA,
    ControlFields,
    DataHalfFlit,
    Issue,
    ReceiveSequence,
    Tags,
    TransmitSequence,
    message_half_flit,
)

COMMANDS = {"R": 0x03, "W": 0x28, "WF": 0x29, "AR": 0x30, "AN": 0x32}
CODES = {"R": 0b000, "W": 0b100, "WF": 0b110}
FC = FlowControl(req_cmd=Credit(5), rsp_cmd=Credit(5), req_data=Credit(20), rsp_data=Credit(20))


def field_of(kind, sectors, tag):
    name = kind.rstrip("!+0123456789")
    beats = int(kind.split("!")[0].strip("ARWFN+") or 1)
    match name, sectors:
        case (("RR" | "WR"), 1):
            return CompressedResponse(tag=tag, rd_wr=int(name == "RR"), len=beats - 1)
        case (("RR" | "WR"), 2):
            return UncompressedResponse(tag=tag, rd_wr=int(name == "RR"), len=beats - 1, last=int(name == "RR"))
        case _, 2:
            return CompressedRequest(cmd=CODES[name], tag=tag, len=beats - 1)
        case _:
            read = name == "R"
            return UncompressedRequest(
                cmd=COMMANDS[name], tag=tag, num_beats=0 if read else beats - 1, len=16 * beats - 1, cload="+" in kind
            )


class Grid:
    """A table with its fields made: what the transmitter is given and, apart from that, what each half must be."""

    def __init__(self, table):
        self.authentication = table in AUTHENTICATED
        self.flits, self.issues = [], []
        self.names, content, self.fields = {}, {}, {}
        for lower, upper, _ in rows(table):
            issues = []
            for sector, sectors, name, kind in control_items(lower) if is_control(lower) else ():
                if kind is None:
                    issues.append(Issue(sector, FC))
                    continue
                tag = len(self.names) + 1
                self.names[tag] = name
                field = field_of(kind, sectors, tag)
                self.fields[name] = field
                data = b"".join(bytes([tag, k]) * 16 for k in range(2 * field.data_beats()))
                enables = bytes([tag, 0xBE]) * 16 if field.has_byte_enables() else b""
                poisoned = frozenset([int(kind.split("!")[1])] if "!" in kind else [])
                issues.append(Issue(sector, field, data, enables, poisoned, 0xA000 + tag))
                content |= {f"{name}.{k}": data[32 * k : 32 * k + 32] for k in range(len(data) // 32)}
                content[f"{name}.BE"] = enables
            self.issues.append(issues)
            self.flits.append([self._half(cell, content) for cell in (lower, upper)])

    def _half(self, cell, content):
        if cell == "POISON":
            return message_half_flit(POISONED_DATA), 1
        if cell == "NOP":
            return bytes(32), 0
        if cell.startswith("TAGS"):
            tags = {name: 0xA000 + tag for tag, name in self.names.items()}
            return b"".join(tags[name].to_bytes(8, "little") for name in cell.split()[1:]).ljust(32, b"\0"), 0
        if cell in content:
            return content[cell], 0
        items = control_items(cell)
        return encode_control_half_flit([(s, self.fields[name] if kind else FC) for s, _, name, kind in items]), 0


NUMBERS = (4, 5, 26, 27, 28, 30, 32, 33, 34, 37, *range(38, 41), *range(42, 46), *range(47, 51), 53, 54, 62, 66, 67)
EXAMPLES = [f"TL-{number:03}" for number in (*NUMBERS, 78, 79, 82, 83, 84)]
"""What the packing examples show between them."""


@pytest.mark.req(*EXAMPLES)
@pytest.mark.parametrize("table", GRIDS)
def test_transmitter_makes_the_grid(table):
    grid = Grid(table)
    sequence = TransmitSequence(grid.authentication)
    for number, (issues, (lower, upper)) in enumerate(zip(grid.issues, grid.flits)):
        flit, message_bits = sequence.send(issues)
        assert flit == lower[0] + upper[0], f"flit {number}"
        assert message_bits == lower[1] | upper[1] << 1, f"flit {number}"
    assert sequence.control_slot and not sequence.swap


@pytest.mark.req(*EXAMPLES, "TL-002", "TL-015", "TL-055", "TL-056")
@pytest.mark.parametrize("table", GRIDS)
def test_receiver_accepts_the_grid(table):
    grid = Grid(table)
    sequence = ReceiveSequence(grid.authentication)
    for (lower, upper), (lower_cell, upper_cell, _) in zip(grid.flits, rows(table)):
        events = sequence.receive(lower[0] + upper[0], lower[1] | upper[1] << 1)
        expected = []
        if is_control(lower_cell):
            items = [(s, grid.fields.get(name, FC)) for s, _, name, _ in control_items(lower_cell)]
            if items:
                expected.append(ControlFields(tuple(sorted(items, key=lambda item: item[0]))))
        for cell in (lower_cell, upper_cell):
            if "." in cell:
                expected.append(cell)
            elif cell == "POISON":
                expected.append("poison")
            elif cell.startswith("TAGS"):
                expected.append(list(cell.split()[1:]))
        seen = []
        for event in events:
            if isinstance(event, DataHalfFlit):
                name = f"{grid.names[event.owed.field.tag]}.{'BE' if event.owed.is_be else event.owed.index}"
                seen.append("poison" if event.poisoned else name)
            elif isinstance(event, Tags):
                assert all(tag == 0xA000 + field.tag for field, tag in event.tags)
                seen.append([grid.names[field.tag] for field, _ in event.tags])
            else:
                seen.append(event)
        assert seen == expected
    assert sequence.control_slot and not sequence.swap and not sequence.failed


EFFICIENCY = {
    "5-15": (9, 512, 88.89),
    "5-16": (13, 768, 92.31),
    "5-17": (17, 1024, 94.12),
    "5-18": (21, 1280, 95.24),
    "5-19": (9, 512, 88.89),
    "5-20": (21, 1280, 95.24),
    "5-21": (9, 512, 88.89),
    "5-22": (21, 1280, 95.24),
}


@pytest.mark.req("TL-068", "TL-069", "TL-070", "TL-071", "TL-072", "TL-073", "TL-074", "TL-075")
@pytest.mark.parametrize("table", EFFICIENCY)
def test_efficiency(table):
    grid = Grid(table)
    transmit, receive = TransmitSequence(grid.authentication), ReceiveSequence(grid.authentication)
    data = 0
    for issues in grid.issues:
        for event in receive.receive(*transmit.send(issues)):
            data += 32 * (isinstance(event, DataHalfFlit) and not event.owed.is_be)
    flits, data_bytes, percent = EFFICIENCY[table]
    assert (len(grid.issues), data) == (flits, data_bytes)
    assert round(100 * data / (64 * len(grid.issues)), 2) == percent
    assert transmit.control_slot and not transmit.swap
