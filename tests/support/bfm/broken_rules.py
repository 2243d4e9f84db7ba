"""Hands that break each rule of the bus models once: ``CASES`` for test_rules.py."""

import pytest

from support.bfm.fake_interface import parities
from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.model.upli import transactions as upli

CASES = []


def breaks(rule, channel, *, by="both", ports=1, **options):
    """Register a hand that breaks ``rule`` on ``channel``; it returns true once it has, and is not called again.

    ``by``: who can find it, ``"monitor"``, ``"agents"`` or ``"both"``.
    """

    def register(function):
        for observer in ("monitor", "agents") if by == "both" else (by,):
            name = f"{rule}-{channel}-{function.__name__}-{observer}"
            CASES.append(pytest.param(rule, channel, function, observer, ports, options, id=name))
        return function

    return register


# Reset and connection.


@breaks("reset_state", "handshake", by="monitor")
def early_request(wires, cycle):
    wires.force("orig_clk_req", 1)
    return True


def _early(channel, path):
    def early(wires, cycle):
        wires.force(path, 1)
        return True

    early.__name__ = f"early_{path.replace('.', '_')}"
    breaks("reset_state", channel, by="monitor")(early)


for _channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
    for _signal in ("vld", "credit.vld", "credit.init_done"):
        _early(_channel, f"{_channel}.{_signal}")


@breaks("handshake_order", "handshake", originator={"request_delay": 9})
def acknowledge_of_nothing(wires, cycle):
    if cycle == 3:
        wires.force("comp_clk_ack", 1)
    return cycle == 3


@breaks("handshake_order", "handshake", completer={"request_delay": 9})
def acknowledge_of_nothing_by_the_originator(wires, cycle):
    if cycle == 3:
        wires.force("orig_clk_ack", 1)
    return cycle == 3


def _falls(name):
    def falls(wires, cycle):
        if cycle == 40:
            wires.force(name, 0)
        return cycle == 40

    falls.__name__ = f"{name}_falls"
    breaks("handshake_sticky", "handshake")(falls)


for _name in ("orig_clk_req", "orig_clk_ack", "comp_clk_req", "comp_clk_ack"):
    _falls(_name)

READ = to_beat(upli.Request(cmd=upli.ReqCmd.READ)) | {"port_id": 0, "pool": 1}
RD_RSP = to_beat(upli.RdRspBeat(tag=0, data=bytes(64))) | {"port_id": 0, "pool": 1}
ORIG_DATA = to_beat(upli.OrigDataBeat(data=bytes(64))) | {"port_id": 0, "pool": 1}


@breaks("connection", "req", completer={"request_delay": 9})
def beat_with_one_direction_open(wires, cycle):
    if cycle == 5:
        wires.put("req", READ)
    return cycle == 5


@breaks("connection", "rd_rsp", originator={"request_delay": 9})
def response_with_one_direction_open(wires, cycle):
    if cycle == 5:
        wires.put("rd_rsp", RD_RSP)
    return cycle == 5


@breaks("connection", "req", completer={"request_delay": 9})
def credit_before_the_direction_is_open(wires, cycle):
    if cycle == 5:
        wires.give("req", 0, 1, 0, 1)
    return cycle == 5


@breaks("connection", "wr_rsp", originator={"request_delay": 9})
def init_done_before_the_direction_is_open(wires, cycle):
    if cycle == 5:
        wires.force("wr_rsp.credit.init_done", 1)
    return cycle == 5


# Ports, slots and parity.


def _on_beat(rule, channel, change, *, name, **options):
    """Break ``rule`` by ``change(wires, beat)`` on the first beat of ``channel`` for which that is not False."""

    def hand(wires, cycle):
        beat = wires.beat(channel)
        return beat is not None and change(wires, beat) is not False

    hand.__name__ = name
    breaks(rule, channel, **options)(hand)


def _swap_port(channel):
    def change(wires, beat):
        wires.change(channel, port_id=beat["port_id"] ^ 1)

    _on_beat("port", channel, change, name="no_such_port")

    seen = []

    def later(wires, beat):
        seen.append(beat)
        if beat.get("offset", 0) == 0 and len(seen) > 2:
            wires.change(channel, port_id=beat["port_id"] ^ 1)
            seen.clear()
            return True
        return False

    _on_beat("tdm_phase", channel, later, name="slot_of_another_port", ports=2)


for _channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
    _swap_port(_channel)


def _on_channel(channel):
    def idle_parity(wires, cycle):
        wires.flip(f"{channel}.vld_parity")
        return True

    breaks("vld_parity", channel)(idle_parity)

    def idle_auth_tag(wires, cycle):
        free = cycle > 1 and wires.beat(channel) is None
        if free:
            wires.flip(f"{channel}.auth_tag", 1 << 63)
        return free

    if channel != "orig_data":
        breaks("auth_tag", channel, by="monitor")(idle_auth_tag)

    for number, parity in enumerate(parities(channel)):
        mask = 0x80 if parity == "data_parity" else 1

        def change(wires, beat, parity=parity, mask=mask):
            wires.flip(f"{channel}.{parity}", mask)

        _on_beat("beat_parity", channel, change, name=f"{parity}_{number}")

    def credit_vld_parity(wires, cycle):
        wires.flip(f"{channel}.credit.vld_parity")
        return True

    breaks("credit_vld_parity", channel)(credit_vld_parity)

    def credit_parity(wires, cycle):
        valid = wires.get(f"{channel}.credit.vld")
        if valid:
            wires.flip(f"{channel}.credit.parity")
        return valid

    breaks("credit_parity", channel)(credit_parity)

    def credit_of_no_port(wires, cycle):
        if cycle == 30:
            wires.give(channel, 3, 1, 0, 1)
        return cycle == 30

    breaks("port", channel)(credit_of_no_port)

    def init_done_of_no_port(wires, cycle):
        if cycle == 60:
            wires.flip(f"{channel}.credit.init_done", 2)
        return cycle == 60

    breaks("port", channel)(init_done_of_no_port)

    # Credits.

    def no_such_credit(wires, beat):
        wires.change(channel, pool=0)

    _on_beat("credit_overrun", channel, no_such_credit, name="vc_credit_that_nobody_released")

    def nobody_spent_it(wires, cycle):
        if cycle == 60:
            wires.give(channel, 0, 1, 3, 4)
        return cycle == 60

    breaks("credit_return", channel)(nobody_spent_it)

    def init_done_falls(wires, cycle):
        if cycle == 60:
            wires.flip(f"{channel}.credit.init_done", 1)
        return cycle == 60

    breaks("init_done_sticky", channel)(init_done_falls)


for _channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
    _on_channel(_channel)


@breaks("credit_overrun", "req", completer={"req_pool": 1, "hold": lambda: 100})
def second_request_on_one_credit(wires, cycle):
    if cycle == 60:
        wires.put("req", READ | {"tag": 77})
    return cycle == 60


def _too_early(channel, beat, cycles):
    def hurry(wires, cycle):
        since = hurry.__dict__.setdefault("since", cycle) if wires.get(f"{channel}.credit.init_done") else None
        if since is not None and cycle - since == cycles:
            wires.put(channel, beat)
            del hurry.since
            return True
        return False

    hurry.__name__ = f"beat_{cycles}_cycles_after"
    # The model reckons with a device that answers at the edge at which it sees; another bus model is a cycle slower.
    breaks("init_done", channel, by="monitor" if cycles else "both")(hurry)


for _cycles in (0, 1):
    _too_early("req", READ, _cycles)
    _too_early("rd_rsp", RD_RSP, _cycles)


@breaks("init_done", "req", completer={"req_pool": 400})
def beat_during_the_initial_release(wires, cycle):
    if cycle == 40:
        wires.put("req", READ)
    return cycle == 40


# Requests and their data.


def _is(beat, cmd):
    return beat["cmd"] == cmd


_on_beat("command", "req", lambda wires, beat: wires.change("req", cmd=0x00), name="reserved_code")
_on_beat("request", "req", lambda wires, beat: wires.change("req", addr=2), name="odd_address")
_on_beat(
    "request",
    "req",
    lambda wires, beat: _is(beat, upli.ReqCmd.WRITE) and wires.change("req", num_beats=2) is None,
    name="too_few_beats",
)
_MESSAGE = {"cmd": 0x2A, "num_beats": 0, "addr": 0, "len": 0}


def _write_as_message(meta_data, num_beats):
    return lambda wires, beat: (
        _is(beat, upli.ReqCmd.WRITE)
        and wires.change("req", **_MESSAGE | {"num_beats": num_beats}, meta_data=meta_data) is None
    )


for _type in (0x04, 0xEF):
    _on_beat("request", "req", _write_as_message(_type, 3), name=f"message_type_{_type:02x}")
_on_beat("request", "req", _write_as_message(0x00, 3), name="null_message_of_four_beats")
_on_beat(
    "first_data",
    "req",
    lambda wires, beat: _is(beat, upli.ReqCmd.WRITE) and wires.drop("orig_data") is None,
    name="data_later",
)


@breaks("data_overlap", "req")
def write_during_a_write(wires, cycle):
    data, request = wires.beat("orig_data"), wires.beat("req")
    during = data is not None and data["offset"] == 2
    if during:
        wires.put("req", (request or READ) | {"cmd": int(upli.ReqCmd.ATOMIC_R), "len": 0, "addr": 0})
    return during


@breaks("data_owner", "orig_data")
def data_of_nobody(wires, cycle):
    if cycle == 200:
        wires.put("orig_data", ORIG_DATA)
    return cycle == 200


def _transfer(channel):
    def at(offset, change):
        return lambda wires, beat: beat["offset"] == offset and change(wires, beat) is None

    drop = at(1, lambda wires, beat: wires.drop(channel))
    _on_beat("contiguous", channel, drop, name="gap")
    _on_beat("contiguous", channel, drop, name="gap_on_four_ports", ports=4)
    _on_beat("offset", channel, at(0, lambda wires, beat: wires.change(channel, offset=1)), name="begins_with_1")
    _on_beat("offset", channel, at(2, lambda wires, beat: wires.change(channel, offset=1)), name="goes_back")
    _on_beat("last", channel, at(3, lambda wires, beat: wires.change(channel, last=0)), name="no_last")
    _on_beat("last", channel, at(2, lambda wires, beat: wires.change(channel, last=1)), name="early_last")


for _channel in ("orig_data", "rd_rsp"):
    _transfer(_channel)

for _channel in ("orig_data", "rd_rsp", "wr_rsp"):
    _on_beat("vc", _channel, lambda wires, beat, c=_channel: wires.change(c, vc=beat["vc"] ^ 1), name="other_vc")

# Tags and Responses.


@breaks("tag_in_use", "req", by="monitor", completer={"latency": 100})
def same_tag(wires, cycle):
    beat = wires.beat("req")
    again = beat is not None and beat["tag"] == 3
    if again:
        wires.change("req", tag=0)
    return again


for _channel in ("rd_rsp", "wr_rsp"):
    _on_beat("unknown_tag", _channel, lambda wires, beat, c=_channel: wires.change(c, tag=2000), name="tag_2000")
    _on_beat(
        "unknown_tag", _channel, lambda wires, beat, c=_channel: wires.change(c, dst_phys_acc_id=9), name="for_another"
    )
    _on_beat("status", _channel, lambda wires, beat, c=_channel: wires.change(c, status=1), name="reserved_status")


def _to_a_message(channel, meta_data, status):
    """A null message is answered on ``channel`` with ``status``, which speaks of an address that it does not have."""

    def hand(wires, cycle):
        if wires.beat(channel) and wires.beat(channel)["tag"] == 0:
            wires.change(channel, status=int(status))
            return True
        return False

    def handler(request, data):
        beat = upli.WrRspBeat if channel == "wr_rsp" else upli.RdRspBeat
        more = {} if channel == "wr_rsp" else {"data": bytes(64)}
        return channel, [to_beat(beat(tag=request["tag"], vc=request["vc"], **more))]

    hand.__name__ = f"message_{meta_data:02x}_{status.name.lower()}"
    message = upli.Request(cmd=upli.ReqCmd.UPLI_WRITE_MESSAGE, meta_data=meta_data)
    breaks("status", channel, handler=handler, first=(message, upli.OrigDataBeat(data=bytes(64))))(hand)


for _status in (upli.Status.DECODE_ERROR, upli.Status.PROTECTION_VIOLATION):
    _to_a_message("wr_rsp", 0x00, _status)
    _to_a_message("rd_rsp", 0x02, _status)


@breaks("response_channel", "rd_rsp")
def read_response_to_a_write(wires, cycle):
    beat = wires.beat("wr_rsp")
    if beat:
        wires.drop("wr_rsp")
        wires.put("rd_rsp", RD_RSP | {"tag": beat["tag"]})
        return True
    return False


@breaks("response_channel", "wr_rsp")
def write_response_to_a_read(wires, cycle):
    beat = wires.beat("rd_rsp")
    if beat and not wires.beat("wr_rsp"):
        wires.drop("rd_rsp")
        wires.put("wr_rsp", {name: beat[name] for name in (*upli.WrRspBeat.__dataclass_fields__, "port_id", "pool")})
        return True
    return False


def _fourth(place, **fields):
    return lambda wires, beat: (
        beat["num_beats"] == 3 and beat["offset"] == place and wires.change("rd_rsp", **fields) is None
    )


_on_beat("num_beats", "rd_rsp", _fourth(0, num_beats=1), name="not_what_the_read_asks")
_on_beat("num_beats", "rd_rsp", _fourth(2, num_beats=0), name="changes_within_the_response")
_on_beat("status", "rd_rsp", _fourth(2, status=int(upli.Status.CMPTO)), name="changes_within_the_response")

_SINGLE = {"single_beat": lambda beats: (3, 1, 0, 2)}


def _single(rule, place, name, **fields):
    def change(wires, beat):
        return not beat["num_beats"] and beat["offset"] == place and wires.change("rd_rsp", **fields) is None

    _on_beat(rule, "rd_rsp", change, name=name, completer=_SINGLE)


_single("offset", 1, "single_beat_twice", offset=3)
_single("last", 1, "single_beat_early_last", last=1)
_single("last", 2, "single_beat_no_last", last=0)
_single("num_beats", 1, "single_beat_with_a_count", num_beats=3)
