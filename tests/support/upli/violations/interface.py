"""Scripts that break a rule of the interface itself: handshake, parity, slots, credits."""

from support.upli.script import Script
from support.upli.violations.common import (
    answer,
    asked,
    beat,
    breaks,
    broken_beat,
    channel_of,
    data,
    of_each,
    read,
    write,
)


@breaks("reset_state")
def _(name):
    script = Script()
    script.levels["orig_clk_req"] = 1
    script.step(bad=name)
    return script


@breaks("handshake_order")
def _(name):
    script = Script()
    script.step()
    script.levels["comp_clk_ack"] = 1
    script.step(bad=name)
    script.levels["orig_clk_req"] = 1
    script.rest(3)
    return script


@breaks("handshake_sticky")
def _(name):
    script = Script()
    script.open()
    script.levels["comp_clk_ack"] = 0
    script.step(bad=name)
    script.levels["comp_clk_ack"] = 1
    return script


@breaks(*of_each("early"))
def _(name):
    script = Script()
    script.step()
    script.levels |= {"orig_clk_req": 1, "comp_clk_req": 1}
    script.step()
    # One direction is open; a beat needs both.
    script.levels["comp_clk_ack" if channel_of(name) in ("req", "orig_data") else "orig_clk_ack"] = 1
    script.step()
    channel = channel_of(name)
    script.step(**{channel: {"req": read, "orig_data": data, "rd_rsp": beat, "wr_rsp": answer}[channel]()}, bad=name)
    return script


@breaks(*of_each("vld_parity"))
def _(name):
    script = Script().connect()
    script.step(flips={(channel_of(name), "vld_parity"): 1}, bad=name)
    return script


@breaks(
    *of_each("parity", ("req", "rd_rsp", "wr_rsp")),
    "req_addr_parity",
    *of_each("data_parity", ("orig_data", "rd_rsp")),
    *of_each("byte_en_parity", ("orig_data",)),
    *of_each("fields_parity", ("orig_data",)),
)
def _(name):
    script = Script().connect()
    channel = channel_of(name)
    broken_beat(channel, script, name, flips={(channel, name.removeprefix(f"{channel}_")): 1})
    return script


@breaks(*of_each("auth_tag", ("req", "rd_rsp", "wr_rsp")))
def _(name):
    script = Script().connect()
    script.step(idle={(channel_of(name), "auth_tag"): 1 << 63}, bad=name)
    return script


@breaks(*of_each("port"))
def _(name):
    script = Script().connect()
    broken_beat(channel_of(name), script, name, port_id=2)
    return script


@breaks(*of_each("slot"))
def _(name):
    channel = channel_of(name)
    script = Script(2).connect()
    # Port 1 in this cycle, so port 0 in the next but one is wrong; answers to both in the same way.
    script.step(req=read(1, port_id=1))
    script.rest()
    if channel == "req":
        script.step(req=read(2), bad=name)
    elif channel == "orig_data":
        script.step(req=write(2, port_id=1), orig_data=data(port_id=0), bad=name)
    elif channel == "rd_rsp":
        script.step(req=read(2, port_id=1))
        script.step(rd_rsp=beat(1, port_id=1))
        script.rest(2)
        script.step(rd_rsp=beat(2, port_id=1), bad=name)
    else:
        for tag in (3, 4):
            script.step(req=write(tag, port_id=1), orig_data=data(port_id=1))
            script.rest()
        script.step(wr_rsp=answer(3, port_id=1))
        script.step(wr_rsp=answer(4, port_id=1), bad=name)
    return script


@breaks(*of_each("init_done"))
def _(name):
    channel = channel_of(name)
    script = Script()
    script.open()
    script.release(late=channel)
    if channel in ("req", "orig_data"):
        broken_beat(channel, script, name)
        return script
    # The Request comes before the Response that is one cycle early.
    script = Script()
    script.open()
    script.release()
    script.done[channel] = 0
    script.cycles = [
        {path: 0 if path == (channel, "credit", "init_done") else value for path, value in cycle.items()}
        for cycle in script.cycles
    ]
    asked(script, read() if channel == "rd_rsp" else write())
    script.done[channel] = 1
    script.step()
    script.step(**{channel: beat() if channel == "rd_rsp" else answer()}, bad=name)
    return script


@breaks(*of_each("credit"))
def _(name):
    script = Script().connect()
    broken_beat(channel_of(name), script, name, pool=0, vc=3)
    return script


@breaks(*of_each("credit_early"))
def _(name):
    script = Script()
    script.step()
    script.levels |= {"orig_clk_req": 1, "comp_clk_req": 1}
    # The other direction is open.
    script.levels["comp_clk_ack" if channel_of(name) in ("req", "orig_data") else "orig_clk_ack"] = 1
    script.step()
    script.step(returns={(channel_of(name), 0): (1, 0, 2)}, bad=name)
    return script


@breaks(*of_each("credit_vld_parity"))
def _(name):
    script = Script().connect()
    script.step(flips={(channel_of(name), "credit", "vld_parity"): 1}, bad=name)
    return script


@breaks(*of_each("credit_parity"))
def _(name):
    channel = channel_of(name)
    script = Script().connect()
    script.step(returns={(channel, 0): (1, 0, 1)}, flips={(channel, "credit", "parity"): 1}, bad=name)
    return script


@breaks(*of_each("credit_port"))
def _(name):
    script = Script(2).connect()
    script.step(returns={(channel_of(name), 3): (1, 0, 1)}, bad=name)
    return script


@breaks(*of_each("credit_done"))
def _(name):
    channel = channel_of(name)
    script = Script(2).connect()
    script.done[channel] = 1
    script.step(bad=name)
    script.done[channel] = 3
    return script


@breaks(*of_each("credit_return"))
def _(name):
    channel = channel_of(name)
    script = Script().connect()
    if channel in ("req", "rd_rsp"):
        script.step(req=read())
        script.step(rd_rsp=beat())
    else:
        asked(script, write())
        script.step(wr_rsp=answer())
    # One was spent of the Pool for VC 0, and only that comes back.
    script.step(returns={(channel, 0): (1, 0, 1)})
    script.step(returns={(channel, 0): (1, 0, 1)}, bad=name)
    return script
