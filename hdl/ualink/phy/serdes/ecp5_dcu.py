"""Lanes on a dual-channel unit of a Lattice ECP5 (LFE5UM: up to 3.125 Gb/s; LFE5UM5G: up to 5 Gb/s)."""

from amaranth.hdl import ClockDomain, ClockSignal, Const, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer

from .ecp5_parameters import channel_parameters, unit_parameters
from .ecp5_rate import Ecp5Rate
from .ecp5_reset import Ecp5ReceiveReset, Ecp5ResetTimes, Ecp5TransmitReset
from .ecp5_sci import Ecp5LoopbackWriter
from .ecp5_unit import Ecp5Unit, checked_unit
from .halves import JoinHalves, SplitWords
from .interface import LaneStatusSignature, Loopback, SerdesLaneSignature

__all__ = ["Ecp5Dcu", "Ecp5ReferenceInput"]

_BUS_BITS = 24
_WORDS_IN_BUS = {10: (range(10),), 20: (range(10), range(12, 22))}
"""Bits of the primitive's data bus that hold the ten bits of a word, the one sent first lowest."""


class Ecp5ReferenceInput(wiring.Component):
    """The reference clock pins of dual-channel unit ``unit`` (0 or 1), terminated with 100 ohm: EXTREFB.

    ``clock`` may go to the reference inputs of units only, not to logic.
    """

    def __init__(self, unit: int):
        self._unit = checked_unit(unit)
        super().__init__({"clock": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.extrefb = Instance(
            "EXTREFB",
            a_LOC=f"EXTREF{self._unit}",
            p_REFCK_PWDNB="0b1",
            p_REFCK_RTERM="0b1",
            p_REFCK_DCBIAS_EN="0b0",
            o_REFCLKO=self.clock,
        )
        return m


class Ecp5Dcu(wiring.Component):
    """One or two lanes on a dual-channel unit (primitive DCUA), with words as they are on the line.

    Drives clock and reset of the domains ``tx<l>`` and ``rx<l>`` of its lanes, ``first_lane`` on, which its parent
    declares. With 40 bits a word, a flip-flop halves the clocks of the primitive's 20-bit words.
    The pins of a channel are fixed; there is nothing to be connected. Polarity is inverted in the words.

    Latency beyond that of the primitive: one cycle in each direction; with 40 bits also that of ``SplitWords`` and
    ``JoinHalves``.

    Parameters
    ----------
    place : where the primitive is, and which of its channels are lanes ``first_lane`` and on.
    rate : line rate and reference clock.
    width : bits of a word: 10, 20 or 40.
    times : of the reset sequences.
    first_lane : number of the first lane.

    Members
    -------
    reference : the reference clock, of ``Ecp5ReferenceInput`` or of logic.
    lanes : ``SerdesLaneSignature(width)`` each; the receiver starts again when a lane's ``loopback`` changes.
    status : ``LaneStatusSignature`` each.
    """

    def __init__(
        self,
        place: Ecp5Unit,
        *,
        rate: Ecp5Rate,
        width: int,
        times: Ecp5ResetTimes,
        first_lane: int = 0,
    ):
        if width not in (10, 20, 40):
            raise ConfigError(f"width is {width!r}; a dual-channel unit has words of 10, 20 or 40 bits")
        check_integer("first_lane", first_lane, 0)
        self._unit, self._channels = place.unit, place.channels
        self._rate, self._width, self._times = rate, width, times
        self._first_lane = first_lane
        super().__init__(
            {
                "reference": In(1),
                "lanes": In(SerdesLaneSignature(width)).array(len(place.channels)),
                "status": Out(LaneStatusSignature()).array(len(place.channels)),
            }
        )

    @property
    def clock_hz(self) -> dict[str, float]:
        """Frequencies of the domains that the unit drives; those called ``<domain>_half`` are its own."""
        names = [f"{way}{self._first_lane + n}" for n in range(len(self._channels)) for way in ("tx", "rx")]
        found = {name: self._rate.word_hz(self._width) for name in names}
        if self._width == 40:
            found |= {f"{name}_half": self._rate.word_hz(20) for name in names}
        return found

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit_reset = reset = Ecp5TransmitReset(self._times)
        m.submodules.loopback = loopback = Ecp5LoopbackWriter(len(self._channels))
        m.d.comb += loopback.enable.eq(~reset.unit_reset)
        sci = loopback.sci
        ports = {
            "a_LOC": f"DCU{self._unit}",
            **{f"p_{name}": value for name, value in unit_parameters(self._rate).items()},
            "i_D_REFCLKI": self.reference,
            "i_D_FFC_MACROPDB": Const(1),
            "i_D_FFC_MACRO_RST": reset.unit_reset,
            "i_D_FFC_DUAL_RST": reset.unit_reset,
            "i_D_FFC_TRST": reset.unit_reset,
            "o_D_FFS_PLOL": reset.loss_of_lock,
            "i_D_SCIRD": sci.read,
            "i_D_SCIWSTN": sci.write_n,
            **{f"i_D_SCIADDR{n}": sci.address[n] for n in range(6)},
            **{f"i_D_SCIWDATA{n}": sci.write_data[n] for n in range(8)},
            **{f"o_D_SCIRDATA{n}": sci.read_data[n] for n in range(8)},
        }
        for number, channel in enumerate(self._channels):
            m.d.comb += loopback.loopback[number].eq(self.lanes[number].loopback)
            ports |= {f"i_CH{channel}_SCIEN": sci.select[number], f"i_CH{channel}_SCISEL": sci.select[number]}
            ports |= self._channel(m, number, reset, platform)
        m.submodules.dcua = Instance("DCUA", **ports)
        return m

    def _channel(self, m: Module, number: int, transmit_reset: Ecp5TransmitReset, platform) -> dict:
        """Everything of lane ``number``; gives the ports of its channel."""
        lane, name = self.lanes[number], self._first_lane + number
        receive_reset = self._receive_reset(m, number, transmit_reset)
        half = "_half" if self._width == 40 else ""
        clocks = {way: _clock(f"{way}{name}{half}") for way in ("tx", "rx")}
        ready = {"tx": transmit_reset.ready, "rx": receive_reset.ready}
        shown = {"tx": lane.tx_ready, "rx": lane.rx_ready}
        for way, clock in clocks.items():
            self._domains(m, f"{way}{name}", clock, ready[way], platform)
            m.submodules[f"{way}_ready_{name}"] = FFSynchronizer(ready[way], shown[way], o_domain=f"{way}{name}")

        raw = min(self._width, 20)
        sent, received = Signal(raw, name=f"sent_{name}"), Signal(raw, name=f"received_{name}")
        self._words(m, lane, name, sent, received)
        into, out = Signal(_BUS_BITS, name=f"into_{name}"), Signal(_BUS_BITS, name=f"out_of_{name}")
        for place, bits in enumerate(_WORDS_IN_BUS[raw]):
            part = slice(10 * place, 10 * place + 10)
            m.d.comb += [into[bits.start : bits.stop].eq(sent[part]), received[part].eq(out[bits.start : bits.stop])]

        ch = f"CH{self._channels[number]}"
        return {
            **{f"p_{ch}_{key}": value for key, value in channel_parameters(self._rate, twenty_bits=raw == 20).items()},
            f"i_{ch}_RX_REFCLK": self.reference,
            f"o_{ch}_FF_TX_PCLK": clocks["tx"],
            f"o_{ch}_FF_RX_PCLK": clocks["rx"],
            f"i_{ch}_FF_TXI_CLK": ClockSignal(f"tx{name}{half}"),
            f"i_{ch}_FF_RXI_CLK": ClockSignal(f"rx{name}{half}"),
            f"i_{ch}_FFC_TXPWDNB": Const(1),
            f"i_{ch}_FFC_RXPWDNB": Const(1),
            f"i_{ch}_FFC_LANE_TX_RST": ~transmit_reset.ready,
            f"i_{ch}_FFC_RRST": receive_reset.serdes_reset,
            f"i_{ch}_FFC_LANE_RX_RST": receive_reset.words_reset,
            f"o_{ch}_FFS_RLOS": receive_reset.loss_of_signal,
            f"o_{ch}_FFS_RLOL": receive_reset.loss_of_lock,
            **{f"i_{ch}_FF_TX_D_{bit}": into[bit] for bit in range(_BUS_BITS)},
            **{f"o_{ch}_FF_RX_D_{bit}": out[bit] for bit in range(_BUS_BITS)},
        }

    def _receive_reset(self, m: Module, number: int, transmit_reset: Ecp5TransmitReset) -> Ecp5ReceiveReset:
        """The sequence of a lane's receiver, and what the lane shows of itself."""
        lane, status, name = self.lanes[number], self.status[number], self._first_lane + number
        m.submodules[f"receive_reset_{name}"] = receive_reset = Ecp5ReceiveReset(self._times)
        before = Signal(Loopback, name=f"loopback_before_{name}")
        m.d.sync += before.eq(lane.loopback)
        m.d.comb += [
            receive_reset.enable.eq(transmit_reset.ready),
            receive_reset.reset.eq(lane.reset | (before != lane.loopback)),
            receive_reset.ignore_signal.eq(lane.loopback == Loopback.NEAR_END),
            status.pll_locked.eq(transmit_reset.ready),
            status.pll_retries.eq(transmit_reset.retries),
            status.signal.eq(receive_reset.signal),
            status.locked.eq(receive_reset.locked),
            status.ready.eq(receive_reset.ready),
            status.retries.eq(receive_reset.retries),
        ]
        return receive_reset

    def _domains(self, m: Module, name: str, clock: Signal, ready: Signal, platform):
        """Domain ``name`` with ``clock`` of the primitive; with 40 bits that is ``<name>_half``, and ``name`` half."""
        sources = {name: clock}
        if self._width == 40:
            # The divider runs from the start, on no reset. CLKDIVF divides edge clocks only, and of PCSCLKDIV there
            # are two in a device, fewer than clocks of lanes.
            m.domains += ClockDomain(f"{name}_divider", reset_less=True)
            slow = _clock(name)
            m.d.comb += ClockSignal(f"{name}_divider").eq(clock)
            m.d[f"{name}_divider"] += slow.eq(~slow)
            m.domains += ClockDomain(f"{name}_half")
            sources = {name: slow, f"{name}_half": clock}
        for domain, source in sources.items():
            m.d.comb += ClockSignal(domain).eq(source)
            m.submodules[f"reset_{domain}"] = ResetSynchronizer(~ready, domain=domain)
            if hasattr(platform, "add_clock_constraint"):
                platform.add_clock_constraint(source, self.clock_hz[domain])

    def _words(self, m: Module, lane, name: int, sent: Signal, received: Signal):
        """Between the words of the PCS and those of the primitive, with the polarity that is set."""
        invert = {way: Signal(name=f"{way}_invert_{name}") for way in ("tx", "rx")}
        for way, setting in (("tx", lane.tx_invert), ("rx", lane.rx_invert)):
            m.submodules[f"{way}_invert_{name}"] = FFSynchronizer(setting, invert[way], o_domain=f"{way}{name}")
        turned = Signal(self._width, name=f"turned_{name}", reset_less=True)
        m.d[f"tx{name}"] += turned.eq(lane.tx_data ^ invert["tx"].replicate(self._width))
        word = Signal(self._width, name=f"word_{name}")
        m.d[f"rx{name}"] += lane.rx_data.eq(word ^ invert["rx"].replicate(self._width))
        if self._width == 40:
            m.submodules[f"split_{name}"] = split = SplitWords(40, slow=f"tx{name}", fast=f"tx{name}_half")
            m.submodules[f"join_{name}"] = join = JoinHalves(40, slow=f"rx{name}", fast=f"rx{name}_half")
            m.d.comb += [split.word.eq(turned), sent.eq(split.half), join.half.eq(received), word.eq(join.word)]
        else:
            m.d.comb += [sent.eq(turned), word.eq(received)]


def _clock(domain: str) -> Signal:
    """The clock of ``domain``, a signal whose name is still there when clocks are constrained."""
    return Signal(name=f"{domain}_clock", attrs={"keep": 1})
