"""What scripts that break a rule of the UPLI checker are made of."""

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
