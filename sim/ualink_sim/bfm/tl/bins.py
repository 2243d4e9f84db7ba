"""The bins of functional coverage, by the sections and tables of UALink_200 that they come from."""

__all__ = ["BINS", "PLACES"]

_CLASSES = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
_BUCKETS = ("Pool", "VC 0", "VC 1", "VC 2", "VC 3")
_ACCOUNTS = tuple(f"{kind} {bucket}" for kind in _CLASSES for bucket in _BUCKETS)

PLACES = {
    "Flow Control": range(8),
    "Uncompressed Request": (0, 4),
    "Uncompressed Read Response": (0, 2, 4, 6),
    "Uncompressed Write Response": (0, 2, 4, 6),
    "Compressed Request": (0, 2, 4, 6),
    "Compressed Single-Beat Read Response": range(8),
    "Compressed Multi-Beat Read Response": range(8),
    "Compressed Write Response": range(8),
}
"""Lowest sectors of each kind of field (UALink_200 §5.1.1)."""

_WITH_DATA = ("Write", "WriteFull", "UPLI Write Message", "vendor defined write", "vendor defined atomic")

BINS: dict[str, tuple[str, ...]] = {
    "§5.1.1 places of fields": tuple(f"{kind} in {sector}" for kind, sectors in PLACES.items() for sector in sectors),
    "§5.1.1 Requests": (
        *("Read", "vendor defined read", "AtomicR", "AtomicNR"),
        *(f"{name}, {beats} beats" for name in _WITH_DATA for beats in (1, 2, 3, 4)),
        *(f"compressed {name}, LEN {len_}" for name in ("Read", "Write", "WriteFull") for len_ in range(4)),
    ),
    "§5.1.1 Read Responses": (
        *(f"uncompressed, {beats} beats" for beats in (1, 2, 3, 4)),
        *(f"single beat, offset {offset}" for offset in range(4)),
        *(f"compressed, {beats} beats" for beats in (2, 3, 4)),
        "not OKAY, with its data",
    ),
    "§5.1.1 swap flits": (
        *("NOP", "Flow Control only", "fields without data", "fields with data", "message in its place"),
        *("data", "byte enables", "poison", "message delays the last half-flit"),
    ),
    "§5.1.1 upper half": ("first data", "data in the middle", "last data", "byte enables", "AuthTags", "MANDATORY NOP"),
    "§5.1.1 authentication": (
        *(f"{tags} tags" for tags in (1, 2, 3, 4)),
        *("Flow Control only, MANDATORY NOP", "swap with Flow Control only", "tags beside Flow Control"),
    ),
    "§5.1.2 messages": (
        *("NOP in a control slot", "NOP in the control slot of a swap flit", "NOP in a lower data slot"),
        *("NOP in an upper data slot", "NOP between two halves of a beat", "NOP before byte enables"),
        *("NOP for a MANDATORY NOP", "NOP in both halves", "release in a control slot", "release for a MANDATORY NOP"),
    ),
    "§5.3 poison": tuple(
        f"{what}, {where}, {halves}"
        for what in ("request data", "operands", "response data")
        for where in (("only beat",) if what == "operands" else ("only beat", "first beat", "middle beat", "last beat"))
        for halves in ("one flit", "two flits")
    ),
    "§5.6 address caches": (
        *(f"load way {way}" for way in range(4)),
        *(f"use way {way}" for way in range(4)),
        *("load another address", "use in the same half-flit", "use after another address", "reload after a use"),
    ),
    "§5.7 Requests of allowance": tuple(f"{n} of {most}" for most in (1, 2, 3, 4) for n in range(1, most + 1)),
    "§5.7 Responses of allowance": (
        *(f"{n} in a flit" for n in range(1, 9)),
        *(f"all {most}" for most in range(1, 9)),
    ),
    "§5.8 spent": _ACCOUNTS,
    "§5.8 used up": _ACCOUNTS,
    "§5.8 returned": _ACCOUNTS,
    "§5.8 Flow Control": (
        *(f"{n} fields" for n in range(1, 9)),
        *("7 req_cmd", "7 rsp_cmd", "31 req_data", "31 rsp_data", "all four classes"),
        *("Pool and VC in one field", "different VCs in one field"),
    ),
    "§5.8 Shared Data Buffer": ("announced", "not announced", "data of one class on credits of the other"),
}
"""Group to bins; a group is a section, a bin a row of its table or a case of its text."""
