"""The UPLI and firmware sides of the device of the example: all that is particular to it stands here."""

from collections import deque

from amaranth.hdl import Value
from amaranth.lib.wiring import In
from cocotb.triggers import FallingEdge, ReadOnly
from tl_link_partner.transaction_layer_top import CONFIG, TransactionLayerTop

from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink_sim.bfm.tl.options import TLOptions
from ualink_sim.model.tl.reassembly import ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse
from ualink_sim.model.upli.transactions import OrigDataBeat, RdRspBeat, Request, WrRspBeat

BEATS = {"req": Request, "orig_data": OrigDataBeat, "rd_rsp": RdRspBeat, "wr_rsp": WrRspBeat}
FLAGS = ("last", "error", "data_error")


def options_of(config=CONFIG, **changes):
    """What the partner and the checker must know of a transaction layer with ``config``."""
    buffers = {}
    for kind in ("req_cmd", "rsp_cmd", "req_data", "rsp_data"):
        credits = getattr(config, kind)
        buffers |= {(kind, None): credits.pool} | {(kind, vc): count for vc, count in enumerate(credits.vc)}
    return TLOptions(
        device=config.device,
        tx_rows=config.tx_cache.rows,
        tx_ways=config.tx_cache.ways,
        rx_rows=config.rx_cache.rows,
        rx_ways=config.rx_cache.ways,
        shared_data_buffer=config.shared_data_buffer,
        uwm_has_byte_enables=config.uwm_has_byte_enables,
        byte_enable_slots=config.byte_enable_slots,
        buffers=buffers,
        **changes,
    )


def to_word(channel, beat):
    """A beat of the model as the payload of a stream."""
    word = 0
    for name, field in CHANNEL_LAYOUTS[channel]:
        value = getattr(beat, name)
        word |= (int.from_bytes(value, "little") if isinstance(value, bytes) else int(value)) << field.offset
    return word


def to_beat(channel, word):
    """The payload of a stream as a beat of the model."""
    members = {name: word >> field.offset & (1 << field.width) - 1 for name, field in CHANNEL_LAYOUTS[channel]}
    if "data" in members:
        members["data"] = members["data"].to_bytes(64, "little")
    return BEATS[channel](**{name: bool(value) if name in FLAGS else value for name, value in members.items()})


def reader(handle):
    """A function that gives the value of a signal, as cheaply as cocotb can."""
    raw = handle._handle.get_signal_val_binstr
    return lambda: int(raw(), 2)


class _Channel:
    """One stream of beats to the device and the same one from it."""

    def __init__(self, dut, name):
        self._name = name
        self._tx_valid, self._tx_payload = getattr(dut, f"tx_{name}__valid"), getattr(dut, f"tx_{name}__payload")
        self._tx_ready = reader(getattr(dut, f"tx_{name}__ready"))
        self._rx_ready = getattr(dut, f"rx_{name}__ready")
        self._rx_valid, self._rx_payload = (reader(getattr(dut, f"rx_{name}__{end}")) for end in ("valid", "payload"))
        self.waiting, self.received = deque(), deque()

    def drive(self, ready):
        """What the device sees at the coming edge."""
        self._tx_valid.value = int(bool(self.waiting))
        if self.waiting:
            self._tx_payload.value = to_word(self._name, self.waiting[0])
        self._rx_ready.value = int(ready)
        self._taking = ready

    def sample(self):
        """What moves with it."""
        if self.waiting and self._tx_ready():
            self.waiting.popleft()
        if self._taking and self._rx_valid():
            self.received.append(to_beat(self._name, self._rx_payload()))

    def clear(self):
        """Nothing is under way."""
        self.waiting.clear()
        self.received.clear()


class Device:
    """Sends items into the device and gathers in ``received`` those that come out; ``ready()``: a beat is taken."""

    def __init__(self, dut, ready=lambda: True):
        self.dut = dut
        self._ready = ready
        top = TransactionLayerTop()
        paths = top.signature.flatten(top)
        self._controls = {
            "__".join(map(str, path)): Value.cast(value).init
            for path, member, value in paths
            if member.flow == In and path[0] == "control"
        }
        self._channels = {name: _Channel(dut, name) for name in BEATS}
        self.received = []
        self.reset()

    def reset(self):
        """Control inputs at their reset values, nothing under way."""
        for name, value in self._controls.items():
            getattr(self.dut, name).value = value
        self.restart()

    def restart(self):
        """Nothing is under way."""
        for channel in self._channels.values():
            channel.clear()
            channel.drive(False)

    def set(self, **control):
        """Change what firmware decides."""
        for name, value in control.items():
            getattr(self.dut, f"control__{name}").value = value

    def status(self, name):
        """A member of the transaction layer's status."""
        return int(getattr(self.dut, f"status__{name}").value)

    def send(self, item):
        """Queue a Request with its data, a Read Response or a Write Response."""
        if isinstance(item, ReceivedRequest):
            self._channels["req"].waiting.append(item.request)
            self._channels["orig_data"].waiting.extend(item.beats)
        elif isinstance(item, ReceivedReadResponse):
            self._channels["rd_rsp"].waiting.extend(item.beats)
        else:
            self._channels["wr_rsp"].waiting.append(item.beat)

    async def start(self, clock, reset):
        """Live, forever: drive on the falling edge, look when the device has settled."""
        while True:
            await FallingEdge(clock)
            if int(reset.value):
                self.reset()
                continue
            for channel in self._channels.values():
                channel.drive(self._ready())
            await ReadOnly()
            for channel in self._channels.values():
                channel.sample()
            self._assemble()

    def _assemble(self):
        """Beats to items; the k-th Request with data owns the next beats of data."""
        got = {name: channel.received for name, channel in self._channels.items()}
        while got["req"]:
            request = got["req"][0]
            beats = request.num_beats + 1 if request.cmd & 0x20 else 0
            if len(got["orig_data"]) < beats:
                break
            got["req"].popleft()
            self.received.append(ReceivedRequest(request, tuple(got["orig_data"].popleft() for _ in range(beats))))
        while got["rd_rsp"] and len(got["rd_rsp"]) > got["rd_rsp"][0].num_beats:
            beats = got["rd_rsp"][0].num_beats + 1
            self.received.append(ReceivedReadResponse(tuple(got["rd_rsp"].popleft() for _ in range(beats))))
        while got["wr_rsp"]:
            self.received.append(ReceivedWriteResponse(got["wr_rsp"].popleft()))
