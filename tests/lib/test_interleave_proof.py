"""Proof that a component shared by contexts in turn shows each of them what a component of its own would."""

import pytest
from amaranth.hdl import Assert, EnableInserter, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from support.formal import prove
from ualink.lib import interleave
from ualink.lib.interleave import Interleaver
from ualink.lib.memory_marks import OUT_OF_REGISTER
from ualink.lib.ports_used import last_port


class Two(wiring.Component):
    """A register and three memories, one that can stop, for the proof."""

    go: In(1)
    bit: In(1)
    shown: Out(1)
    read: Out(1)
    soon: Out(1)
    kept: Out(1)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.go):
            m.d.sync += self.shown.eq(self.shown ^ self.bit)
        for name, output in (("always", self.read), ("registered", self.soon), ("stops", self.kept)):
            attrs = OUT_OF_REGISTER if name == "registered" else {}
            m.submodules[name] = storage = memory.Memory(shape=1, depth=2, init=[], attrs=attrs)
            write = storage.write_port()
            read = storage.read_port(transparent_for=(write,))
            m.d.comb += [
                write.addr.eq(self.shown),
                write.data.eq(self.bit),
                write.en.eq(self.go),
                read.addr.eq(self.bit),
                output.eq(read.data),
            ]
            if name == "stops":
                m.d.comb += read.en.eq(self.go)
        return m


class TwoProof(wiring.Component):
    """Whatever comes, in each cycle the shared one shows what the copy of that context does."""

    go: In(1)
    bit: In(1)

    def __init__(self, ports: int, *, chosen: bool):
        self._contexts, self._used = 4 if chosen else ports, Signal(3, init=ports)
        self._choice = {"used": self._used} if chosen else {}
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        turn, number, asked = Signal(2), Signal(3), Signal(4)
        shared, copies = Two(), [Two() for _ in range(4)]
        m.submodules.shared = Interleaver(self._contexts, turn, **self._choice)(shared)
        m.d.sync += turn.eq((turn + 1) & last_port(self._used))
        m.d.comb += [shared.go.eq(self.go), shared.bit.eq(self.bit)]
        # Before its first read a memory shows anything.
        with m.If(number != 4):
            m.d.sync += number.eq(number + 1)
        for n, copy in enumerate(copies):
            m.submodules[f"copy_{n}"] = EnableInserter(turn == n)(copy)
            m.d.comb += [copy.go.eq(self.go), copy.bit.eq(self.bit)]
            with m.If(turn == n):
                m.d.comb += Assert(shared.shown == copy.shown)
                with m.If(number == 4):
                    m.d.comb += Assert((shared.read == copy.read) & (shared.soon == copy.soon))
                with m.If(asked[n]):
                    m.d.comb += Assert(shared.kept == copy.kept)
                m.d.sync += asked[n].eq(asked[n] | self.go)
        return m


@pytest.mark.parametrize(("ports", "chosen"), [(1, True), (2, True), (4, True), (2, False), (4, False)])
def test_each_context_alone_always(ports, chosen):
    prove(TwoProof(ports, chosen=chosen), mode="bmc", depth=4 + 2 * ports)


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_each_context_with_memories_of_its_own_always(ports, monkeypatch):
    monkeypatch.setattr(interleave, "MOST_ROWS", 4)
    prove(TwoProof(ports, chosen=True), mode="bmc", depth=4 + 2 * ports)
