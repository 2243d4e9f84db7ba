"""Rows of the data link that simulations give."""

import json
import tempfile
from pathlib import Path

from ualink.config import DLConfig
from ualink.emit.verilog import to_verilog
from ualink.phy.interface import BEATS_PER_FLIT

from ..simulator import Model, SimulatorError, build_once
from .link_top import LinkTop
from .packer_run import packer_utilisation
from .rows import Bench, Row, Unavailable

__all__ = ["SATURATED", "benches", "go_back_n", "recovery_slots"]

CONFIG = DLConfig()
LATENCY = 100
"""Cycles of one direction of the wire: 64 ns at 1562.5 MHz."""
NEAR = 5
PACKER_CYCLES = 1600

SECTORS = 160
SATURATED = 157 / SECTORS
"""Share of a DL flit that is for TL flits."""
WITH_MESSAGES = 152 / SECTORS
FLIT_ERROR_RATES = {"1e-4": 800_000, "1e-3": 320_000, "1e-2": 160_000, "3e-2": 160_000, "1e-1": 160_000}
"""And the cycles for which each is run."""
RECOVERY_SLACK = 16


def recovery_slots(latency: int) -> float:
    """Flit slots from the start of a lost flit to the earliest start of its replay, if logic took no time.

    They are the flit, the one after it that shows the gap, and both directions of the wire; the request rides on a flit
    that ends just then.
    """
    return 2 + 2 * latency / BEATS_PER_FLIT


def go_back_n(rate: float, slots: float) -> float:
    """Share of flit slots that deliver when each loss costs ``slots`` slots: (1 - p) / (1 + (slots - 1) p)."""
    return (1 - rate) / (1 + (slots - 1) * rate)


def _model() -> Model:
    def sources() -> dict[str, str]:
        return {"link.v": to_verilog(LinkTop(CONFIG), "link")}

    own_code = [path.read_text() for path in sorted(Path(__file__).parent.glob("link_*.py"))]
    try:
        return build_once(sources, "link", "\0".join([repr(CONFIG), *own_code]))
    except SimulatorError as error:
        raise Unavailable(str(error)) from None


def _simulate(test: str, **job) -> dict:
    model = _model()
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        result = Path(folder, "result")
        environment = {"UALINK_JOB": json.dumps(job), "UALINK_RESULT": str(result)}
        model.run("ualink_sim.bench.link_bench", testcase=test, environment=environment)
        return json.loads(result.read_text())


def _goodput(rate: float = 0.0, cycles: int = 16_000, latency: int = LATENCY, messages: bool = False) -> float:
    """Share of the sectors sent that carried TL flits delivered, mean of both directions."""
    job = {"latency": latency, "error_rate": rate, "cycles": cycles, "settle": 8000 if rate else 10}
    flits = _simulate("goodput", messages=int(messages), **job)["delivered"]
    return sum(flits) / (2 * cycles)


def _latencies() -> dict[str, float]:
    found = _simulate("latency", latency=LATENCY)
    return {"dl.tx.latency_cycles": max(found["transmit"]), "dl.rx.latency_cycles": max(found["receive"])}


def _recovery() -> dict[str, float]:
    gaps = _simulate("recovery", latency=LATENCY)["gaps"]
    return {"dl.recovery_flit_times.single_error": max(gaps) / BEATS_PER_FLIT}


def benches() -> list[Bench]:
    """Utilisation, latencies, recovery, goodput."""
    link = f"two DataLinks in Verilator, {LATENCY} cycles of wire each way, both directions saturated"
    saturated = Row(
        name="dl.utilisation.saturated",
        unit="fraction",
        limit=SATURATED,
        how=f"TL bytes delivered of bytes sent over 16,000 cycles; limit 157 of 160 sectors; {link}",
    )
    with_messages = Row(
        name="dl.utilisation.saturated_with_messages",
        unit="fraction",
        limit=WITH_MESSAGES,
        how=f"TL bytes of bytes over {PACKER_CYCLES:,} cycles of a Packer that is offered TL flits and messages "
        "without end; limit 152 of 160 sectors: one of each segment is a message",
    )
    with_uart = Row(
        name="dl.utilisation.saturated_with_uart",
        unit="fraction",
        limit=SATURATED,
        how=f"as saturated, and UART dwords without end both ways over {NEAR} cycles of wire; 0.95 if every segment "
        "had one",
    )
    rows = [
        _bench(saturated),
        Bench((with_messages,), lambda: {with_messages.name: packer_utilisation(PACKER_CYCLES)}),
        _bench(with_uart, messages=True, latency=NEAR),
    ]
    rows.append(
        Bench(
            (
                Row(
                    name="dl.tx.latency_cycles",
                    unit="cycles",
                    limit=6,
                    how="TL flit taken to its first bytes on the wire; idle link, worst of ten phases of the flit slot",
                ),
                Row(
                    name="dl.rx.latency_cycles",
                    unit="cycles",
                    limit=8,
                    how="last beat of a DL flit to the TL flit that it carries, less the beats before the TL flit's "
                    "own; idle link, worst of ten phases: 7, and one more where the TL flit goes on in the next beat",
                ),
            ),
            _latencies,
        )
    )
    rows.append(
        Bench(
            (
                Row(
                    name="dl.recovery_flit_times.single_error",
                    unit="flit times",
                    limit=2 * LATENCY / BEATS_PER_FLIT + RECOVERY_SLACK,
                    how="longest gap in what arrives after one damaged flit, worst of 20; limit: round trip of "
                    f"the wire ({2 * LATENCY // BEATS_PER_FLIT}) + {RECOVERY_SLACK}; {link}",
                ),
            ),
            _recovery,
        )
    )
    slots = recovery_slots(LATENCY)
    for name, cycles in FLIT_ERROR_RATES.items():
        rate = float(name)
        row = Row(
            name=f"dl.goodput.{name}",
            unit="fraction",
            limit=SATURATED * go_back_n(rate, slots),
            how=f"TL bytes delivered of bytes sent over {cycles:,} cycles, chance {name} of a damaged flit in both "
            f"directions; {link}; limit: go-back-N, 157/160 (1 - p) / (1 + (N - 1) p), N = {slots:g} slots: the lost "
            "flit, the one that shows the gap, the wire both ways; no time for logic, no request lost",
        )
        rows.append(_bench(row, rate=rate, cycles=cycles))
    return rows


def _bench(row: Row, **arguments) -> Bench:
    return Bench((row,), lambda: {row.name: _goodput(**arguments)})
