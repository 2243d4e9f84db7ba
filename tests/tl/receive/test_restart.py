"""The TL receiver when the link comes back while a transfer of the session before is still going to UPLI."""

import pytest

from support.tl.receive import CHANNELS, NO_CACHE, OFFLINE, RECEIVE, Consumer, run
from support.tl.traffic import Expected
from ualink.config import Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import CompressedResponse, Credit, FlowControl, UncompressedRequest
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Issue, TransmitSequence, message_half_flit

pytestmark = RECEIVE

CONFIG = TLConfig(
    rx_cache=NO_CACHE,
    req_cmd=Credits(pool=2),
    rsp_cmd=Credits(pool=2),
    req_data=Credits(pool=8),
    rsp_data=Credits(pool=8),
)
COMPLETE = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE, bytes([1]) * 31)
STALL = 30


def write(tag):
    data, enables = bytes(tag + n for n in range(64)) * 4, bytes([tag]) * 32
    return Issue(4, UncompressedRequest(cmd=0x28, num_beats=3, tag=tag, pool=1), data, enables)


def read(tag):
    data = bytes(128 + tag + n for n in range(64)) * 4
    return Issue(0, CompressedResponse(rd_wr=1, len=3, tag=tag, pool=1), data)


class Session:
    """Flits of one session, and what they must give."""

    def __init__(self):
        self.sequence, self.flits, self.expected = TransmitSequence(), [], Expected()

    def send(self, *issues, **messages):
        self.flits.append(self.sequence.send(issues, **messages))
        while self.sequence.owed:
            self.flits.append(self.sequence.send())
        for issue in issues:
            self.expected.add(issue)


class Held(Consumer):
    """Takes one beat of ``channel``, then none before cycle ``end``; of the other channels all there is."""

    def __init__(self, channel, end):
        super().__init__("free")
        self.channel, self.end, self.cycle, self.began = channel, end, -1, False

    def readies(self):
        self.cycle += 1
        held = self.began and self.cycle < self.end
        return {channel: int(channel != self.channel or not held) for channel in CHANNELS}

    def saw(self, channel, beat):
        self.began |= channel == self.channel


def restart(channel, new, last=()):
    """The link goes down while a burst on ``channel`` has begun and another waits, and comes up with ``new`` flits;
    ``last`` are flits before it goes down.

    Gives the old session, the cycle of the rise, the cycle in which the burst goes on, and the result of the run.
    """
    old = Session()
    old.send(read(1), write(2))
    old.send(read(3), write(4))
    before = [*old.flits, *[None] * 6, *last, *[OFFLINE] * 3]
    up, end = len(before), len(before) + STALL
    flits = [*before, *new.flits, *[None] * (STALL + 10 - len(new.flits))]
    # The new session has been given credits by now.
    later = Session()
    later.send(read(5), write(6))
    got = run(CONFIG, [*flits, *later.flits], consumer=Held(channel, end), drain=20)
    return old.expected, later.expected, up, end, got


@pytest.mark.req("TL-221", "TL-039", "TL-210")
@pytest.mark.parametrize("channel", ["orig_data", "rd_rsp"])
def test_credits_and_messages_count_while_an_old_burst_is_finished(channel):
    new = Session()
    new.send(Issue(0, FlowControl(req_cmd=Credit(3), rsp_data=Credit(2, vc=1))))
    new.send(upper_message=COMPLETE)
    old, later, up, end, got = restart(channel, new)
    assert got.errors == []
    assert [fc["req_cmd"] for fc in got.fc[-1:]] == [(3, 0, 0, 0, 0)]
    assert got.fc[-1]["rsp_data"] == (0, 0, 2, 0, 0)
    assert got.peer[up:][:8] == [(0, 0)] * 4 + [(1, 1)] * 4
    # Nothing is announced before the three beats left of the burst have gone.
    assert got.buffers_free[up : end + 10] == [0] * (STALL + 4) + [1] * 6
    # The burst is finished; the transfer behind it is gone with its session.
    burst = [beat for beat in getattr(old, channel) if beat["data"] == getattr(old, channel)[0]["data"]]
    assert got.beats(channel) == burst + getattr(later, channel)
    assert got.beats("req")[-1] == later.req[0]
    assert got.beats("wr_rsp") == []


@pytest.mark.req("TL-221", "TL-150", "TL-220")
@pytest.mark.parametrize("channel", ["orig_data", "rd_rsp"])
@pytest.mark.parametrize(
    "issue, error",
    [(write(9), ReceiveError.REQ_CMD_CREDIT), (read(9), ReceiveError.RSP_CMD_CREDIT)],
)
def test_a_field_before_the_new_credits_is_an_error(channel, issue, error):
    new = Session()
    new.send(issue)
    old, _, up, _, got = restart(channel, new)
    assert got.errors == [(up + 3, error)]
    burst = [beat for beat in getattr(old, channel) if beat["data"] == getattr(old, channel)[0]["data"]]
    assert got.beats(channel) == burst
    assert all(beat["tag"] < 5 for beat in got.beats("req"))


@pytest.mark.req("TL-221", "TL-087", "TL-088", "TL-210", "TL-220")
@pytest.mark.parametrize("channel", ["orig_data", "rd_rsp"])
@pytest.mark.parametrize("lost", [0, 3])
def test_a_burst_is_finished_over_an_error_and_the_restart(channel, lost):
    """Of the burst that has begun everything is there; ``lost`` flits come behind the one with the error."""
    new = Session()
    new.send(Issue(0, FlowControl(req_cmd=Credit(3))))
    bad = bytes([0xFF]) * 64, 0
    other = Session()
    other.send(read(11))
    old, later, _, _, got = restart(channel, new, [bad, *other.flits[:lost], *[None] * 3])
    assert [code for _, code in got.errors] == [ReceiveError.FTYPE]
    assert got.log[:2] == (ReceiveError.FTYPE, 1)
    burst = [beat for beat in getattr(old, channel) if beat["data"] == getattr(old, channel)[0]["data"]]
    assert got.beats(channel) == burst + getattr(later, channel)
    assert got.beats("req")[-1] == later.req[0]
    assert not any(beat["tag"] == 11 for beat in got.beats("rd_rsp"))
