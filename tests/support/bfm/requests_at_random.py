"""Random transactions of every command, as an Originator may issue them, and Responses that a Completer may give."""

from ualink_sim.bfm.upli.requests import data_beats, model_request
from ualink_sim.bfm.upli.transaction import Transaction
from ualink_sim.model.upli import transactions as upli

COMMANDS = (*upli.ReqCmd, 0x08, 0x0F, 0x2C, 0x2F, 0x3C, 0x3F)
VENDOR_MESSAGE = 0xF5


def random_transaction(rng, port, *, vcs=(0, 1, 2, 3)):
    """Any legal Request with any data, errors included."""
    cmd = rng.choice(COMMANDS)
    addr, length, beats = rng.getrandbits(55) << 2, rng.randrange(64), rng.randrange(4)
    meta_data = (
        rng.choice((0, 1, 2, 3, VENDOR_MESSAGE)) if cmd == upli.ReqCmd.UPLI_WRITE_MESSAGE else rng.getrandbits(8)
    )
    if cmd in (upli.ReqCmd.READ, upli.ReqCmd.WRITE):
        length = rng.randrange(64 - (addr >> 2 & 0x3F))
        beats = upli.beats_of(addr, length) - 1 if cmd == upli.ReqCmd.WRITE else 0
    elif cmd == upli.ReqCmd.WRITE_FULL:
        beats = rng.randrange(4 - (addr >> 6 & 3))
        addr, length = addr & ~0x3F, 16 * beats + 15
    elif cmd in (upli.ReqCmd.ATOMIC_R, upli.ReqCmd.ATOMIC_NR):
        addr, length, beats = addr & ~0x3F, 15, 0
    elif cmd == upli.ReqCmd.UPLI_WRITE_MESSAGE and meta_data != VENDOR_MESSAGE:
        beats = 0
    request = {
        "cmd": int(cmd),
        "addr": addr,
        "len": length,
        "num_beats": beats,
        "meta_data": meta_data,
        "vc": rng.choice(vcs),
        "asi": rng.getrandbits(2),
        "attr": rng.getrandbits(8),
        "auth_tag": rng.getrandbits(64),
        "src_phys_acc_id": rng.randrange(3),
        "dst_phys_acc_id": rng.getrandbits(10),
    }
    count = data_beats(request)
    null = cmd == upli.ReqCmd.UPLI_WRITE_MESSAGE and meta_data != VENDOR_MESSAGE
    data = [
        {
            "data": 0 if null else rng.getrandbits(512),
            "byte_en": _enables(rng, request, offset),
            "offset": offset,
            "last": int(offset == count - 1),
            "error": 0,
            "vc": request["vc"],
        }
        for offset in range(count)
    ]
    return Transaction(request, data, port=port)


def _enables(rng, request, offset):
    """Byte enables that beat ``offset`` of ``request`` may have."""
    cmd = request["cmd"]
    if cmd == upli.ReqCmd.WRITE_FULL:
        return upli.ALL_LANES
    if cmd == upli.ReqCmd.WRITE:
        return rng.getrandbits(64) & upli.lane_masks(request["addr"], request["len"])[offset]
    if cmd in (upli.ReqCmd.ATOMIC_R, upli.ReqCmd.ATOMIC_NR):
        size = upli.element_bytes(request["attr"])
        return sum(rng.getrandbits(1) * ((1 << size) - 1) << lane for lane in range(0, 64, size))
    return rng.getrandbits(64)


def random_response(rng, request):
    """Channel and beats of a legal Response to the Request beat ``request``."""
    cmd = request["cmd"]
    vendor_atomic = cmd >> 2 == 0b1111
    either = vendor_atomic or (cmd == upli.ReqCmd.UPLI_WRITE_MESSAGE and request["meta_data"] == VENDOR_MESSAGE)
    reads = rng.random() < 0.5 if either else upli.responds_on_rd_rsp(model_request(request))
    common = {
        "tag": request["tag"],
        "status": rng.choice(_statuses(request, reads)),
        "src_phys_acc_id": request["dst_phys_acc_id"],
        "dst_phys_acc_id": request["src_phys_acc_id"],
        "vc": request["vc"],
        "auth_tag": rng.getrandbits(64),
    }
    if not reads:
        return "wr_rsp", [common]
    count = rng.randrange(1, 5)
    if cmd == upli.ReqCmd.READ:
        count = upli.beats_of(request["addr"], request["len"])
    elif cmd == upli.ReqCmd.ATOMIC_R:
        count = 1
    return "rd_rsp", [
        {
            **common,
            "num_beats": count - 1,
            "data": rng.getrandbits(512),
            "offset": offset,
            "last": int(offset == count - 1),
            "data_error": 0,
        }
        for offset in range(count)
    ]


def _statuses(request, reads):
    """What a Completer may answer ``request`` with, on RdRsp (``reads``) or WrRsp."""
    if upli.is_vendor_defined(request["cmd"]):
        return range(16 if reads else 15)
    if request["cmd"] == upli.ReqCmd.UPLI_WRITE_MESSAGE:
        return (0, 2, 8)
    return (0, 0, 2, 3, 6, 8)


def shuffled(rng):
    """For ``UPLICompleter.single_beat``: a random order half the time."""

    def order(beats):
        return rng.sample(range(beats), beats) if rng.random() < 0.5 else None

    return order
