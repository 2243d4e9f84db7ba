"""The registers of what went through one port of the switch core, as firmware sees them."""

from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.switch.flow import COUNTS, PLANES

__all__ = ["FLOW_REGISTERS", "HIGH_WATER_FIELDS", "MAP_VERSION"]

MAP_VERSION = 1

HIGH_WATER_FIELDS = {
    "req": {"items": "req", "beats": "orig_data"},
    "rd_rsp": {"beats": "rd_rsp"},
    "wr_rsp": {"items": "wr_rsp"},
}
"""By plane: the fields of its high-water mark, and the channel of each."""

_KINDS = {"req": "Requests", "rd_rsp": "Read Responses", "wr_rsp": "Write Responses"}
_DOCS = {
    "dropped_in": "{} from the link that the agent before the core dropped: Drop Mode, or a broken rule (§3.1.3).",
    "accepted": "{} that entered the core by this port.",
    "denied": "{} of those that Deny dropped (§10.7).",
    "stalled_in": "Cycles in which one of the {} stood before the core, which had no room.",
    "forwarded": "{} that left the core by this port.",
    "dropped_out": "{} that the agent behind the core dropped in Drop Mode instead of sending them (§3.1.3).",
    "stalled_out": "Cycles in which a beat of {} stood at the end of the core; also for the slots of other ports.",
}
_PLANES_AT, _PLANE_BYTES = 0x20, 0x20


def _plane(number: int, plane: str) -> tuple[Register, ...]:
    at = _PLANES_AT + _PLANE_BYTES * number
    counts = tuple(
        Register(
            f"{plane}_{count}",
            at + 4 * place,
            (Field("count", "31:0", Access.RO),),
            f"{_DOCS[count].format(_KINDS[plane])} Wraps around.",
        )
        for place, count in enumerate(COUNTS)
    )
    places = {"items": ("15:0", f"{_KINDS[plane]} in it."), "beats": ("31:16", "Beats of data in it.")}
    marks = tuple(Field(field, places[field][0], Access.RO, 0, places[field][1]) for field in HIGH_WATER_FIELDS[plane])
    doc = f"The most that a queue of {_KINDS[plane]} from this port has held since reset."
    return (*counts, Register(f"{plane}_high_water", at + 4 * len(COUNTS), marks, doc))


FLOW_REGISTERS = RegisterMap(
    "switch_flow",
    (
        Register(
            "capabilities",
            0x00,
            (Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),),
            "What was built.",
        ),
        Register(
            "under_way",
            0x04,
            tuple(Field(plane, str(number), Access.RO, 0, f"{_KINDS[plane]}.") for number, plane in enumerate(PLANES)),
            "What is in the core and will leave by this port: looked up, and neither denied nor gone.",
        ),
        *(register for number, plane in enumerate(PLANES) for register in _plane(number, plane)),
    ),
    "What went through one port of the switch core since reset (UALink_200 §8.5).",
)
