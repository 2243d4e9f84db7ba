"""Illegal flits for a TL receiver: what they are made of, and the run that shows what becomes of them.

Every run has legal traffic in front, more of it behind that nobody may see, and after a restart traffic that passes.
"""

from support.tl.receive import CHANNELS, NO_CACHE, OFFLINE, OPENS, Consumer, run
from ualink.config import Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import (
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, message_half_flit

CONFIG = TLConfig(
    rx_cache=NO_CACHE,
    req_cmd=Credits(pool=6, vc=(1, 0, 0, 2)),
    rsp_cmd=Credits(pool=9, vc=(0, 1, 0, 0)),
    req_data=Credits(pool=4, vc=(2, 0, 0, 1)),
    rsp_data=Credits(pool=4, vc=(0, 1, 0, 0)),
)
ZERO = bytes(32)
POISON = message_half_flit(0x20)
TAGS = bytes(range(1, 33))


def control(*fields):
    return encode_control_half_flit(fields)


def raw(**sectors):
    """A half-flit with 32-bit values in the sectors s0 to s7."""
    return b"".join(sectors.get(f"s{n}", 0).to_bytes(4, "little") for n in range(8))


def read(tag=1, **members):
    return UncompressedRequest(cmd=3, tag=tag, **{"pool": 1, **members})


def write(beats=1, cmd=0x29, **members):
    return UncompressedRequest(cmd=cmd, num_beats=beats - 1, **{"pool": 1, **members})


def write_response(**members):
    return CompressedResponse(**{"pool": 1, **members})


def compressed(pair, *, cmd=0, addr=0, len=0):
    """A half-flit with one Compressed Request, legal or not."""
    value = 3 << 60 | cmd << 57 | len << 39 | addr << 22
    return raw(**{f"s{2 * pair}": value & 0xFFFFFFFF, f"s{2 * pair + 1}": value >> 32})


def flow(lower=ZERO, upper=ZERO, message=0):
    return lower + upper, message


DATA = flow(b"\x77" * 32, b"\x99" * 32)

# Fields or lengths that no Control half-flit may have: name: (error, half-flit).
HALF_FLITS = {
    **{
        f"ftype {code:x} in sector {sector}": (
            ReceiveError.FTYPE,
            raw(**{f"s{sector}": code << 28, f"s{7 - sector}": 0}),
        )
        for code, sector in zip(range(6, 16), (7, 6, 5, 4, 3, 2, 1, 0, 7, 3))
    },
    **{
        f"request of four sectors in sector {sector}": (ReceiveError.FOOTPRINT, raw(**{f"s{sector}": 1 << 28}))
        for sector in (6, 5, 4, 2, 1, 0)
    },
    **{
        f"field {code} of two sectors in sector {sector}": (ReceiveError.FOOTPRINT, raw(**{f"s{sector}": code << 28}))
        for code in (2, 3)
        for sector in (6, 4, 2, 0)
    },
    **{f"compressed command {cmd}": (ReceiveError.COMPRESSED_CMD, compressed(2, cmd=cmd)) for cmd in (1, 2, 3, 5, 7)},
    **{
        f"compressed request from quarter {quarter} with length {length}": (
            ReceiveError.BLOCK_CROSSING,
            compressed(1, cmd=cmd, addr=quarter, len=length),
        )
        for cmd, quarter, length in ((0, 1, 3), (4, 2, 2), (6, 3, 1))
    },
}


class Late(Consumer):
    """Not ready before cycle ``start``."""

    def __init__(self, start):
        super().__init__("free")
        self.start = start

    def readies(self):
        self.start -= 1
        return dict.fromkeys(CHANNELS, int(self.start < 0))


def late(code):
    """Errors found when the field leaves the catch buffer; those before it in the same flit may go."""
    return code.name.endswith("CREDIT") or code.name.startswith("ADDRESS_CACHE")


def tagged(authentication, *fields):
    return flow(control(*fields), TAGS if authentication else ZERO)


def again(authentication):
    """Flits after the restart: a Request with data and a Write Response."""
    request, response = write(tag=0x331), write_response(tag=0x332)
    if authentication:
        return [flow(control((4, request), (0, response)), TAGS), flow(b"\x31" * 32, b"\x32" * 32)]
    return [flow(control((4, request)), b"\x31" * 32), flow(control((0, response)), b"\x32" * 32)]


def check_illegal(code, flits, authentication=False, *, config=CONFIG, blocked=False):
    """The last of ``flits`` raises ``code``; ``blocked``: the consumer takes nothing before the restart."""
    gap = [None] * 12
    # Idle cycles do not retire anything in the account of the rate limit, so nothing precedes the cases that count.
    counting = code.name.endswith(("RATE", "CREDIT"))
    before = [tagged(authentication, (4, read(tag=0x111)), (0, UncompressedResponse(tag=0x112, pool=1)))]
    before = [] if counting else [*before, *[flow()] * 8]
    after = [
        tagged(authentication, (4, read(tag=0x221)), (0, FlowControl(req_cmd=Credit(3)))),
        flow(message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE), message=1),
        *[tagged(authentication, (0, write_response(tag=0x222)), (1, write_response(rd_wr=1, tag=0x223)))] * 3,
    ]
    new = again(authentication)
    cleared = [None] * (config.rx_cache.rows + OPENS)
    stream = [*before, *flits, *after, *gap, OFFLINE, OFFLINE, *cleared, *new]
    restart = len(stream) - len(new)
    consumer = Late(restart if blocked else 0)
    got = run(config, stream, consumer=consumer, drain=20, authentication=int(authentication))

    illegal = len(before) + len(flits) - 1
    [(cycle, found)] = got.errors
    assert found == code
    assert illegal + 3 <= cycle <= illegal + (10 if late(code) else 3)
    assert got.log[:2] == (code, 1)

    def tags(channel, first, end):
        return [beat["tag"] for cycle, beat in getattr(got, channel) if first <= cycle < end]

    if before:
        assert tags("req", 0, restart) == [0x111]
        assert tags("wr_rsp", 0, restart) == [0x112]
    hidden = {0x221, 0x222, 0x223}
    assert not hidden & {tag for channel in ("req", "wr_rsp", "rd_rsp") for tag in tags(channel, 0, restart)}
    if not late(code):
        assert not got.fc
        assert not any(done for done, _ in got.peer)
    assert (tags("req", restart, 999), tags("wr_rsp", restart, 999)) == ([0x331], [0x332])
    [(_, beat)] = [(cycle, beat) for cycle, beat in got.orig_data if cycle >= restart]
    assert beat["data"] == int.from_bytes(b"\x31" * 32 + b"\x32" * 32, "little")
    # The Response stands in the lower sector, so it has the first tag.
    expected = (TAGS[8:16], TAGS[:8]) if authentication else (bytes(8), bytes(8))
    for channel, tag in zip(("req", "wr_rsp"), expected):
        assert getattr(got, channel)[-1][1]["auth_tag"] == int.from_bytes(tag, "little")
