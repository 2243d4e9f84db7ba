"""Scripts that break a rule of Responses, or of a Response with its Request."""

from support.upli.script import Script
from support.upli.violations.common import (
    ACCOUNT,
    MESSAGE,
    VENDOR_READ,
    VENDOR_WRITE,
    answer,
    asked,
    beat,
    breaks,
    channel_of,
    data,
    read,
    write,
)


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
