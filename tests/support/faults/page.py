"""The table of docs/faults.md: ``python -m support.faults.page`` in ``tests`` prints it."""

from support.faults.kinds import KINDS
from support.faults.kinds_below import DOWN, PORT_DOWN
from support.faults.kinds_upli import all_ports_drop
from support.faults.outcome import Kind, Outcome
from support.faults.strikes import THERE, Act, Forgery, HeaderStrike, Injection, Level, UPLIStrike, WireStrike
from ualink.dl.flit.error_injection import InjectionPoint

__all__ = ["table"]

HEAD = "| Kind | What is struck | § | The end that receives it shows | Its partner shows | Back by |"
GROUPS = (
    ("link down", DOWN),
    ("port down", PORT_DOWN),
    *((f"all ports drop: `{cause}`", all_ports_drop(cause)) for cause in ("control_error", "protocol_error")),
)
FLITS = {"lose": "lost", "turn": "control flits", "cut": "without a cable", "deaf": "without a cable, one way"}


RECEIVERS = {
    "to_completer": "to the TL's Completer",
    "to_tl_originator": "to the TL's Originator",
    "to_originator": "to the accelerator's Originator",
}
ACTS = {
    "drop": "firmware puts the port into Drop Mode",
    "isolate": "firmware isolates the Originator",
    "stall": "the accelerator's Completer does not answer in time",
    "reset": "all of this end is reset",
    "offline": "firmware takes channel 0 offline and online again",
}


def table() -> str:
    """A line for each kind."""
    return "\n".join([HEAD, "|---|---|---|---|---|---|", *map(_line, KINDS.values())])


def _line(kind: Kind) -> str:
    device = " (at a switch)" if kind.switch else ""
    cells = (f"`{kind.name}`", _strike(kind.strike) + device, kind.section, _shown(kind.here), _shown(kind.there))
    return f"| {' | '.join(cells)} | {kind.recovery} |"


def _shown(outcome: Outcome) -> str:
    words, found = set(outcome.must), []
    for text, group in GROUPS:
        if group <= words:
            words -= group
            found.append(text)
    return ", ".join([*found, *sorted(f"`{word}`" for word in words)]) or "–"


def _strike(strike) -> str:
    match strike:
        case UPLIStrike():
            paths = sorted({path for flips in strike.flips for path in flips})
            channel = paths[0].split(".")[0] if "." in paths[0] else "handshake"
            names = ", ".join(path.removeprefix(f"{channel}.") for path in paths)
            return f"{channel} {RECEIVERS[strike.at]}: {'' if len(strike.flips) > 1 else 'all of '}{names}"
        case WireStrike():
            return f"{strike.bits[0]}–{strike.bits[1]} bits of a flit{', in a burst' if strike.burst else ''}"
        case HeaderStrike():
            return "a bit of the header of a flit, and its CRC with it"
        case Forgery():
            return f"a TL flit that may not be, with good CRC: {strike.name}"
        case Level():
            return f"{'–'.join(map(str, sorted(set(strike.slots))))} flit slots {FLITS[strike.what]}"
        case Injection():
            return (
                f"injected by register{' of the partner' * (strike.end == THERE)}: {InjectionPoint(strike.point).name}"
            )
        case Act():
            return ACTS[strike.name]
    raise TypeError(f"nobody can tell of {strike}")


if __name__ == "__main__":
    print(table())
