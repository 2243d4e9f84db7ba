"""Scenarios of small pods whose hardware is drawn at random out of all that may be built."""

import random

__all__ = ["CHOICES", "random_pod"]

CHOICES = {
    "upli": {
        "init_done_qualification": (2, 3, 16),
        "prompt_data": ("true", "false"),
        "lean": ("true", "false"),
        "unhurried": ("true", "false"),
    },
    "tl": {
        "compression": ("true", "false"),
        "shared_data_buffer": ("true", "false"),
        "credit_return_delay": (1, 2, 16, 255),
        "requests_in_sight": (1, 2, 3, 4),
        "responses_in_sight": (1, 2, 5, 8),
        "catch_in_lines": ("true", "false"),
        "lean": ("true", "false"),
        "unhurried": ("true", "false"),
        "uwm_has_byte_enables": ("true", "false"),
        "byte_enable_slots": ('"address"', '"beat"'),
    },
    "dl": {
        "explicit_cadence": (2, 3, 4, 7),
        "crc_covers_zero_field": ("true", "false"),
        "crc_stages": (1, 2, 3, 4),
        "unhurried": ("true", "false"),
        "idle_flit_times": (4, 16, 64, 255),
        "rx_replay_limit": (1, 10, 255),
        "tx_ack_time_out": (0, 10_000),
        "uart_tx_dwords": (1, 3, 128),
        "uart_rx_dwords": (1, 5, 128),
    },
    "switch": {
        "ports_per_row": (1, 2, 32),
        "route_entries": (16, 1024),
        "injection": ("true", "false"),
    },
}
"""Keys that do not hang together with others, and values of each: the ends of its range, and some between."""

SAID = 0.4
"""Share of keys that are said."""

PORTS = {"x4": 1, "2x2": 2, "4x1": 4}
LEAST = {"req": 1, "orig_data": 4, "rd_rsp": 4, "wr_rsp": 1}
"""Credits of a UPLI channel."""

TRANSACTIONS = 300


def random_pod(seed: int) -> str:
    """A pod of two accelerators, and traffic of all kinds over wires that may be bad."""
    rng = random.Random(seed)
    bifurcation = rng.choice(("x4", "x4", "x4", "2x2", "4x1"))
    ports, preset = PORTS[bifurcation], rng.choice(("full", "full", "balanced", "compact"))
    tables = {
        name: {key: rng.choice(values) for key, values in keys.items() if rng.random() < SAID}
        for name, keys in CHOICES.items()
    }
    tables["upli"] |= {name: _credits(rng, least) for name, least in LEAST.items() if rng.random() < SAID}
    shared = tables["tl"].get("shared_data_buffer") == "true"
    tables["tl"] |= _tl(rng, least_data=8 if shared else 4, authenticates=preset != "compact")
    if rng.random() < SAID:
        tables["dl"]["replay_depth"] = ports * rng.choice((2, 3, 5, 8, 20)) + rng.randrange(ports)
    tables |= {"pod": {"accelerators": 2, "bifurcation": f'"{bifurcation}"', "preset": f'"{preset}"'}}
    tables |= {"phy": _phy(rng, ports), "link": _link(rng)}
    text = "".join(f"[{name}]\n{_lines(table)}" for name, table in tables.items())
    return text + f"[[workload]]\n{_lines(_workload(rng))}"


def _lines(table: dict) -> str:
    return "".join(f"{key} = {value}\n" for key, value in table.items())


def _credits(rng, least) -> str:
    """``least`` or a few more, in the Pool, for each VC or in both."""
    pool, *each = (rng.choice((least, least, least + 1, least + 2, least + 12)) for _ in range(5))
    kind = rng.choice(("pool", "vc", "both"))
    return f"{{ pool = {0 if kind == 'vc' else pool}, vc = {[0] * 4 if kind == 'pool' else each} }}"


def _tl(rng, *, least_data, authenticates) -> dict:
    table: dict[str, object] = {}
    for commands, data in (("req_cmd", "req_data"), ("rsp_cmd", "rsp_data")):
        if rng.random() < SAID:
            state = rng.getstate()
            table[commands] = _credits(rng, 1)
            # The same buckets have credits of both.
            rng.setstate(state)
            table[data] = _credits(rng, least_data)
    if rng.random() < SAID:
        rows, ways = rng.choice((0, 1, 2, 16)), rng.randint(1, 4)
        table["tx_cache"] = f"{{ rows = {rows}, ways = {ways} }}"
        table["rx_cache"] = f"{{ rows = {rows + rng.choice((0, 3))}, ways = {ways} }}"
    if authenticates and rng.random() < SAID:
        table["authentication"] = "true"
    return table


def _phy(rng, ports) -> dict:
    if rng.random() < 0.5:
        return {}
    idle = rng.choice((4, 8, 64, 1024))
    return {
        "reconciliation": "true",
        "rate": 800 // ports // rng.choice((1, 2)) if ports < 4 else 200,
        "idle_interval": idle,
        "marker_interval": min(4096, rng.choice((4, idle, 2 * idle))),
        "control_flit_blocks": rng.choice((256, 260, 300, 320)),
        "ppm": rng.choice((0, -50, 50)),
    }


def _link(rng) -> dict:
    return {
        "latency_cycles": rng.choice((1, 5, 40, 150)),
        "bit_error_rate": rng.choice((0.0, 1e-6, 1e-5)),
        "drop_rate": rng.choice((0.0, 0.001, 0.01)),
        "burst": rng.choice((1, 2, 5)),
        "seed": rng.getrandbits(32),
    }


def _workload(rng) -> dict:
    return {
        "kind": f'"{rng.choice(("uniform", "alltoall", "hotspot"))}"',
        "transactions": TRANSACTIONS,
        "outstanding": rng.choice((1, 7, 48)),
        "sizes": "[4, 8, 20, 64, 100, 128, 192, 256]",
        "mix": "{ read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }",
        "seed": rng.getrandbits(32),
    }
