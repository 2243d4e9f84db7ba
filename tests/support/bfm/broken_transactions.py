"""Hands that break each rule of transactions once: Requests and their data, tags and Responses."""

from support.bfm.rule_cases import ORIG_DATA, RD_RSP, READ, breaks, on_beat
from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.model.upli import transactions as upli

__all__: list[str] = []

# Requests and their data.


def _is(beat, cmd):
    return beat["cmd"] == cmd


on_beat("command", "req", lambda wires, beat: wires.change("req", cmd=0x00), name="reserved_code")
on_beat("request", "req", lambda wires, beat: wires.change("req", addr=2), name="odd_address")
on_beat(
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
    on_beat("request", "req", _write_as_message(_type, 3), name=f"message_type_{_type:02x}")
on_beat("request", "req", _write_as_message(0x00, 3), name="null_message_of_four_beats")
on_beat(
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
    on_beat("contiguous", channel, drop, name="gap")
    on_beat("contiguous", channel, drop, name="gap_on_four_ports", ports=4)
    on_beat("offset", channel, at(0, lambda wires, beat: wires.change(channel, offset=1)), name="begins_with_1")
    on_beat("offset", channel, at(2, lambda wires, beat: wires.change(channel, offset=1)), name="goes_back")
    on_beat("last", channel, at(3, lambda wires, beat: wires.change(channel, last=0)), name="no_last")
    on_beat("last", channel, at(2, lambda wires, beat: wires.change(channel, last=1)), name="early_last")


for _channel in ("orig_data", "rd_rsp"):
    _transfer(_channel)

for _channel in ("orig_data", "rd_rsp", "wr_rsp"):
    on_beat("vc", _channel, lambda wires, beat, c=_channel: wires.change(c, vc=beat["vc"] ^ 1), name="other_vc")

# Tags and Responses.


@breaks("tag_in_use", "req", by="monitor", completer={"latency": 100})
def same_tag(wires, cycle):
    beat = wires.beat("req")
    again = beat is not None and beat["tag"] == 3
    if again:
        wires.change("req", tag=0)
    return again


for _channel in ("rd_rsp", "wr_rsp"):
    on_beat("unknown_tag", _channel, lambda wires, beat, c=_channel: wires.change(c, tag=2000), name="tag_2000")
    on_beat(
        "unknown_tag", _channel, lambda wires, beat, c=_channel: wires.change(c, dst_phys_acc_id=9), name="for_another"
    )
    on_beat("status", _channel, lambda wires, beat, c=_channel: wires.change(c, status=1), name="reserved_status")


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


on_beat("num_beats", "rd_rsp", _fourth(0, num_beats=1), name="not_what_the_read_asks")
on_beat("num_beats", "rd_rsp", _fourth(2, num_beats=0), name="changes_within_the_response")
on_beat("status", "rd_rsp", _fourth(2, status=int(upli.Status.CMPTO)), name="changes_within_the_response")

_SINGLE = {"single_beat": lambda beats: (3, 1, 0, 2)}


def _single(rule, place, name, **fields):
    def change(wires, beat):
        return not beat["num_beats"] and beat["offset"] == place and wires.change("rd_rsp", **fields) is None

    on_beat(rule, "rd_rsp", change, name=name, completer=_SINGLE)


_single("offset", 1, "single_beat_twice", offset=3)
_single("last", 1, "single_beat_early_last", last=1)
_single("last", 2, "single_beat_no_last", last=0)
_single("num_beats", 1, "single_beat_with_a_count", num_beats=3)
