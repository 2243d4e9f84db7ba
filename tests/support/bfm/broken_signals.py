"""Hands that break each rule of signals once: reset and connection, ports, slots, parity and credits."""

from support.bfm.fake_interface import parities
from support.bfm.rule_cases import RD_RSP, READ, breaks, on_beat

__all__: list[str] = []

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


def _swap_port(channel):
    def change(wires, beat):
        wires.change(channel, port_id=beat["port_id"] ^ 1)

    on_beat("port", channel, change, name="no_such_port")

    seen = []

    def later(wires, beat):
        seen.append(beat)
        if beat.get("offset", 0) == 0 and len(seen) > 2:
            wires.change(channel, port_id=beat["port_id"] ^ 1)
            seen.clear()
            return True
        return False

    on_beat("tdm_phase", channel, later, name="slot_of_another_port", ports=2)


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

        on_beat("beat_parity", channel, change, name=f"{parity}_{number}")

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

    on_beat("credit_overrun", channel, no_such_credit, name="vc_credit_that_nobody_released")

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
