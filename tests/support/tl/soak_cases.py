"""The models and the cases of the soak: what is built, and what is set at random for each run."""

import random
from dataclasses import dataclass

from support.tl.soak_rules import Case
from support.tl.soak_traffic import RATES
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.tl.control import NATURAL_LIMITS

__all__ = ["MODELS", "SoakModel", "case_of", "cases", "settings_of"]

ALWAYS = 0xFFFF


@dataclass(frozen=True)
class SoakModel:
    """Two ends, ports that share them, registers of the wire in each direction."""

    configs: tuple[TLConfig, TLConfig]
    ports: int = 1
    latency: int = 3


def _ends(first: dict, second: dict | None = None) -> tuple[TLConfig, TLConfig]:
    return TLConfig(device="accelerator", **first), TLConfig(device="switch", **(second or first))


def _caches(rows: int, ways: int) -> dict:
    return dict.fromkeys(("tx_cache", "rx_cache"), AddressCacheConfig(rows=rows, ways=ways))


TINY = {
    "req_cmd": Credits(pool=3, vc=(1, 0, 2, 1)),
    "rsp_cmd": Credits(pool=5, vc=(1, 1, 0, 3)),
    "req_data": Credits(pool=5, vc=(4, 0, 5, 4)),
    "rsp_data": Credits(pool=4, vc=(4, 4, 0, 6)),
}
SMALL = TINY | _caches(8, 2) | {"byte_enable_slots": "beat"}
FEW_IN_SIGHT = {"requests_in_sight": 2, "responses_in_sight": 3, "catch_in_lines": True}
CHANNELS_ONLY = {
    "req_cmd": Credits(vc=(2, 8, 1, 3)),
    "rsp_cmd": Credits(vc=(9, 2, 3, 1)),
    "req_data": Credits(vc=(4, 12, 4, 5)),
    "rsp_data": Credits(vc=(20, 4, 5, 4)),
}
SHARED = {
    "req_data": Credits(pool=9),
    "rsp_data": Credits(pool=7, vc=(4, 0, 0, 4)),
    "shared_data_buffer": True,
}

MODELS = {
    "large": SoakModel(_ends({})),
    "tiny": SoakModel(_ends(SMALL | FEW_IN_SIGHT, SMALL), latency=9),
    "uneven": SoakModel(
        _ends(
            CHANNELS_ONLY | {"tx_cache": AddressCacheConfig(rows=0), "credit_return_delay": 3},
            SHARED | {"requests_in_sight": 1, "responses_in_sight": 1},
        )
    ),
    "ports": SoakModel(_ends(TINY | _caches(16, 4)), ports=2),
}


def cases(name: str, count: int, cycles: int) -> list[dict]:
    """``count`` cases of ``cycles`` cycles for the model of that name, the same in every run."""
    rng = random.Random(name)
    return [_case(rng, n, cycles) for n in range(count)]


def _case(rng: random.Random, n: int, cycles: int) -> dict:
    """The first cases are plain: full traffic, with and without authentication."""

    def some(*values: int) -> int:
        return values[0] if n < 2 else rng.choice(values)

    restart = some(0, 0, 2000, 20_000)
    limited = some(0, 0, 1)
    limits = {name: rng.randint(0, most) * limited for name, most in NATURAL_LIMITS.items()}
    return {
        "cycles": cycles,
        "seed": rng.getrandbits(32),
        "req": some(50_000, ALWAYS, 20_000, 2000),
        "orig_data": some(ALWAYS, ALWAYS, 40_000),
        "rd_rsp": some(50_000, ALWAYS, 20_000, 2000),
        "wr_rsp": some(50_000, ALWAYS, 20_000, 2000),
        "reads": some(50_000, ALWAYS, 30_000, 5000),
        "single": some(55_000, ALWAYS, 30_000, 0),
        "poison": some(2000, 0, 20_000),
        "status": some(4000, 0, 30_000),
        "near": some(64_000, ALWAYS, 30_000),
        "compressible": some(63_000, ALWAYS, 50_000),
        "take": some(60_000, ALWAYS, 30_000, 8000),
        "stall": some(2000, 0, 30_000),
        "restart": restart,
        "clear": some(0, 0, 10),
        "invalidate": some(0, 500, 5000),
        "steady": some(0, 1),
        "vc_mask": some(3, 1, 0),
        "coupled": int(restart > 0) | some(0, 1),
        "limits": limits,
        "authentication": n % 2 if n < 2 else rng.choice((0, 0, 1)),
        "disable_tx_cache": some(0, 0, 0, 0, 1),
        "compress_responses": some(1, 1, 1, 0),
        "encryption": some(0, 0, 0, 1),
    }


def settings_of(case: dict) -> dict[str, int]:
    """Ports of the bench and their values."""
    names = (*RATES, "seed", "take", "stall", "restart", "clear", "invalidate", "steady", "vc_mask", "coupled")
    limits = low = 0
    for name, most in NATURAL_LIMITS.items():
        limits |= case["limits"][name] << low
        low += most.bit_length()
    return {
        **{f"settings__{name}": case[name] for name in names},
        "control__limits": limits,
        "control__authentication": case["authentication"],
        "control__encryption": case["encryption"],
        "control__disable_tx_cache": case["disable_tx_cache"],
        "control__disable_response_compression": not case["compress_responses"],
    }


def case_of(model: SoakModel, case: dict) -> Case:
    """What the judge has to know."""
    return Case(
        model.configs,
        model.latency,
        authentication=bool(case["authentication"]),
        limits={name: case["limits"][name] or most for name, most in NATURAL_LIMITS.items()},
        tx_cache=not case["disable_tx_cache"],
        compress_responses=bool(case["compress_responses"]) and not case["encryption"],
        coupled=bool(case["coupled"]),
    )
