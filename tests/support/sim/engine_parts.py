"""An engine in several parts around registers: in every cycle it adds one to each word that they show."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink_sim.pod.engine.ports import EngineSignature, Ports

__all__ = ["ADDS_ONE", "WORDS_OF_PART", "PartsTop", "devices"]

WIDTHS = (1, 100, 32, 33)
WORDS_OF_PART = 5


def devices(accelerators: int) -> wiring.Signature:
    """Of each accelerator four signals that it shows and four that are driven into it, and one of each of a switch."""
    ways = {f"{name}_{width}": member(width) for width in WIDTHS for name, member in (("shows", Out), ("takes", In))}
    accelerator = wiring.Signature({"upli_completer": Out(wiring.Signature(ways)), "other": Out(8)})
    switch = wiring.Signature({"rs": Out(wiring.Signature({"shows_9": Out(9), "takes_9": In(9)}))})
    return wiring.Signature({"acc": Out(accelerator).array(accelerators), "sw": Out(switch)})


class PartsTop(wiring.Component):
    """Registers, which take in each cycle what the engine drives."""

    def __init__(self, accelerators: int):
        self._devices = devices(accelerators)
        self.ports = Ports(self._devices, WORDS_OF_PART)
        super().__init__({"inner": Out(self._devices), "engine": Out(EngineSignature())})

    def elaborate(self, platform):
        m = Module()
        inner = self._devices.create()
        m.submodules.engine = engine = self.ports.engine(self.engine)
        m.d.comb += [part.eq(shown) for part, shown in zip(engine.shown, self.ports.shown_of(inner))]
        m.d.comb += self.ports.drive(inner, engine.driven)
        for interface, seen in self._interfaces(inner):
            for name in interface.signature.members:
                if name.startswith("shows_"):
                    m.d.sync += getattr(interface, name).eq(getattr(interface, name.replace("shows", "takes")))
                    m.d.comb += getattr(seen, name).eq(getattr(interface, name))
        return m

    def _interfaces(self, inner):
        """Those of the devices, and beside each the one outside that shows the same."""
        for accelerator, outside in zip(inner.acc, self.inner.acc):
            yield accelerator.upli_completer, outside.upli_completer
        yield inner.sw.rs, self.inner.sw.rs


ADDS_ONE = """
#include <svdpi.h>
#include <cstdint>
#include <vector>

static const int parts = {parts}, shown_words = {shown}, driven_words = {driven};
static std::vector<uint32_t> words[parts];
static int seen;
static uint64_t moves;

extern "C" {{
svBit ualink_engine_show(int part, const svBitVecVal* shown) {{
  words[part].assign(shown, shown + shown_words);
  seen = seen % parts + 1;
  return seen == parts;
}}

void ualink_engine_tick(svBit traffic, svBitVecVal* cycle, svBitVecVal* done, svBit* wake, svBit* failed) {{
  for (auto& part : words)
    for (uint32_t& word : part) word += 1;
  cycle[0] = ++moves;
  cycle[1] = moves >> 32;
  *done = *wake = *failed = 0;
}}

void ualink_engine_drive(int part, svBitVecVal* driven) {{
  words[part].resize(driven_words);
  for (int n = 0; n < driven_words; ++n) driven[n] = words[part][n];
}}

void ualink_engine_end() {{}}
}}
"""
