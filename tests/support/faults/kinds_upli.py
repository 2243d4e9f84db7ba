"""Faults on the wires of UPLI: parity, beats and credits that are lost, doubled or made up (UALink_200 §2.6, §3.1)."""

from support.faults.outcome import CLEAR, NOTHING, OTHERS, RESET, Kind, Outcome
from support.faults.strikes import ANY, PORT, PORT_BIT, UPLIStrike
from ualink_sim.model.upli.transactions import ReqCmd

__all__ = ["UPLI", "all_ports_drop"]

COMPLETER, ORIGINATOR, TL_ORIGINATOR = "to_completer", "to_originator", "to_tl_originator"
AGENT = {COMPLETER: "completer", TL_ORIGINATOR: "originator"}
"""The agent of the TL at that end of the wires, as registers name it."""

PENDING = frozenset({"isolation.time_out", "ask.time_out", "ask.time_out" + OTHERS})
"""Requests without a Response: a watchdog isolates, and all of the Originator is answered by dummies (§3.1.3)."""


def all_ports_drop(cause: str) -> frozenset[str]:
    """The TL is in Drop Mode for ``cause``, with all of its ports."""
    of_port = {"tl.drop_mode", f"drop.{cause}"}
    return frozenset(of_port | {word + OTHERS for word in of_port})


def dropped(at: str, error: str) -> tuple[Outcome, Outcome]:
    """The TL meets a Control or a Protocol Error: all of its ports drop, nobody is told by ISOLATE, and whoever waits
    for a Response is isolated by a watchdog (§3.1.4.2, Figure 3-3)."""
    return Outcome.of(all_ports_drop(error) | {f"upli.{AGENT[at]}_{error}"}, PENDING), Outcome.of((), PENDING)


def originator_drops(error: str) -> tuple[Outcome, Outcome]:
    """The accelerator's own Originator meets it: it alone drops, and its watchdogs go on (Figure 3-2)."""
    return Outcome.of({f"originator.{error}", "originator.drop"}, PENDING), Outcome.of((), ())


def control(name: str, at: str, when, *flips, requirements=()) -> Kind:
    here, there = originator_drops("control_error") if at == ORIGINATOR else dropped(at, "control_error")
    own = ("RAS-058",) if at == ORIGINATOR else ("RAS-050", "RAS-084", "RAS-113")
    marks = ("RAS-034", *own, *requirements)
    return Kind(name, "§3.1.4.2", marks, UPLIStrike(at, when, flips), here, there, recovery=RESET)


def protocol(name: str, at: str, when, *flips, ports=(1, 4), recovery=RESET) -> Kind:
    here, there = dropped(at, "protocol_error")
    strike = UPLIStrike(at, when, flips)
    of_ports = ports == (4,)
    return Kind(name, "§3.1.2, §3.1.4", ("RAS-082",), strike, here, there, recovery, ports=ports, of_ports=of_ports)


def beat(channel: str, **fields) -> dict:
    """A beat of the port on ``channel``."""
    return {f"{channel}.vld": 1, f"{channel}.port_id": PORT} | {f"{channel}.{k}": v for k, v in fields.items()}


def gone(channel: str) -> dict:
    """Nothing where a beat was."""
    return {f"{channel}.vld": 1, f"{channel}.vld_parity": 1}


def returned(channel: str) -> dict:
    return {f"{channel}.credit.vld": PORT_BIT}


def of_credits(name: str, at: str, channel: str) -> Kind:
    credit = f"{channel}.credit"
    flips = ({f"{credit}.vld": ANY}, {f"{credit}.vld_parity": 1}, {f"{credit}.parity": 1}, {f"{credit}.pool": ANY})
    return control(name, at, returned(channel), *flips, requirements=("RAS-026", "RAS-027"))


REQUEST = ("tag", "len", "attr", "cmd", "meta_data", "vc", "src_phys_acc_id", "dst_phys_acc_id", "num_beats", "port_id")
RESPONSE = ("tag", "status", "vc", "src_phys_acc_id", "dst_phys_acc_id", "port_id")
READ = {"cmd": int(ReqCmd.READ)}
WRITE = {"cmd": int(ReqCmd.WRITE_FULL)}
POISONED = ("RAS-008", "RAS-035", "RAS-076", "RAS-078", "RAS-079")


def flips_of(channel: str, fields, parity: str = "parity") -> list[dict]:
    return [{f"{channel}.{parity}": 1}, *({f"{channel}.{name}": ANY} for name in fields)]


CONTROL = (
    control("req_valid_parity", COMPLETER, beat("req"), {"req.vld": 1}, {"req.vld_parity": 1}),
    control("req_valid_out_of_nothing", COMPLETER, {"req.vld": 0}, {"req.vld": 1}, {"req.vld_parity": 1}),
    control("req_parity", COMPLETER, beat("req"), *flips_of("req", REQUEST)),
    control("req_address_parity", COMPLETER, beat("req"), *flips_of("req", ["addr"], "addr_parity")),
    control("data_valid_parity", COMPLETER, beat("orig_data"), {"orig_data.vld": 1}, {"orig_data.vld_parity": 1}),
    control(
        "data_fields_parity",
        COMPLETER,
        beat("orig_data"),
        *flips_of("orig_data", ("last", "error", "offset", "vc", "port_id"), "fields_parity"),
    ),
    of_credits("rd_rsp_credit_parity", COMPLETER, "rd_rsp"),
    of_credits("wr_rsp_credit_parity", COMPLETER, "wr_rsp"),
    control("rd_rsp_valid_parity", TL_ORIGINATOR, beat("rd_rsp"), {"rd_rsp.vld": 1}, {"rd_rsp.vld_parity": 1}),
    control("rd_rsp_parity", TL_ORIGINATOR, beat("rd_rsp"), *flips_of("rd_rsp", (*RESPONSE, "offset", "data_error"))),
    control("wr_rsp_valid_parity", TL_ORIGINATOR, beat("wr_rsp"), {"wr_rsp.vld": 1}, {"wr_rsp.vld_parity": 1}),
    control("wr_rsp_parity", TL_ORIGINATOR, beat("wr_rsp"), *flips_of("wr_rsp", RESPONSE)),
    of_credits("req_credit_parity", TL_ORIGINATOR, "req"),
    of_credits("data_credit_parity", TL_ORIGINATOR, "orig_data"),
    control("rd_rsp_parity_at_last", ORIGINATOR, beat("rd_rsp"), *flips_of("rd_rsp", (*RESPONSE, "last"))),
    control("wr_rsp_parity_at_last", ORIGINATOR, beat("wr_rsp"), *flips_of("wr_rsp", RESPONSE)),
    of_credits("req_credit_parity_at_first", ORIGINATOR, "req"),
)

DATA = (
    # The write is not done where its data are corrupt, and says so; nothing else happens.
    Kind(
        "data_parity",
        "§3.1.4.1",
        (*POISONED, "RAS-023"),
        UPLIStrike(COMPLETER, beat("orig_data"), ({"orig_data.data": ANY}, {"orig_data.data_parity": ANY})),
        Outcome.of({"upli.completer_data_error", "ask.abort"}),
        Outcome.of(),
        NOTHING,
    ),
    Kind(
        "byte_enable_parity",
        "§3.1.4.1",
        POISONED,
        UPLIStrike(COMPLETER, beat("orig_data"), ({"orig_data.byte_en": ANY}, {"orig_data.byte_en_parity": 1})),
        Outcome.of({"upli.completer_data_error", "ask.abort"}),
        Outcome.of(),
        NOTHING,
    ),
    Kind(
        "rd_rsp_data_parity",
        "§3.1.4.1",
        POISONED,
        UPLIStrike(TL_ORIGINATOR, beat("rd_rsp"), ({"rd_rsp.data": ANY}, {"rd_rsp.data_parity": ANY})),
        Outcome.of({"upli.originator_data_error"}),
        Outcome.of({"ask.poison"}),
        NOTHING,
    ),
    Kind(
        "rd_rsp_data_parity_at_last",
        "§3.1.4.1",
        ("RAS-035", "RAS-076"),
        UPLIStrike(ORIGINATOR, beat("rd_rsp"), ({"rd_rsp.data": ANY}, {"rd_rsp.data_parity": ANY})),
        Outcome.of({"originator.data_error", "ask.poison"}),
        Outcome.of(),
        NOTHING,
    ),
)

LOST = (
    # A Read that is gone with its parity nobody can miss but its own watchdog.
    Kind(
        "read_lost",
        "§3.1.3",
        ("RAS-063", "RAS-067", "RAS-070"),
        UPLIStrike(COMPLETER, beat("req", **READ), (gone("req"),)),
        Outcome.of({"isolation.time_out", "ask.time_out"}, PENDING),
        Outcome.of(),
        RESET,
    ),
    Kind(
        "wr_rsp_lost",
        "§3.1.3",
        ("RAS-067",),
        UPLIStrike(TL_ORIGINATOR, beat("wr_rsp"), (gone("wr_rsp"),)),
        Outcome.of(),
        Outcome.of({"isolation.time_out", "ask.time_out"}, PENDING),
        RESET,
    ),
    protocol("write_lost", COMPLETER, beat("req", **WRITE), gone("req")),
    protocol("data_beat_lost", COMPLETER, beat("orig_data"), gone("orig_data")),
    protocol("rd_rsp_beat_lost", TL_ORIGINATOR, beat("rd_rsp"), gone("rd_rsp")),
    protocol(
        "wrong_port",
        COMPLETER,
        beat("req"),
        {"req.port_id": 1, "req.parity": 1},
        {"req.port_id": 2, "req.parity": 1},
        ports=(4,),
    ),
    protocol("clock_request_falls", COMPLETER, {}, {"orig_clk_req": 1}, {"orig_clk_ack": 1}, recovery=CLEAR),
    protocol("clock_request_falls_beyond", TL_ORIGINATOR, {}, {"comp_clk_req": 1}, {"comp_clk_ack": 1}, recovery=CLEAR),
    Kind(
        "credit_lost",
        "§2.6",
        (),
        UPLIStrike(COMPLETER, returned("rd_rsp"), ({"rd_rsp.credit.vld": PORT_BIT, "rd_rsp.credit.vld_parity": 1},)),
        Outcome.of(),
        Outcome.of(),
        RESET,
    ),
)

UPLI = (*CONTROL, *DATA, *LOST)
