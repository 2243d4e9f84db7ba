"""Scripts that break a rule of Requests and of the data that come with them."""

from support.upli.script import Script
from support.upli.violations.common import (
    ACCOUNT,
    ALL,
    ATOMIC_NR,
    ATOMIC_R,
    FULL,
    MESSAGE,
    VENDOR_WRITE,
    WRITE,
    breaks,
    data,
    read,
    write,
)


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
