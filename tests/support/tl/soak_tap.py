"""A tap: writes every payload of a stream to a file, at the speed of the simulator."""

import numpy as np
from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

__all__ = ["CYCLE_BITS", "TAP_VERILOG", "Tap", "read_tap"]

CYCLE_BITS = 32

TAP_VERILOG = """
module soak_tap #(parameter WIDTH = 32, parameter NAME = "tap") (
    input clk, input open, input flush, input valid, input [WIDTH-1:0] data);
  integer file = 0;
  always @(posedge clk) begin
    if (open) begin
      if (file != 0) $fclose(file);
      file = $fopen(NAME, "wb");
    end else begin
      if (valid && file != 0) $fwrite(file, "%u", data);
      if (flush && file != 0) $fflush(file);
    end
  end
endmodule
"""
"""``%u`` writes 32-bit words, the lowest first."""


def _words(shape) -> int:
    return -(-data.Layout.cast(shape).size // 32)


class Tap(wiring.Component):
    """Appends ``payload``, filled up to whole words, and ``cycle`` to the file ``name`` in every cycle with ``valid``;
    ``open`` empties the file, ``flush`` makes what was written readable."""

    def __init__(self, shape, name: str):
        self._name = name
        super().__init__({"open": In(1), "flush": In(1), "valid": In(1), "cycle": In(CYCLE_BITS), "payload": In(shape)})

    def elaborate(self, platform):
        m = Module()
        payload = Value.cast(self.payload)
        words = -(-len(payload) // 32)
        record = Cat(payload, Const(0, 32 * words - len(payload)), self.cycle)
        m.submodules.writer = Instance(
            "soak_tap",
            a_keep=1,
            p_WIDTH=len(record),
            p_NAME=self._name,
            i_clk=ClockSignal(),
            i_open=self.open,
            i_flush=self.flush,
            i_valid=self.valid,
            i_data=record,
        )
        return m


class Records:
    """What a tap wrote: ``cycle`` and the members of ``layout``, each as an array with one row per payload, and the
    ``words`` that they are taken from.

    Members of up to 64 bits are arrays of uint64; wider ones have as many columns as they have words of 64 bits.
    """

    def __init__(self, words: np.ndarray, layout: data.Layout):
        self.words, self._layout = words, layout
        self.cycle = words[:, -1].astype(np.int64)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows) -> "Records":
        return Records(self.words[rows], self._layout)

    def __getattr__(self, name: str) -> np.ndarray:
        member = self._layout[name]
        columns = [self._bits(member.offset + low, min(64, member.width - low)) for low in range(0, member.width, 64)]
        column = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
        setattr(self, name, column)
        return column

    def _bits(self, start: int, width: int) -> np.ndarray:
        word, shift = divmod(start, 32)
        value = self.words[:, word].astype(np.uint64) >> np.uint64(shift)
        for n in range(1, -(-(shift + width) // 32)):
            value |= self.words[:, word + n].astype(np.uint64) << np.uint64(32 * n - shift)
        return value & np.uint64((1 << width) - 1)


def read_tap(path, shape) -> Records:
    """The records of a file that a ``Tap`` of ``shape`` wrote."""
    layout = data.Layout.cast(shape)
    words = np.fromfile(path, dtype="<u4")
    return Records(words.reshape(-1, _words(shape) + 1), layout)
