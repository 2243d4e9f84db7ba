"""The rules that ``UPLIChecker`` judges by, as data; ``python -m ualink.upli.checker.rules > docs/upli-checker.md``."""

from dataclasses import dataclass

__all__ = ["RULES", "TAG_RULES", "Rule", "page"]


@dataclass(frozen=True)
class Rule:
    """A rule: its stable ``name``, what breaks it, the ``section`` of UALink_200 and the requirements that say so."""

    name: str
    text: str
    section: str
    requirements: tuple[str, ...]


_TITLES = {"req": "Request", "orig_data": "OrigData", "rd_rsp": "RdRsp", "wr_rsp": "WrRsp"}


def _ids(*numbers: int) -> tuple[str, ...]:
    return tuple(f"UPLI-{number:03}" for number in numbers)


def _of_each_channel(name: str, text: str, section: str, ids: tuple[tuple[int, ...], ...]) -> list[Rule]:
    """One rule for each channel, with ids in the order Req, OrigData, RdRsp, WrRsp; an empty one has no such rule."""
    return [
        Rule(f"{channel}_{name}", f"{title}: {text}", section, _ids(*numbers))
        for (channel, title), numbers in zip(_TITLES.items(), ids)
        if numbers
    ]


_CONNECTION = [
    Rule(
        "reset_state",
        "a Vld, CreditVld, CreditInitDone, ClkReq or ClkAck is 1 in the first cycle without reset",
        "§4.1",
        ("RST-008", "RST-009", "RST-010", "RST-011", "RST-014", "RST-048"),
    ),
    Rule("handshake_order", "a ClkAck is there without its ClkReq", "§4.3", ("RST-026", "RST-033")),
    Rule("handshake_sticky", "a ClkReq or ClkAck falls without a reset", "§4.3", ("RST-042",)),
]

_BEATS = [
    *_of_each_channel(
        "early", "a beat before both directions are open", "§2.7.8, §4.3", ((299,), (299,), (299,), (299,))
    ),
    *_of_each_channel("vld_parity", "VldParity differs from Vld", "§2.7", ((171,), (291,), (243,), (275,))),
    *_of_each_channel("parity", "Parity does not fit what it covers", "§2.7", ((173,), (), (245,), (276,))),
    Rule("req_addr_parity", "Request: AddrParity does not fit Addr", "§2.7.4", _ids(172)),
    Rule("orig_data_fields_parity", "OrigData: FieldsParity does not fit what it covers", "§2.7.7", _ids(294)),
    Rule("orig_data_byte_en_parity", "OrigData: ByteEnParity does not fit ByteEn", "§2.7.7", _ids(293)),
    *_of_each_channel(
        "data_parity", "a bit of DataParity does not fit its 64 bits of Data", "§2.7", ((), (292,), (244,), ())
    ),
    *_of_each_channel("auth_tag", "AuthTag is not 0 without a beat", "§2.7", ((150,), (), (228,), (264,))),
    *_of_each_channel("port", "a beat of a port that the interface does not have", "§2.5", ((80,),) * 4),
    *_of_each_channel(
        "slot",
        "a beat outside of the TDM slot of its port",
        "§2.5",
        ((84, 85, 87, 90), (86, 88, 90), (89, 90), (89, 90)),
    ),
    *_of_each_channel(
        "init_done", "a beat within two cycles of its port's CreditInitDone, or before it", "§2.6", ((112, 115),) * 4
    ),
    *_of_each_channel(
        "credit",
        "a beat spends a credit that its sender does not have",
        "§2.6",
        ((51, 93, 119, 169), (51, 93, 119, 289), (51, 93, 119, 241), (51, 93, 119, 273)),
    ),
]

_RETURNS = [
    *_of_each_channel(
        "credit_early", "a credit or CreditInitDone before its direction is open", "§2.7.8, §4.3", ((299,),) * 4
    ),
    *_of_each_channel(
        "credit_vld_parity", "CreditVldParity does not fit CreditVld", "§2.7", ((174,), (295,), (246,), (277,))
    ),
    *_of_each_channel(
        "credit_parity", "CreditParity does not fit what it covers", "§2.7", ((175,), (296,), (247,), (278,))
    ),
    *_of_each_channel(
        "credit_port", "CreditVld or CreditInitDone of a port that the interface does not have", "§2.5", ((93,),) * 4
    ),
    *_of_each_channel("credit_done", "CreditInitDone falls without a reset", "§2.6", ((111,),) * 4),
    *_of_each_channel("credit_return", "a credit is returned that no beat has spent", "§2.6", ((120, 376),) * 4),
]

_REQUESTS = [
    Rule("req_command", "Request: Cmd is Reserved", "§2.7.4.6", _ids(39, 186)),
    Rule("req_message", "Request: the type of a UPLI Write Message is Reserved", "§2.7.4.6", _ids(223)),
    Rule("req_reserved", "Request: a Reserved field is not 0 (A-25)", "§2.7.4.5, Table 2-7", _ids(179, 183)),
    Rule("req_address", "Request: Addr is not that of a doubleword", "§2.8", _ids(341, 348)),
    Rule("req_boundary", "Request: a Read or Write crosses 256 bytes", "§2.7.4, §2.8", _ids(176, 189, 193, 342, 348)),
    Rule("req_full", "Request: a WriteFull is not of whole, aligned 64 bytes", "§2.8", _ids(164, 355)),
    Rule("req_atomic", "Request: an Atomic fits neither one operand nor two", "§2.8", _ids(358, 359, 365)),
    Rule("req_num_beats", "Request: NumBeats does not fit the command and its range", "§2.8", _ids(157, 372, 374)),
    Rule("req_overlap", "Request: one with data before the OrigData of the last one ended", "§2.7.8", _ids(306)),
]

_DATA = [
    Rule("orig_data_first", "OrigData: a Request with data without its first beat", "§2.7.8", _ids(139, 301)),
    Rule("orig_data_owner", "OrigData: a beat belongs to no Request", "§2.7.8", _ids(377)),
    Rule("orig_data_gap", "OrigData: no beat in its port's slot amid a transfer", "§2.7.8", _ids(155, 302, 351)),
    Rule("orig_data_offset", "OrigData: Offset is not the place of the beat", "§2.7.8", _ids(285, 303)),
    Rule("orig_data_last", "OrigData: Last is not on the last beat alone", "§2.7.8", _ids(286, 304)),
    Rule("orig_data_vc", "OrigData: the VC differs from the Request's", "§2.7.7", _ids(288)),
    Rule("orig_data_full", "OrigData: a byte of a WriteFull is not enabled", "§2.8", _ids(194, 356)),
    Rule("orig_data_range", "OrigData: a byte outside of the range is enabled", "§2.8", _ids(352)),
    Rule("orig_data_element", "OrigData: an element of an Atomic is enabled in part", "§2.8", _ids(361)),
    Rule("orig_data_null", "OrigData: a predefined message is not null", "Table 2-7", _ids(219, 220, 221, 222)),
]

_TRANSFERS = [
    Rule("rd_rsp_gap", "RdRsp: beats of a Multi-Beat response do not come in a row", "§2.7.8", _ids(310)),
    Rule("rd_rsp_offset", "RdRsp: Offset is out of order, too large, or comes again", "§2.7.8", _ids(235, 312)),
    Rule("rd_rsp_last", "RdRsp: Last is not on the last beat alone", "§2.7.8", _ids(236, 314)),
    Rule("rd_rsp_num_beats", "RdRsp: NumBeats changes or does not fit the Request", "§2.7.8", _ids(232, 311, 373)),
]

TAG_RULES = [
    Rule("req_tag", "Request: its tag is that of an outstanding one", "§2.7.4.2", _ids(153, 154)),
    Rule("rd_rsp_tag", "RdRsp: it belongs to no outstanding Request", "§2.7.5", _ids(226, 231, 378)),
    Rule("rd_rsp_channel", "RdRsp: the Request is answered on WrRsp", "§2.7.3", _ids(131, 132, 378)),
    Rule("rd_rsp_vc", "RdRsp: the VC differs from the Request's", "§2.7.5", _ids(240)),
    Rule("rd_rsp_status", "RdRsp: Status is none that the command has", "§2.7.5.1", _ids(248, 255)),
    Rule("rd_rsp_same", "RdRsp: Status differs between the beats of a Response", "§2.7.5", _ids(234)),
    Rule("wr_rsp_tag", "WrRsp: it belongs to no outstanding Request", "§2.7.6", _ids(268, 269, 378)),
    Rule("wr_rsp_channel", "WrRsp: the Request is answered on RdRsp", "§2.7.3", _ids(131, 132, 378)),
    Rule("wr_rsp_vc", "WrRsp: the VC differs from the Request's", "§2.7.6", _ids(271)),
    Rule("wr_rsp_status", "WrRsp: Status is none that the command has", "§2.7.6.1", _ids(279)),
]
"""Those that need the Requests to be remembered."""

_ISOLATION = [Rule("wr_rsp_isolate", "WrRsp: ISOLATE where none may come", "§2.7.6.1", _ids(280, 381))]

RULES = tuple(_CONNECTION + _BEATS + _RETURNS + _REQUESTS + _DATA + _TRANSFERS + TAG_RULES + _ISOLATION)
"""All rules; the number of a rule is its place here."""

_PAGE = """\
# The UPLI checker

Written by `python -m ualink.upli.checker.rules > docs/upli-checker.md`; do not edit.

`UPLIChecker` (`hdl/ualink/upli/checker/`) watches one UPLI interface and drives nothing: every signal of both sides is
an input. It judges from registers; a beat or credit that breaks a rule shows as a pulse of one cycle on the rule's bit
of `violations`, three cycles after it was on the interface, and `first` keeps the first of them with the headers of
that cycle until `clear`.

- A beat with wrong control parity is reported as that and judged no further; nor is what follows from it: the rest of a
  transfer whose beginning was lost, and, for good, what only the tags of all Requests would tell (`tracking` falls).
- `tracked` Requests can be remembered; when one more is outstanding, `tracking` falls until reset. With `tracked = 0`
  the rules marked *tags* are never reported and cost nothing.
- With `encrypted` the rules on address, range, enables, data and tags are left out: what is on the interface is cipher
  text (ruling A-43 of UPLI).
- Parity is judged when the direction of its driver is open (ruling B-07).

| Number | Rule | Broken when | Section | Requirements |
|---|---|---|---|---|
"""


def page() -> str:
    """The text of docs/upli-checker.md."""
    rows = [
        f"| {number} | `{rule.name}` | {rule.text}{' (*tags*)' if rule in TAG_RULES else ''} | {rule.section} | "
        f"{', '.join(rule.requirements)} |\n"
        for number, rule in enumerate(RULES)
    ]
    return _PAGE + "".join(rows)


if __name__ == "__main__":
    print(page(), end="")
