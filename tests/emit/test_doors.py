"""Which outputs of a room depend on which inputs in the same cycle, in hubs small enough to say so by hand."""

import pytest
from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.emit.doors import Door, HiddenDoor, doors

PAIR = data.StructLayout({"low": 4, "high": 4})


class Split(wiring.Component):
    """``low`` passes a register, ``high`` does not; ``both`` shows them side by side."""

    pair: In(PAIR)
    select: In(1)
    both: Out(PAIR)
    inverted: Out(4)
    any: Out(1)
    chosen: Out(4)

    def elaborate(self, platform):
        m = Module()
        low = Signal(4)
        m.d.sync += low.eq(self.pair.low)
        m.d.comb += [
            self.both.low.eq(low),
            self.both.high.eq(self.pair.high),
            self.inverted.eq(~low),
            self.any.eq(low.any()),
        ]
        with m.If(self.select):
            m.d.comb += self.chosen.eq(low)
        return m


class Hub(wiring.Component):
    """Two rooms in a row: what the second gets is the half of the first that is a register."""

    pair: In(PAIR)
    select: In(1)
    low: Out(4)
    high: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Split()
        m.submodules.second = second = ResetInserter(self.select)(Split())
        m.d.comb += [
            first.pair.eq(self.pair),
            first.select.eq(1),
            second.pair.high.eq(first.both.low),
            second.select.eq(self.select),
            self.low.eq(second.both.high & second.chosen),
            self.high.eq(first.both.high),
        ]
        return m


def by_name(found):
    return {door.name: (door.kind, door.inputs, door.gates) for door in found}


def test_a_door_is_what_is_behind_its_bits():
    assert by_name(doors(Split(), [""])[""]) == {
        "both": ("late", ("pair",), 0),
        "inverted": ("register", (), 0),
        "any": ("early", (), 2),
        "chosen": ("late", ("select",), 1),
    }


def test_a_path_through_rooms_is_that_of_its_bits():
    """``low`` of the hub depends on ``pair`` by neither room, although each has a door that depends on its ``pair``."""
    found = doors(Hub(), [""])
    assert list(found) == ["", "first", "second"]
    assert by_name(found[""]) == {"low": ("late", ("select",), 2), "high": ("late", ("pair",), 0)}
    assert found["first"] == found["second"] == doors(Split(), [""])[""]


class Shifting(wiring.Component):
    """Gates of operators that are built as trees, and reads of a memory."""

    at: In(3)
    word: In(8)
    equal: Out(1)
    shifted: Out(8)
    bit: Out(1)
    stored: Out(8)
    seen: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = rows = memory.Memory(shape=8, depth=8, init=[])
        read, glance, write = rows.read_port(), rows.read_port(domain="comb"), rows.write_port()
        m.d.comb += [
            read.addr.eq(self.at),
            glance.addr.eq(self.at),
            write.addr.eq(self.at),
            write.data.eq(self.word),
            write.en.eq(1),
            self.equal.eq(self.word == 77),
            self.shifted.eq(self.word >> self.at),
            self.bit.eq(self.word.bit_select(self.at, 1)),
            self.stored.eq(read.data),
            self.seen.eq(Mux(self.word[0], glance.data, Cat(self.word[1:], 0))),
        ]
        return m


def test_gates_of_operators_and_memories():
    assert by_name(doors(Shifting(), [""])[""]) == {
        "equal": ("late", ("word",), 3),
        "shifted": ("late", ("at", "word"), 3),
        "bit": ("late", ("at", "word"), 3),
        "stored": ("early", (), 5),
        "seen": ("late", ("at", "word"), 4),
    }


class Handshake(wiring.Component):
    """A stream that passes: ready and valid go opposite ways."""

    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))

    def elaborate(self, platform):
        m = Module()
        held = Signal()
        m.d.sync += held.eq(self.i.valid)
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        return m


class Loop(wiring.Component):
    """A room whose input is its own output: inside, the door is a register all the same."""

    seen: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.room = room = Split()
        m.d.comb += [room.pair.high.eq(room.both.low), self.seen.eq(room.both)]
        return m


def test_ready_and_valid_are_doors_of_their_own():
    assert doors(Handshake(), [""])[""] == [
        Door("i.ready", ("o.ready",), 0),
        Door("o.payload", ("i.payload",), 0),
        Door("o.valid", ("i.valid",), 0),
    ]


def test_a_loop_outside_a_room_is_no_loop():
    found = doors(Loop(), [""])
    assert by_name(found[""]) == {"seen": ("register", (), 0)}
    assert by_name(found["room"])["both"] == ("late", ("pair",), 0)


class Secret(wiring.Component):
    """Has a register that is no member."""

    tick: Out(1)

    def __init__(self):
        self.count = Signal(4)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        m.d.comb += self.tick.eq(self.count == 0)
        return m


class Peeping(wiring.Component):
    """Reads it."""

    last: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.room = room = Secret()
        m.d.comb += self.last.eq(room.tick & (room.count == 15))
        return m


def test_what_a_hub_reads_past_the_doors_is_refused():
    with pytest.raises(HiddenDoor, match="count of room is read by its hub and is no member of its signature"):
        doors(Peeping(), [""])


def test_a_hub_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"there is no hub first\.inside"):
        doors(Hub(), ["", "first.inside"])
