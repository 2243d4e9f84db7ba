"""Transaction layers back to back with traffic of their own, restarts of the link, and taps on all that passes."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from support.dl.soak_traffic import RATE_BITS
from support.tl.soak_tap import CYCLE_BITS, Tap
from support.tl.soak_traffic import (
    RATES,
    Dice,
    Mood,
    OrigDataSource,
    ReadResponseSource,
    RequestSource,
    WriteResponseSource,
)
from ualink.config import TLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.lib.interleave import Interleaver
from ualink.tl.control import TLControlSignature
from ualink.tl.layer import TransactionLayer
from ualink.tl.receive.error import ReceiveError
from ualink.upli.channels import CHANNEL_LAYOUTS

__all__ = ["CHANNELS", "ENDS", "ONLINE_LAYOUT", "TAPS", "SoakSettingsSignature", "SoakTop"]

ENDS = 2
CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")
SOURCES = {
    "req": RequestSource,
    "orig_data": OrigDataSource,
    "rd_rsp": ReadResponseSource,
    "wr_rsp": WriteResponseSource,
}

ONLINE_LAYOUT = data.StructLayout({"online": 1})
TAPS = {
    **{f"{way}_{channel}": CHANNEL_LAYOUTS[channel] for way in ("tx", "rx") for channel in CHANNELS},
    "flit": TL_FLIT_LAYOUT,
    "online": ONLINE_LAYOUT,
}
"""Taps of each end: beats accepted and given, flits received, changes of ``online``. The file of tap ``name`` of end
``n`` is ``name_n``."""


class SoakSettingsSignature(wiring.Signature):
    """What a case sets; chances of 2**16 if they are not single bits.

    Members
    -------
    seed, steady, vc_mask, and all of ``RATES`` : as in ``soak_traffic.Source``.
    take : that a beat on offer is taken. stall : that a flit is not.
    coupled : the first beat of originator data is taken with its Request, as a UPLI agent does.
    restart : per cycle, of 2**24: that the link restarts.
    drain : no new transfer begins, everything is taken, the link stays up.
    clear, invalidate : per cycle: that the Tx Address Cache is cleared, that an entry of it is invalidated.
    """

    def __init__(self):
        super().__init__(
            {
                "seed": Out(32),
                **{name: Out(RATE_BITS) for name in (*RATES, "take", "stall", "restart", "clear", "invalidate")},
                "steady": Out(1),
                "vc_mask": Out(2, init=3),
                "coupled": Out(1),
                "drain": Out(1),
            }
        )


class Surroundings(wiring.Component):
    """Everything around the two layers of one port.

    Members
    -------
    settings : of traffic and link; control : of both layers.
    here : this cycle is one of the port.
    open, flush : of the taps.
    end_0, end_1 : the layers.
    errors : sticky, per end, from bit 0 on: a wrong return of credits, an error of the receiver, of the cache, an
        unknown message, half a beat poisoned. last_error : of the receiver.
    unsteady : sticky, per end, bit n: an offer of channel n was withdrawn or changed, or a burst of it had a gap, bit
        4: a flit.
    """

    def __init__(self, ends: list[wiring.Signature], port: int, latency: int):
        self._port, self._latency = port, latency
        super().__init__(
            {
                "settings": In(SoakSettingsSignature()),
                "control": In(TLControlSignature()),
                "here": In(1),
                "open": In(1),
                "flush": In(1),
                **{f"end_{n}": In(signature) for n, signature in enumerate(ends)},
                "errors": Out(5).array(ENDS),
                "last_error": Out(ReceiveError).array(ENDS),
                "unsteady": Out(5).array(ENDS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ends = self.end_0, self.end_1
        cycle = Signal(CYCLE_BITS)
        m.d.sync += cycle.eq(cycle + 1)
        online = self._restarts(m)
        for n, end in enumerate(ends):
            m.d.comb += end.online.eq(online[n])
            for channel in CHANNELS:
                self._traffic(m, n, end, channel)
            self._control(m, n, end)
            self._wire(m, n, end, ends[1 - n], online)
            status = end.status
            told = Cat(
                status.transmit_error,
                status.receive_error_valid,
                status.cache_error,
                status.unknown_messages.any(),
                status.half_poisoned_beats.any(),
            )
            m.d.sync += [self.errors[n].eq(self.errors[n] | told), self.last_error[n].eq(status.last_error)]
            was_online = Signal(name=f"was_online_{n}")
            m.d.sync += was_online.eq(online[n])
            streams = {
                f"{way}_{channel}": getattr(end, f"{way}_{channel}") for way in ("tx", "rx") for channel in CHANNELS
            }
            events = {
                **{name: (stream.valid & stream.ready, stream.p) for name, stream in streams.items()},
                "flit": (end.rx_flit.valid & online[n], end.rx_flit.p),
                "online": (online[n] ^ was_online, online[n]),
            }
            for name, (valid, payload) in events.items():
                m.submodules[f"tap_{name}_{n}"] = tap = Tap(TAPS[name], f"{name}_{n}_{self._port}")
                m.d.comb += [
                    tap.open.eq(self.open),
                    tap.flush.eq(self.flush),
                    tap.cycle.eq(cycle),
                    tap.valid.eq(valid & self.here),
                    tap.payload.eq(payload),
                ]
            for k, channel in enumerate(CHANNELS):
                self._watch(m, self.unsteady[n][k], streams[f"rx_{channel}"], online[n], channel)
            self._watch(m, self.unsteady[n][4], end.tx_flit, online[n])
        return m

    def _watch(self, m, unsteady, stream, online, channel=None):
        """What is on offer stays so until it is taken, and the beats of a burst follow each other without a gap."""
        before = Signal.like(stream.p, reset_less=True, name="before")
        waits, follows = Signal(name="waits"), Signal(name="follows")
        m.d.sync += [before.eq(stream.p), waits.eq(stream.valid & ~stream.ready & online)]
        if channel == "orig_data":
            # A Request that is taken later than its first beat makes the others wait.
            goes_on = ~stream.p.last & self.settings.coupled
            m.d.sync += follows.eq(Mux(stream.valid & stream.ready, goes_on, follows))
        elif channel == "rd_rsp":
            goes_on = (stream.p.num_beats != 0) & ~stream.p.last
            m.d.sync += follows.eq(Mux(stream.valid & stream.ready, goes_on, follows))
        changed = Value.cast(before) != Value.cast(stream.p)
        with m.If((waits & online & (~stream.valid | changed)) | (follows & ~stream.valid)):
            m.d.sync += unsteady.eq(1)

    def _restarts(self, m):
        """Levels ``online`` of both ends: they fall and rise some cycles apart; both are low for a while."""
        dice = Dice(m, self.settings.seed, 0x0EF1 + self._port, 1, "restart")
        online = Signal(ENDS)
        due, wait = Signal(), Signal(6)
        apart, second = dice.bits(5), dice.bits(1)
        chance = (dice.bits(24) < self.settings.restart) & ~self.settings.drain
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.Elif(due):
            with m.If(online == 3):
                m.d.sync += [online.eq(Mux(second, 1, 2)), wait.eq(apart)]
            with m.Else():
                m.d.sync += [online.eq(0), due.eq(0), wait.eq(apart + 20)]
        with m.Elif(online == 0):
            m.d.sync += [online.eq(Mux(second, 1, 2)), wait.eq(apart)]
        with m.Elif(online != 3):
            m.d.sync += online.eq(3)
        with m.Else():
            m.d.sync += due.eq(chance)
        return online

    def _traffic(self, m, n, end, channel):
        settings = self.settings
        salt = 0x0100_0000 * (2 * self._port + n + 1) + 0x0010_0000 * CHANNELS.index(channel) + 0x5EED
        m.submodules[f"source_{channel}_{n}"] = source = SOURCES[channel](salt)
        m.submodules[f"taking_{channel}_{n}"] = taking = Mood(salt ^ 0xAA)
        m.d.comb += [getattr(source, name).eq(getattr(settings, name)) for name in RATES]
        to, given = getattr(end, f"tx_{channel}"), getattr(end, f"rx_{channel}")
        m.d.comb += [
            source.seed.eq(settings.seed),
            source.steady.eq(settings.steady),
            source.vc_mask.eq(settings.vc_mask),
            # Data go on: Requests that have been accepted still need theirs.
            source.stop.eq(settings.drain & (channel != "orig_data")),
            to.valid.eq(source.beat.valid),
            to.p.eq(source.beat.p),
            source.beat.ready.eq(to.ready),
            taking.seed.eq(settings.seed),
            taking.steady.eq(settings.steady),
            taking.rate.eq(settings.take),
            taking.wide.eq(settings.drain),
            given.ready.eq(taking.gate),
        ]
        if channel == "orig_data":
            with m.If(settings.coupled & (given.p.offset == 0)):
                m.d.comb += given.ready.eq(end.rx_req.ready)

    def _control(self, m, n, end):
        control, settings = end.control, self.settings
        dice = Dice(m, settings.seed, 0x0C7A + 16 * self._port + n, 1, f"control_{n}")
        for name in control.signature.members:
            m.d.comb += getattr(control, name).eq(getattr(self.control, name))
        m.d.comb += [
            # Management clears Drop Mode as soon as a link has gone down.
            control.clear_drop.eq(1),
            control.clear_tx_cache.eq(self.control.clear_tx_cache | dice.chance(settings.clear)),
            control.invalidate_tx_entry.eq(dice.chance(settings.invalidate)),
            control.invalidate_row.eq(dice.bits(3)),
            control.invalidate_way.eq(dice.bits(2)),
        ]

    def _wire(self, m, n, near, far, online):
        """From end ``n``: flits pass while both ends are online; what is under way to an end offline is lost."""
        dice = Dice(m, self.settings.seed, 0x71CE + 16 * self._port + n, 1, f"wire_{n}")
        open_ = Signal(name=f"open_{n}")
        m.d.comb += open_.eq(online.all() & ~(dice.bits(RATE_BITS) < self.settings.stall))
        m.d.comb += near.tx_flit.ready.eq(open_)
        payload, valid = near.tx_flit.p, near.tx_flit.valid & open_
        for k in range(self._latency):
            held = Signal(TL_FLIT_LAYOUT, name=f"wire_{n}_{k}", reset_less=True)
            held_valid = Signal(name=f"wire_valid_{n}_{k}")
            m.d.sync += [held.eq(payload), held_valid.eq(valid & online.all())]
            payload, valid = held, held_valid
        m.d.comb += [far.rx_flit.p.eq(payload), far.rx_flit.valid.eq(valid)]


class SoakTop(wiring.Component):
    """Two transaction layers, each shared by ``ports`` ports slot by slot, with the surroundings of each port.

    Members
    -------
    As of ``Surroundings``; ``errors`` and ``unsteady`` of all ports together, ``last_error`` of one that has errors.
    """

    def __init__(self, configs: tuple[TLConfig, TLConfig], ports: int = 1, latency: int = 3):
        self._layers = [TransactionLayer(config) for config in configs]
        self._ports = ports
        self._latency = latency
        super().__init__(
            {
                "settings": In(SoakSettingsSignature()),
                "control": In(TLControlSignature()),
                "open": In(1),
                "flush": In(1),
                "errors": Out(5 * ENDS),
                "last_error": Out(ReceiveError).array(ENDS),
                "unsteady": Out(5 * ENDS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        slot = Signal(2)
        if self._ports > 1:
            m.d.sync += slot.eq(Mux(slot == self._ports - 1, 0, slot + 1))
        for n, layer in enumerate(self._layers):
            m.submodules[f"layer_{n}"] = Interleaver(self._ports, slot)(layer)
        errors, unsteady = Const(0), Const(0)
        for port in range(self._ports):
            here = slot == port
            around = Surroundings([layer.signature for layer in self._layers], port, self._latency)
            m.submodules[f"surroundings_{port}"] = around if self._ports == 1 else EnableInserter(here)(around)
            connect(m, flipped(self.settings), around.settings)
            connect(m, flipped(self.control), around.control)
            m.d.comb += [around.here.eq(here), around.open.eq(self.open), around.flush.eq(self.flush)]
            for n, layer in enumerate(self._layers):
                self._join(m, here, layer, getattr(around, f"end_{n}"))
            errors |= Cat(around.errors)
            unsteady |= Cat(around.unsteady)
            for n in range(ENDS):
                with m.If(around.errors[n].any()):
                    m.d.comb += self.last_error[n].eq(around.last_error[n])
        m.d.comb += [self.errors.eq(errors), self.unsteady.eq(unsteady)]
        return m

    @staticmethod
    def _join(m, here, layer, end):
        """Layer and surroundings, in the cycles of their port."""
        outer = {path: value for path, _, value in end.signature.flatten(end)}
        for path, member, value in layer.signature.flatten(layer):
            if isinstance(Value.cast(value), Const):  # a stream that is always ready
                continue
            if member.flow == In:
                with m.If(here):
                    m.d.comb += Value.cast(value).eq(Value.cast(outer[path]))
            else:
                m.d.comb += Value.cast(outer[path]).eq(Value.cast(value))
