"""Settings of an ECP5 dual-channel unit that only its registers have, behind the SERDES client interface.

Registers and strobes are as public designs use them; they were not compared with Lattice's usage guide (FPGA-TN-02206).
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer

from .interface import Loopback

__all__ = ["Ecp5LoopbackWriter", "SciSignature"]

LOOPBACK_REGISTER = 0x15
"""Bits 3:0 choose the serial loopback: bit 0 transmitter to receiver, as public designs set it; bit 1 equalizer to
driver, which is unverified: no design that sets it was found."""
PHASE_DETECTOR_REGISTER = 0x1A
"""Bit 4: the phase detector stops while there is no signal at the pins."""

_STROBE = range(2, 6)
"""Of the eight steps of an access, those in which the strobe is active; address and data stand around it."""


class SciSignature(wiring.Signature):
    """The SERDES client interface, as its master sees it.

    ``select``: one bit a channel; ``address`` 6 bit; strobes ``read``, active high, and ``write_n``, active low; data
    8 bit each way.
    """

    def __init__(self, channels: int):
        super().__init__(
            {
                "select": Out(channels),
                "address": Out(6),
                "read": Out(1),
                "write_n": Out(1, init=1),
                "write_data": Out(8),
                "read_data": In(8),
            }
        )


class Ecp5LoopbackWriter(wiring.Component):
    """Writes the loopback of each channel into the unit's registers, again and again: a reset of the unit clears them.

    A register is read, its bits of loopback are replaced and it is written back; a round takes 32 cycles a channel.
    Sync domain.

    Parameters
    ----------
    channels : how many, 1 or 2.

    Members
    -------
    enable : the unit is out of reset.
    loopback : ``Loopback`` of each channel. Near end: the receiver takes the transmitter's serial data in the place of
        its pins', and its phase detector runs without a signal at them. Far end (unverified): the driver is to take
        what the equalizer gives, bit by bit, so that the two clocks need not agree.
    sci : to the unit.
    """

    def __init__(self, channels: int):
        if not is_integer(channels, 1, 2):
            raise ConfigError(f"channels is {channels!r}; a unit has 1 or 2")
        self._channels = channels
        super().__init__(
            {
                "enable": In(1),
                "loopback": In(Loopback).array(channels),
                "sci": Out(SciSignature(channels)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sci = self.sci
        step = Signal(3)
        writing = Signal()
        second = Signal()
        channel = Signal(range(self._channels))
        found = Signal(8)
        loopback = Signal(Loopback)
        # A setting that changes does so between two accesses.
        with m.If(step == 0):
            m.d.sync += loopback.eq(Array(self.loopback)[channel])
        near, far = loopback == Loopback.NEAR_END, loopback == Loopback.FAR_END
        strobe = self.enable & (step >= _STROBE.start) & (step < _STROBE.stop)
        m.d.sync += [
            sci.select.eq(Mux(self.enable, 1 << channel, 0)),
            sci.address.eq(Mux(second, PHASE_DETECTOR_REGISTER, LOOPBACK_REGISTER)),
            sci.read.eq(strobe & ~writing),
            sci.write_n.eq(~(strobe & writing)),
            sci.write_data.eq(Mux(second, Cat(found[:4], ~near, found[5:]), Cat(near, far, Const(0, 2), found[4:]))),
        ]
        with m.If(~self.enable):
            m.d.sync += [step.eq(0), writing.eq(0), second.eq(0), channel.eq(0)]
        with m.Else():
            m.d.sync += step.eq(step + 1)
            # The last cycle in which the unit sees the read strobe.
            with m.If(~writing & (step == _STROBE.stop)):
                m.d.sync += found.eq(sci.read_data)
            with m.If(step.all()):
                m.d.sync += writing.eq(~writing)
                with m.If(writing):
                    m.d.sync += second.eq(~second)
                with m.If(writing & second & (self._channels > 1)):
                    m.d.sync += channel.eq(channel + 1)
        return m
