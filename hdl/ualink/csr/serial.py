"""A serial line as master of a register bus: how a person's computer reaches the registers of a board."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.crc.catalog import CRC16_IBM_3740
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.table import BusSignature
from ualink.lib.serial_line import BitClock, SerialReceiver, SerialTransmitter

__all__ = [
    "ANSWER",
    "ANSWER_MARK",
    "DONE",
    "GAP_BITS",
    "LONGEST_BURST",
    "READ",
    "REFUSED",
    "REQUEST_MARK",
    "TIMED_OUT",
    "UNKNOWN",
    "WRITE",
    "SerialRegisters",
]

REQUEST_MARK, ANSWER_MARK = 0x55, 0xAA
READ, WRITE = 0x01, 0x02
ANSWER = 0x80
"""Set in the operation of an answer."""

DONE, REFUSED, TIMED_OUT, UNKNOWN = range(4)
"""Status of a word: the access was made; the bus answered with an error, or there is no such address; the bus has not
answered; no such operation, or no such length."""

LONGEST_BURST = 64
GAP_BITS = 640
"""A pause as long as 64 bytes ends a request."""

REQUEST_BYTES = 12
"""Of a request, behind its mark."""


class SerialRegisters(wiring.Component):
    """Reads and writes registers as requests on a serial line (8N1) ask, and answers each.

    A request has 13 bytes, whatever it asks for::

        55  operation  tag  address (4)  data (4)  CRC (2)

    Numbers have their least significant byte first, the CRC (CRC-16/IBM-3740, of all bytes between mark and CRC) its
    most significant. ``address`` counts words of 32 bits. Operation 01 reads as many words as ``data`` says, 1 to 64,
    from ``address`` on; 02 writes ``data``. The answer is::

        AA  operation + 80  tag  [status  word (4)] …  CRC (2)

    with one status and word for each word read, and one (whose word is 0) for a write. Status 0: done; 1: the bus
    answered with an error, or it has no such address; 2: the bus has not answered within ``time_out`` cycles; 3: no
    such operation or no such length, nothing was done.

    A request whose CRC is wrong, that has a byte without stop bit or a pause of ``gap_bits`` in it, or that ends while
    an earlier one is being worked on is dropped without an answer. The next byte 55 then begins a request. A request
    for one word with the tag of the one before, unless the tag is 0, is that request again, because its answer was
    lost: it gets the same answer, and no second access is made. A requester that hears nothing is silent for as long
    as such a pause, and asks again with the same tag; so each access is made once.

    An access that the bus does not end keeps it: later ones wait for it, time out as well and are not made. A late
    answer is never taken for that of another access.

    Parameters
    ----------
    address_bits : those of the bus.
    clock_hz : of the ``sync`` domain, at least eight cycles a bit.
    baud : of the line.
    time_out : cycles that an access may take.
    gap_bits : length of a pause that ends a request, in bits of the line.

    Members
    -------
    rx, tx : the line, from and to the computer; ``rx`` belongs to no clock.
    bus : ``BusSignature(address_bits)``; one access per request and word.
    dropped : pulse: a request was dropped.
    """

    def __init__(self, address_bits: int, clock_hz: int, baud: int, *, time_out: int = 4096, gap_bits: int = GAP_BITS):
        for name, value, least in (("time_out", time_out, 2), ("gap_bits", gap_bits, 20)):
            check_integer(name, value, least)
        self._receiver = SerialReceiver(clock_hz, baud)
        self._transmitter = SerialTransmitter(clock_hz, baud)
        self._gap_clock = BitClock(clock_hz, baud)
        self._time_out, self._gap_bits = time_out, gap_bits
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "bus": Out(BusSignature(address_bits)),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = self._receiver
        m.submodules.transmitter = self._transmitter
        m.submodules.gap_clock = self._gap_clock
        m.d.comb += [self._receiver.line.eq(self.rx), self.tx.eq(self._transmitter.line)]
        frame = Signal(8 * (REQUEST_BYTES - 2))
        arrived = Signal()
        busy = Signal()
        self._collect(m, frame, arrived, busy)
        self._answer(m, frame, arrived, busy)
        return m

    def _collect(self, m: Module, frame, arrived, busy):
        """Gather the bytes behind a mark; ``arrived`` when the last has come and the CRC is right; it
        is lost while ``busy``."""
        receiver, gap = self._receiver, self._gap_clock
        m.submodules.check = check = CRC16_IBM_3740(8).create()
        count = Signal(range(REQUEST_BYTES))
        quiet = Signal(range(self._gap_bits))
        m.d.comb += [
            check.data.eq(receiver.data),
            gap.restart.eq(receiver.received),
        ]
        with m.If(receiver.received):
            m.d.sync += quiet.eq(0)
        with m.Elif(gap.tick):
            m.d.sync += quiet.eq(quiet + 1)
        with m.FSM(name="request"):
            with m.State("MARK"):
                m.d.comb += check.start.eq(1)
                m.d.sync += count.eq(0)
                with m.If(receiver.received & (receiver.data == REQUEST_MARK)):
                    m.next = "BYTES"
            with m.State("BYTES"):
                m.d.comb += check.valid.eq(receiver.received)
                with m.If(receiver.received):
                    m.d.sync += count.eq(count + 1)
                    with m.If(count < REQUEST_BYTES - 2):
                        m.d.sync += frame.eq(Cat(frame[8:], receiver.data))
                    with m.If(count == REQUEST_BYTES - 1):
                        m.next = "WHOLE"
                with m.Elif(receiver.broken | (gap.tick & (quiet == self._gap_bits - 1))):
                    m.d.comb += self.dropped.eq(1)
                    m.next = "MARK"
            with m.State("WHOLE"):
                # A CRC over all bytes and itself is 0.
                good = check.crc == 0
                m.d.comb += [arrived.eq(good), self.dropped.eq(~good | busy)]
                m.next = "MARK"

    def _answer(self, m: Module, frame, arrived, busy):
        """Work on one request after the other."""
        bus = self.bus
        operation, tag, address, data = (Signal(width, name=f"asked_{name}") for name, width in _PARTS)
        words = Signal(range(LONGEST_BURST + 1))
        again = Signal()
        word = Signal(32)
        status = Signal(2)
        last_tag = Signal(8)
        under_way = Signal()
        waited = Signal(range(self._time_out))
        sender = _Sender(m, self._transmitter.bytes)
        kept = Signal()
        reads, writes = Signal(), Signal()
        m.d.comb += [
            busy.eq(1),
            reads.eq((operation == READ) & (data > 0) & (data <= LONGEST_BURST)),
            writes.eq(operation == WRITE),
        ]
        with m.If(bus.done):
            m.d.sync += under_way.eq(0)
        with m.FSM(name="answer"):
            with m.State("REST"):
                m.d.comb += busy.eq(0)
                with m.If(arrived):
                    m.d.sync += Cat(operation, tag, address, data).eq(frame)
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                single = ~reads | (data == 1)
                m.d.sync += [
                    words.eq(Mux(reads, data, 1)),
                    last_tag.eq(tag),
                    kept.eq(single),
                    again.eq(kept & single & (tag == last_tag) & (tag != 0)),
                ]
                m.next = "HEAD"
            with m.State("HEAD"), sender.send(ANSWER_MARK, operation | ANSWER, tag, first=True):
                with m.If(again):
                    m.next = "WORD"
                with m.Else():
                    m.next = "ACCESS"
            with m.State("ACCESS"):
                m.d.sync += [word.eq(0), waited.eq(waited + 1)]
                with m.If(~reads & ~writes):
                    m.d.sync += status.eq(UNKNOWN)
                    m.next = "WORD"
                with m.Elif(address[len(bus.address) :].any()):
                    m.d.sync += status.eq(REFUSED)
                    m.next = "WORD"
                with m.Elif(~under_way):
                    m.d.sync += [bus.address.eq(address), bus.write_data.eq(data)]
                    m.next = "START"
                with m.Elif(waited == self._time_out - 1):
                    m.d.sync += status.eq(TIMED_OUT)
                    m.next = "WORD"
            with m.State("START"):
                m.d.comb += [bus.read.eq(reads), bus.write.eq(writes)]
                m.d.sync += [under_way.eq(1), waited.eq(0)]
                m.next = "BUS"
            with m.State("BUS"):
                m.d.sync += waited.eq(waited + 1)
                with m.If(bus.done):
                    m.d.sync += [word.eq(bus.read_data), status.eq(bus.error)]
                    m.next = "WORD"
                with m.Elif(waited == self._time_out - 1):
                    m.d.sync += status.eq(TIMED_OUT)
                    m.next = "WORD"
            with m.State("WORD"), sender.send(status, *(word.word_select(n, 8) for n in range(4))):
                m.d.sync += [words.eq(words - 1), address.eq(address + 1), waited.eq(0)]
                with m.If(words == 1):
                    m.next = "CRC"
                with m.Else():
                    m.next = "ACCESS"
            with m.State("CRC"), sender.send_crc():
                m.d.sync += waited.eq(0)
                m.next = "REST"


_PARTS = (("operation", 8), ("tag", 8), ("address", 32), ("data", 32))


class _Sender:
    """Sends the bytes of an answer from states of an FSM, and their CRC."""

    def __init__(self, m: Module, line):
        self._m, self._line = m, line
        m.submodules.crc = self._crc = CRC16_IBM_3740(8).create()
        self._number = Signal(range(5), name="sent")

    def send(self, *values, first: bool = False):
        """The bytes ``values``, one after the other; what stands inside of ``with`` happens with the last.

        With ``first`` they begin with the mark, behind which the CRC begins.
        """
        m, line, crc = self._m, self._line, self._crc
        m.d.comb += line.valid.eq(1)
        with m.Switch(self._number):
            for number, value in enumerate(values):
                with m.Case(number):
                    m.d.comb += line.p.eq(value)
        m.d.comb += crc.data.eq(line.p)
        if first:
            m.d.comb += crc.start.eq(self._number == 0)
        m.d.comb += crc.valid.eq(line.ready & ~crc.start)
        return self._last(len(values))

    def send_crc(self):
        """The CRC; what stands inside of ``with`` happens with its last byte."""
        m, line, crc = self._m, self._line, self._crc
        m.d.comb += [line.valid.eq(1), line.p.eq(crc.crc.word_select(~self._number[0], 8))]
        return self._last(2)

    def _last(self, count: int):
        m, line = self._m, self._line
        last = self._number == count - 1
        with m.If(line.ready):
            m.d.sync += self._number.eq(self._number + 1)
            with m.If(last):
                m.d.sync += self._number.eq(0)
        return m.If(line.ready & last)
