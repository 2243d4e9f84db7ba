"""Flits on signals: what moves is read, and what no stream does is found."""

import pytest

from ualink_sim.bfm.tl.bus import FlitReader, TLBus
from ualink_sim.bfm.tl.rules import TLProtocolError


class Signal:
    """A signal without a simulator."""

    def __init__(self, name="", number=0):
        self._name = name
        self.number = number

    @property
    def value(self):
        return self.number if isinstance(self.number, str) else f"{self.number:b}"


class Stream:
    """The four signals of a stream and a reader of them."""

    def __init__(self, with_ready=True):
        self.valid, self.ready, self.data, self.message = map(Signal, ("tx_valid", "tx_ready", "tx_data", "tx_message"))
        self.reader = FlitReader(self.valid, self.ready if with_ready else None, self.data, self.message)

    def cycle(self, valid, ready, data=0, message=0, told=None):
        self.valid.number, self.ready.number, self.data.number, self.message.number = valid, ready, data, message
        return self.reader.tick(told)


@pytest.mark.req("TL-003", "TL-055")
def test_a_flit_moves_when_both_are_ready():
    stream = Stream()
    assert stream.cycle(0, 1, data=5) is None
    assert stream.cycle(1, 0, data=5, message=2) is None
    assert stream.cycle(1, 1, data=5, message=2) == ((5).to_bytes(64, "little"), 2)
    assert stream.cycle(1, 1, data=1 << 511, message=1) == ((1 << 511).to_bytes(64, "little"), 1)
    assert stream.reader.flits == 2


def test_ready_may_be_absent_or_told():
    assert Stream(with_ready=False).cycle(1, 0, data=7)
    stream = Stream()
    assert stream.cycle(1, 1, data=7, told=False) is None
    assert stream.cycle(1, 0, data=7, told=True)


@pytest.mark.req("TL-217")
@pytest.mark.parametrize("after", [{"valid": 0}, {"valid": 1, "data": 6}, {"valid": 1, "data": 5, "message": 1}])
def test_a_flit_must_stay_until_it_is_taken(after):
    stream = Stream()
    stream.cycle(1, 0, data=5)
    with pytest.raises(TLProtocolError, match="flit 1: stable"):
        stream.cycle(ready=1, **after)


def test_after_a_reset_another_flit_may_be_offered():
    stream = Stream()
    stream.cycle(1, 0, data=5)
    stream.reader.reset()
    assert stream.cycle(1, 1, data=6)


@pytest.mark.parametrize("name", ["valid", "ready", "data", "message"])
def test_signals_must_be_known(name):
    stream = Stream()
    stream.cycle(1, 1)
    getattr(stream, name).number = "x"
    with pytest.raises(TLProtocolError, match=f"flit 2: known: .*tx_{name} is x"):
        stream.reader.tick()


class Dut:
    """Ports by name; those of ``without`` do not exist."""

    def __init__(self, *without):
        self._without = without

    def __getattr__(self, name):
        if name in self._without:
            raise AttributeError(name)
        return name


def test_signals_are_found_by_name():
    bus = TLBus.from_prefix(Dut(), "port0")
    assert (bus.tx_valid, bus.tx_ready, bus.tx_data) == (
        "port0__tx_flit__valid",
        "port0__tx_flit__ready",
        "port0__tx_flit__data",
    )
    assert (bus.tx_message, bus.rx_ready, bus.online) == (
        "port0__tx_flit__message",
        "port0__rx_flit__ready",
        "port0__online",
    )
    bare = TLBus.from_names(Dut("RX_FLIT_READY", "ONLINE"), lambda path: path.replace(".", "_").upper())
    assert bare.rx_valid == "RX_FLIT_VALID" and bare.rx_ready is None and bare.online is None
    with pytest.raises(AttributeError, match="rx_flit__data"):
        TLBus.from_prefix(Dut("rx_flit__data"))
