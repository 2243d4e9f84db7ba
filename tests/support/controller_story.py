"""What firmware does with a generated controller over AXI4-Lite, and what it hears by the interrupt line."""

import json

from support.axi_bench import axi_bench
from support.four_state import random_at_power_up, simulate

__all__ = ["Places", "check"]

OKAY, SLVERR, DECERR = 0, 2, 3


class Places:
    """Byte addresses of registers and places of fields, as the JSON beside the Verilog has them."""

    def __init__(self, text: str):
        self.windows = {window["name"]: window for window in json.loads(text)["windows"]}
        self.end = len(self.windows) * self.windows["interrupts"]["base"]

    def at(self, window: str, register: str) -> int:
        return self.windows[window]["base"] + self._find(window, register)["offset"]

    def bit(self, window: str, register: str, field: str) -> int:
        fields = {row["name"]: row for row in self._find(window, register)["fields"]}
        return 1 << int(fields[field]["bits"].split(":")[-1])

    def _find(self, window: str, register: str) -> dict:
        rows = self.windows[window]["registers"]["registers"]
        return next(row for row in rows if row["name"] == register)


def story(places: Places) -> list[str]:
    """What firmware does."""
    status, online = places.at("dl_0", "link_status"), places.bit("dl_0", "link_status", "online")
    events, refused = places.at("dl_0", "events"), places.bit("dl_0", "events", "config_error")
    control = places.at("dl_0", "link_control")
    tl, ready = places.at("tl_0", "status"), places.bit("tl_0", "status", "credits_ready")
    return [
        "read(0); show;",
        f"read({control}); write({control}, word | 1);",
        f"write({places.at('tl_clock', 'rate_control')}, 1); show;",
        f"read({status}); while (!(word & {online})) read({status});",
        f"read({tl}); while (!(word & {ready})) read({tl});",
        "show;",
        f"read({places.at('dl_0', 'uart_tx')}); word = 0; show;",
        f"read({places.end}); word = 0; show;",
        f"write({places.at('interrupts', 'dl_0_mask')}, {places.bit('interrupts', 'dl_0_mask', 'config_error')});",
        f"write({places.at('dl_0', 'pacing')}, 0); repeat (4) @(negedge clk); show;",
        f"read({places.at('interrupts', 'pending_windows')}); show;",
        f"write({events}, {refused}); repeat (4) @(negedge clk); show;",
        f"upli_clk_runs = 0; read({tl}); word = 0; show; read({control}); show;",
        f"upli_clk_runs = 1; repeat (40) @(negedge clk); read({tl}); show;",
    ]


def check(verilog: str, description: dict, places: Places, folder):
    """Simulate and look at what was answered: response, word, interrupt line."""
    design = random_at_power_up(verilog, seed=3)
    printed = simulate(folder, design=design, bench=axi_bench(description, story(places)))
    shown = [[int(part) for part in line.split()] for line in printed]
    identifier, enabled, up, write_only, beyond, refused, where, cleared, stopped, others, runs = shown
    assert identifier == [OKAY, int.from_bytes(b"UALB", "little"), 0]
    assert (enabled[0], enabled[2]) == (OKAY, 0)
    assert (up[0], up[2]) == (OKAY, 0) and up[1] & places.bit("tl_0", "status", "credits_ready")
    assert write_only == [SLVERR, 0, 0]
    assert beyond == [DECERR, 0, 0]
    assert (refused[0], refused[2]) == (SLVERR, 1)
    assert where == [OKAY, places.bit("interrupts", "pending_windows", "dl_0"), 1]
    assert (cleared[0], cleared[2]) == (OKAY, 0)
    assert stopped == [SLVERR, 0, 0]
    assert (others[0], others[1] & 1) == (OKAY, 1)
    assert runs[0] == OKAY and runs[1] & places.bit("tl_0", "status", "credits_ready")
