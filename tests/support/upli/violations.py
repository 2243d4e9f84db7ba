"""For every rule of the UPLI checker a script that breaks it and nothing else."""

from support.upli.script import Script
from support.upli.wire import CHANNELS

ALL = (1 << 64) - 1
READ, VENDOR_READ, WRITE, FULL, MESSAGE, VENDOR_WRITE, ATOMIC_R, ATOMIC_NR = 3, 8, 0x28, 0x29, 0x2A, 0x2C, 0x30, 0x32
ACCOUNT = {"src_phys_acc_id": 7, "dst_phys_acc_id": 9}
ANSWER = {"src_phys_acc_id": 9, "dst_phys_acc_id": 7}

SCRIPTS = {}


def breaks(*names):
    """The function writes the script of each of the rules ``names``; it is given the name."""

    def note(function):
        SCRIPTS.update(dict.fromkeys(names, function))
        return function

    return note


def of_each(kind, channels=CHANNELS):
    return [f"{channel}_{kind}" for channel in channels]


def channel_of(name):
    return next(channel for channel in CHANNELS if name.startswith(channel))


def read(tag=1, *, addr=0x100, len=3, **fields):
    return {"cmd": READ, "tag": tag, "addr": addr, "len": len, **ACCOUNT, **fields}


def write(tag=1, *, addr=0x100, len=3, **fields):
    return {"cmd": WRITE, "tag": tag, "addr": addr, "len": len, **ACCOUNT, **fields}


def data(offset=0, *, last=1, byte_en=0xFFFF, **fields):
    return {"offset": offset, "last": last, "byte_en": byte_en, "data": 0x1234, **fields}


def answer(tag=1, **fields):
    return {"tag": tag, **ANSWER, **fields}


def beat(tag=1, **fields):
    return answer(tag, **{"last": 1, "data": 0x77, **fields})


def asked(script, request, **more):
    """``request`` with as many beats of data as it has, in slots of its port."""
    if request["cmd"] & 0x20:
        count = request.get("num_beats", 0)
        for offset in range(count + 1):
            sent = data(offset, last=int(offset == count), port_id=request.get("port_id", 0), vc=request.get("vc", 0))
            beats = {"orig_data": sent | more}
            script.step(**beats, **({"req": request} if offset == 0 else {}))
            if offset < count:
                script.rest(script.ports - 1)
    else:
        script.step(req=request)


def broken_beat(channel, script, name, *, flips=None, **fields):
    """A lawful beat of ``channel`` but for ``flips`` and ``fields``, which break rule ``name``."""
    extra = {"flips": flips, "bad": name}
    vc = fields.get("vc", 0)
    if channel == "req":
        script.step(req=read() | fields, **extra)
    elif channel == "orig_data":
        script.step(req=write(vc=vc), orig_data=data() | fields, **extra)
    elif channel == "rd_rsp":
        script.step(req=read(vc=vc))
        script.step(rd_rsp=beat() | fields, **extra)
    else:
        asked(script, write(vc=vc))
        script.step(wr_rsp=answer() | fields, **extra)


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


def of_request(name, *requests):
    script = Script().connect()
    for request in requests:
        byte_en = ALL if request["cmd"] in (FULL, MESSAGE) else 0
        script.step(
            req=request,
            bad=name,
            **({"orig_data": data(byte_en=byte_en, last=1, data=0)} if request["cmd"] & 0x20 else {}),
        )
    return script


@breaks("req_command")
def _(name):
    return of_request(name, *(read(tag=cmd, cmd=cmd) for cmd in (0x00, 0x04, 0x10, 0x1F)), write(cmd=0x2B))


@breaks("req_message")
def _(name):
    message = {"cmd": MESSAGE, **ACCOUNT}
    return of_request(name, *({"tag": kind, "meta_data": kind, **message} for kind in (4, 0x7F, 0xEF)))


@breaks("req_reserved")
def _(name):
    message = {"cmd": MESSAGE, **ACCOUNT}
    wrong = ({"tag": 1, "addr": 4}, {"tag": 2, "asi": 1}, {"tag": 3, "attr": 128, "meta_data": 3})
    return of_request(name, write(9, cmd=ATOMIC_NR, attr=2), *(message | more for more in wrong))


@breaks("req_address")
def _(name):
    return of_request(name, read(1, addr=0x102), write(2, addr=0x101), write(3, cmd=ATOMIC_R, addr=0x102))


@breaks("req_boundary")
def _(name):
    return of_request(name, read(1, addr=0x1FC, len=1), write(2, addr=0x1C0, len=16))


@breaks("req_full")
def _(name):
    script = of_request(name, write(1, cmd=FULL, len=3), write(2, cmd=FULL, len=14))
    full = write(3, cmd=FULL, addr=0x120, len=15, num_beats=1)
    script.step(req=full, orig_data=data(last=0, byte_en=ALL), bad=name)
    script.step(orig_data=data(1, byte_en=ALL))
    return script


@breaks("req_atomic")
def _(name):
    eight_bytes = {"cmd": ATOMIC_R, "attr": 4}
    return of_request(
        name,
        write(1, addr=0x134, len=1, **eight_bytes),
        write(2, addr=0x130, len=2, **eight_bytes),
        write(3, addr=0x138, len=3, cmd=ATOMIC_NR),
        write(4, addr=0x110, len=15, cmd=ATOMIC_NR),
    )


@breaks("req_num_beats")
def _(name):
    script = of_request(name, read(1, num_beats=1), write(2, addr=0x13C, len=1))
    for tag, cmd in ((3, WRITE), (4, ATOMIC_NR), (5, MESSAGE)):
        fields = {"addr": 0, "len": 0, "num_beats": 1}
        script.step(req=write(tag, cmd=cmd, **fields), orig_data=data(last=0, byte_en=0, data=0), bad=name)
        script.step(orig_data=data(1, byte_en=0, data=0))
    return script


@breaks("req_overlap")
def _(name):
    script = Script().connect()
    script.step(req=write(1, cmd=VENDOR_WRITE, num_beats=2), orig_data=data(last=0))
    script.step(req=write(2), orig_data=data(1, last=0), bad=name)
    script.step(orig_data=data(2))
    return script


@breaks("orig_data_first")
def _(name):
    script = Script().connect()
    script.step(req=write(1, cmd=VENDOR_WRITE, num_beats=1), bad=name)
    # It comes late: the rest of what was wrong.
    script.step(orig_data=data(last=0))
    script.step(orig_data=data(1))
    return script


@breaks("orig_data_owner")
def _(name):
    script = Script().connect()
    script.step(orig_data=data(), bad=name)
    script.step(req=read())
    script.step(req=read(2), orig_data=data(), bad=name)
    return script


@breaks("orig_data_gap")
def _(name):
    script = Script(2).connect()
    script.step(req=write(1, cmd=VENDOR_WRITE, num_beats=3, port_id=1), orig_data=data(last=0, port_id=1))
    script.step(req=write(1), orig_data=data())
    script.step(orig_data=data(1, last=0, port_id=1))
    script.step()
    script.step(bad=name)
    script.step()
    script.step(orig_data=data(2, last=0, port_id=1))
    script.step()
    script.step(orig_data=data(3, port_id=1))
    return script


@breaks("orig_data_offset")
def _(name):
    script = Script().connect()
    script.step(req=write(1), orig_data=data(1), bad=name)
    script.step(req=write(2, cmd=VENDOR_WRITE, num_beats=2), orig_data=data(last=0))
    script.step(orig_data=data(2, last=0), bad=name)
    script.step(orig_data=data(2))
    return script


@breaks("orig_data_last")
def _(name):
    script = Script().connect()
    script.step(req=write(1), orig_data=data(last=0), bad=name)
    script.step(req=write(2, cmd=VENDOR_WRITE, num_beats=1), orig_data=data(last=1), bad=name)
    script.step(orig_data=data(1))
    return script


@breaks("orig_data_vc")
def _(name):
    script = Script().connect()
    script.step(req=write(1, vc=1), orig_data=data(vc=2), bad=name)
    return script


@breaks("orig_data_full")
def _(name):
    script = Script().connect()
    script.step(req=write(1, cmd=FULL, len=31, num_beats=1), orig_data=data(byte_en=ALL, last=0))
    script.step(orig_data=data(1, byte_en=ALL & ~(1 << 63)), bad=name)
    return script


@breaks("orig_data_range")
def _(name):
    script = Script().connect()
    script.step(req=write(1), orig_data=data(byte_en=1 << 16), bad=name)
    script.step(req=write(2, addr=0x138, len=2, num_beats=1), orig_data=data(last=0, byte_en=1 << 55), bad=name)
    script.step(orig_data=data(1, byte_en=1 << 4), bad=name)
    script.step(req=write(3, cmd=ATOMIC_NR, addr=0x108, len=1), orig_data=data(byte_en=0xF), bad=name)
    return script


@breaks("orig_data_element")
def _(name):
    script = Script().connect()
    for tag, (size, byte_en) in enumerate(((0, 7), (1, 0xF), (2, 0xFFF2))):
        request = write(tag, cmd=ATOMIC_NR, attr=size << 2, addr=0x100, len=3)
        script.step(req=request, orig_data=data(byte_en=byte_en), bad=name)
    script.step(req=write(4, cmd=ATOMIC_NR, attr=12), orig_data=data(byte_en=5))
    return script


@breaks("orig_data_null")
def _(name):
    script = Script().connect()
    script.step(req={"cmd": MESSAGE, "meta_data": 1}, orig_data=data(data=1 << 511), bad=name)
    return script


def _long_read(script, tag=1, **fields):
    script.step(req=read(tag, len=63, **fields))


@breaks("rd_rsp_gap")
def _(name):
    script = Script().connect()
    _long_read(script)
    script.step(rd_rsp=beat(num_beats=3, last=0))
    script.step(rd_rsp=beat(num_beats=3, offset=1, last=0))
    script.step(bad=name)
    script.step(rd_rsp=beat(num_beats=3, offset=2, last=0))
    script.step(rd_rsp=beat(num_beats=3, offset=3))
    return script


@breaks("rd_rsp_offset")
def _(name):
    script = Script().connect()
    _long_read(script, 1)
    script.step(rd_rsp=beat(num_beats=3, last=0))
    script.step(rd_rsp=beat(num_beats=3, offset=2, last=0), bad=name)
    script.step(rd_rsp=beat(num_beats=3, offset=2, last=0))
    script.step(rd_rsp=beat(num_beats=3, offset=3))
    # One by one: the same twice, and one that is not asked for.
    script.step(req=read(2, len=31))
    script.step(rd_rsp=beat(2, offset=1, last=0))
    script.step(rd_rsp=beat(2, offset=1, last=0), bad=name)
    script.step(rd_rsp=beat(2, offset=3, last=0), bad=name)
    return script


@breaks("rd_rsp_last")
def _(name):
    script = Script().connect()
    _long_read(script, 1)
    for offset in range(3):
        script.step(rd_rsp=beat(num_beats=3, offset=offset, last=0))
    script.step(rd_rsp=beat(num_beats=3, offset=3, last=0), bad=name)
    script.step(req=read(2, len=31))
    script.step(rd_rsp=beat(2, offset=1, last=1), bad=name)
    script.step(req=read(3, len=31))
    script.step(rd_rsp=beat(3, offset=1, last=0))
    script.step(rd_rsp=beat(3, offset=0, last=0), bad=name)
    # A vendor's Response may end where it likes, but not with one left out.
    script.step(req=read(4, cmd=VENDOR_READ))
    script.step(rd_rsp=beat(4, offset=0, last=0))
    script.step(rd_rsp=beat(4, offset=2), bad=name)
    return script


@breaks("rd_rsp_num_beats")
def _(name):
    script = Script().connect()
    script.step(req=read(1, len=31))
    script.step(rd_rsp=beat(num_beats=2, last=0), bad=name)
    script.step(rd_rsp=beat(num_beats=2, offset=1, last=0))
    script.step(rd_rsp=beat(num_beats=2, offset=2))
    _long_read(script, 2)
    script.step(rd_rsp=beat(2, num_beats=3, last=0))
    script.step(rd_rsp=beat(2, num_beats=2, offset=1, last=0), bad=name)
    script.step(rd_rsp=beat(2, num_beats=3, offset=2, last=0))
    script.step(rd_rsp=beat(2, num_beats=3, offset=3))
    return script


@breaks("req_tag")
def _(name):
    script = Script().connect()
    script.step(req=read(5))
    script.step(req=read(5, addr=0x300), bad=name)
    # Another source's tag is another one; the same is free in the cycle after its Response, not before.
    script.step(req=read(5, src_phys_acc_id=8))
    script.step(rd_rsp=beat(5))
    script.step(req=read(5))
    script.step(rd_rsp=beat(5), req=read(5), bad=name)
    return script


@breaks("rd_rsp_tag", "wr_rsp_tag")
def _(name):
    script = Script().connect()
    asked(script, read(1) if name == "rd_rsp_tag" else write(1))
    response = beat if name == "rd_rsp_tag" else answer
    channel = channel_of(name)
    script.step(**{channel: response(2)}, bad=name)
    script.step(**{channel: response(1, dst_phys_acc_id=8)}, bad=name)
    script.step(**{channel: response(1)})
    script.step(**{channel: response(1)}, bad=name)
    return script


@breaks("rd_rsp_channel")
def _(name):
    script = Script().connect()
    asked(script, write(1))
    script.step(rd_rsp=beat(1), bad=name)
    return script


@breaks("wr_rsp_channel")
def _(name):
    script = Script().connect()
    asked(script, read(1))
    script.step(wr_rsp=answer(1), bad=name)
    return script


@breaks("rd_rsp_vc", "wr_rsp_vc")
def _(name):
    script = Script().connect()
    channel = channel_of(name)
    asked(script, read(1) if channel == "rd_rsp" else write(1))
    script.step(**{channel: (beat if channel == "rd_rsp" else answer)(vc=2)}, bad=name)
    return script


@breaks("rd_rsp_status", "wr_rsp_status")
def _(name):
    script = Script().connect()
    channel = channel_of(name)
    reads = channel == "rd_rsp"
    wrong = (1, 4, 5, 7, *range(9, 16 if reads else 15))
    credits = {}
    for status in wrong:
        asked(script, read(status) if reads else write(status))
        script.step(**{channel: (beat if reads else answer)(status, status=status)}, bad=name)
        credits = {(used, 0): (1, 0, 1) for used in (("req",) if reads else ("req", "orig_data"))}
        script.step(returns=credits | {(channel, 0): (1, 0, 1)})
    # A message without an address has no address that could be wrong.
    for status in (3, 6):
        kind = 2 if reads else 0
        request = {"cmd": MESSAGE, "meta_data": kind, "tag": status, **ACCOUNT}
        script.step(req=request, orig_data=data(data=0))
        script.step(**{channel: (beat if reads else answer)(status, status=status)}, bad=name)
    # A vendor's codes are the vendor's.
    asked(script, read(1, cmd=VENDOR_READ) if reads else write(1, cmd=VENDOR_WRITE))
    script.step(**{channel: (beat if reads else answer)(1, status=9)})
    return script


@breaks("rd_rsp_same")
def _(name):
    script = Script().connect()
    script.step(req=read(1, len=31))
    script.step(rd_rsp=beat(offset=1, last=0))
    script.step(rd_rsp=beat(status=2), bad=name)
    return script


@breaks("wr_rsp_isolate")
def _(name):
    script = Script().connect()
    script.step(wr_rsp=answer(status=15), bad=name)
    return script
